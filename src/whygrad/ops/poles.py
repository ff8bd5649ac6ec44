"""Arguments at which derivatives of rows are not finite, and remedies: texts of explanations, loaded only by them."""

# public name of the op -> (why its derivative is not finite, remedy)
POLES = {
    "sqrt": ("the derivative of sqrt at 0 is 1/0 = inf, and 0 * inf = nan",
             "make the input of sqrt safe before it is applied: sqrt(x + eps)"),
    "rsqrt": ("the derivative of rsqrt at 0 is infinite", "add a small eps to its input"),
    "norm": ("the derivative of a norm at 0 is 0/0", "add a small eps under the root"),
    "log": ("the derivative of log at 0 is 1/0 = inf, and 0 * inf = nan",
            "clamp or shift the input of log before it is applied: log(x + eps); xlogy, log_softmax or logsigmoid avoid it"),
    "div": ("dividing by 0 gives inf (0/0 = nan), and so does its derivative",
            "make the denominator safe before the division: y + eps"),
    "reciprocal": ("the derivative of 1/x at 0 is infinite", "make the denominator safe before the division"),
    "pow": ("the derivative of x ** p at 0 is infinite for p < 1, and 0 * inf = nan",
            "make the base safe before the power is taken: (x + eps) ** p"),
    "acos": ("the derivative of acos is -1 / sqrt(1 - x**2), infinite at -1 and 1",
             "clamp its input a little inside (-1, 1), or use atan2"),
    "asin": ("the derivative of asin is 1 / sqrt(1 - x**2), infinite at -1 and 1",
             "clamp its input a little inside (-1, 1), or use atan2"),
    "std": (("a standard deviation has derivative 0/0 where all values are equal, and is nan for a single value (it divides by "
            "n - 1 = 0)"), "add eps under the root, use correction=0, or make sure there are several different values"),
    "var": ("the variance of a single value divides by n - 1 = 0", "use correction=0, or make sure there are several values"),
    "atan2": ("the derivative of atan2 at (0, 0) is 0/0", "keep its arguments away from 0"),
    "exp": ("exp overflows float32 above about 88: its value is inf, and inf/inf or 0 * inf is nan",
            "subtract the maximum first, or use softmax, log_softmax or logsumexp, which do"),
}
