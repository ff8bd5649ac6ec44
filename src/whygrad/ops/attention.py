"""Attention: softmax(q @ k.T * scale + mask) @ v."""

from whygrad.ops.arithmetic import underivable
from whygrad.ops.linear import transposed
from whygrad.ops.table import NoGrad, along_axes, op

MINUS_INFINITY = float("-inf")


@along_axes(half="float32", curve="saturating", called="softmax", symmetric=True,
            x=lambda xp, g, out, axis: (g - xp.sum(g * out, axis=axis, keepdims=True)) * out)
def safe_softmax(xp, x, *, axis):
    """Softmax that is 0 in fully masked rows."""
    masked = xp.amax(x, axis=axis, keepdims=True) == MINUS_INFINITY
    return xp.where(masked, 0.0, xp.softmax(x, axis=axis))


def scores(xp, q, k, masks, scale, causal):
    """q @ k.T * scale; -inf for masked keys."""
    found = xp.matmul(q, transposed(xp, k)) * scale
    for mask in masks:
        found = xp.where(mask, found, MINUS_INFINITY) if "bool" in str(mask.dtype) else found + mask
    if causal:
        found = xp.where(xp.tril(xp.zeros_like(found) + 1.0, diagonal=0) > 0, found, MINUS_INFINITY)
    return found


def for_each_head(xp, x, heads):
    """Grouped-query attention: keys or values, each head repeated for the query heads that share it."""
    samples, own, rows, depth = x.shape
    if own == heads:
        return x
    together = xp.expand(xp.unsqueeze(x, axis=2), shape=(samples, own, heads // own, rows, depth))
    return xp.reshape(together, shape=(samples, heads, rows, depth))


def for_own_heads(xp, g, own):
    """The gradient of `for_each_head`."""
    samples, heads, rows, depth = g.shape
    if own == heads:
        return g
    return xp.sum(xp.reshape(g, shape=(samples, own, heads // own, rows, depth)), axis=(2,), keepdims=False)


# torch's kernel for 4-dim arguments without dropout. As in torch, it has no second derivative.
@op(batch="defined", half="float32", kernel="attention",
    outputs=("out", NoGrad("the logarithm of each query's sum is kept for the backward pass")), memory="own",
    xs=lambda xp, g, xs, out0, out1, scale, causal:
    [*xp.scaled_dot_product_flash_attention_for_cpu_backward(g, *xs[:3], out0, out1, *xs[3:], scale=scale, causal=causal),
     *[None] * (len(xs) - 3)])
def scaled_dot_product_flash_attention_for_cpu(xp, *xs, scale, causal):
    """`xs` are query, key, value and optionally a mask: boolean (True: attend) or numbers to be added to the scores."""
    q, k, v, *masks = xs
    k, v = [for_each_head(xp, x, q.shape[1]) for x in (k, v)]
    found = scores(xp, q, k, masks, scale, causal)
    masked = xp.amax(found, axis=(3,), keepdims=False) == MINUS_INFINITY
    sums = xp.where(masked, 0.0, xp.logsumexp(found, axis=(3,), keepdims=False))
    return xp.matmul(xp.safe_softmax(found, axis=(3,)), v), sums


@op(batch="defined", kernel="attention", node="NotImplemented", outputs=("q", "k", "v"), memory="own",
    xs=underivable("_scaled_dot_product_flash_attention_for_cpu_backward"))
def scaled_dot_product_flash_attention_for_cpu_backward(xp, *xs, scale, causal):
    grad, q, k, v, out, sums, *masks = xs
    own = k.shape[1]
    k, v = [for_each_head(xp, x, q.shape[1]) for x in (k, v)]
    weights = xp.exp(scores(xp, q, k, masks, scale, causal) - xp.unsqueeze(sums, axis=3))
    slope = xp.matmul(grad, transposed(xp, v)) - xp.sum(grad * out, axis=(3,), keepdims=True)
    slope = weights * slope * scale
    g_k, g_v = xp.matmul(transposed(xp, slope), q), xp.matmul(transposed(xp, weights), grad)
    return xp.matmul(slope, k), for_own_heads(xp, g_k, own), for_own_heads(xp, g_v, own)
