"""Traces a row's forward or rule: it runs on expressions, which record what is computed for each element.

The tracer knows elementwise rows, down to the primitives of machine.py, and a sum or mean of all elements at the end. Rows that
do anything else (shapes, sums along an axis, branches on values) cannot be traced; NumPy computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whygrad.base.expression import Expr, Tracer, Untraceable
from whygrad.kernels.machine import EXACT, MASKS, PRIMITIVES
from whygrad.ops import TABLE
from whygrad.ops.table import Row
from whygrad.ops.vocabulary import Vocabulary

Number = (bool, int, float)

# Reductions of all elements: they end a formula.
TOTALS = ("sum", "mean")


def is_mask(expr: Any) -> bool:
    return isinstance(expr, Expr) and (expr.op == "mask" or expr.op in MASKS)


class KernelTracer(Vocabulary, Tracer):
    """Builds formulas of elements, and is `xp` for the rows it reads."""

    def __init__(self) -> None:
        super().__init__()
        self._inside: list[str] = []  # the rows whose definitions are being read
        self._is_one_kernel = False  # whether torch computes what is being read in one kernel
        self.rounding: str | None = None  # the primitive that rounds each result of a rule

    def apply(self, op: str, *args: Any) -> Expr:
        if op == "pow":
            return self._power(*args)
        for arg in args:
            if not isinstance(arg, (Expr, *Number)):
                raise Untraceable(f"{op} of a {type(arg).__name__}")
            if isinstance(arg, Expr) and arg.op in TOTALS:
                raise Untraceable(f"{op} of a {arg.op}: a second pass")
        if op.startswith("logical_") and not all(map(is_mask, args)):
            raise Untraceable(f"{op} of numbers")
        if op == "where" and not is_mask(args[0]):
            raise Untraceable("where of numbers")
        if op not in PRIMITIVES and op not in (*TOTALS, "constant"):
            raise Untraceable(op)
        return self.rounded(self.make(op, *args))

    def _power(self, base: Any, exponent: Any) -> Expr:
        if isinstance(exponent, Number):
            if exponent in (1, 2, 3):
                result = base
                for _ in range(int(exponent) - 1):
                    result = self.apply("mul", result, base)
                return result  # type: ignore[no-any-return]
            if exponent == 0.5:
                return self.apply("sqrt", base)
            if exponent == -1:
                return self.apply("reciprocal", base)
        raise Untraceable(f"the power {exponent}")

    def rounded(self, expr: Expr) -> Expr:
        """float16 and bfloat16 are computed in float32. torch rounds what each of its kernels gives, and a rule is several.

        A row that is read inside a rule is one kernel, and is rounded at its end.
        """
        if self.rounding is None or self._is_one_kernel or is_mask(expr) or expr.op in EXACT or expr.op in (*TOTALS, "constant"):
            return expr
        return self.make(self.rounding, expr)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in PRIMITIVES:
            return lambda *args: self.apply(name, *args)
        row = TABLE.get(name)
        if row is None or not row.broadcasts or row.variadic or name in self._inside:
            raise Untraceable(name)  # no row, not an elementwise one, or one that is NumPy's own
        return lambda *args, **statics: self._define(row, args, statics)

    def _define(self, row: Row, args: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        outer = self._is_one_kernel
        self._inside.append(row.name)
        # Some of torch's kernels compute float16 natively, and round every step.
        self._is_one_kernel = outer or not (row.traits.half == "bfloat16" and self.rounding == "as_float16")
        try:
            result = row.forward(self, *args, **statics)
        finally:
            self._inside.pop()
            self._is_one_kernel = outer
        return self.rounded(result) if isinstance(result, Expr) and result.op not in ("input", "mask") else result

    def sum(self, x: Expr) -> Expr:
        return self.apply("sum", x)

    def mean(self, x: Expr) -> Expr:
        return self.apply("mean", x)

    def sum_all(self, x: Expr) -> Expr:
        return self.apply("sum", x)

    def mean_all(self, x: Expr) -> Expr:
        return self.apply("mean", x)

    def zeros_like(self, x: Expr) -> Expr:
        return self.apply("constant", 0.0)

    def gelu(self, x: Expr, *, approximate: str) -> Expr:
        return self._gelu("gelu", (x,), approximate)

    def gelu_backward(self, grad: Expr, x: Expr, *, approximate: str) -> Expr:
        return self._gelu("gelu_backward", (grad, x), approximate)

    def _gelu(self, name: str, args: tuple[Any, ...], approximate: str) -> Any:
        """With the normal distribution itself, not through erf: fewer steps, and accurate where it is small."""
        if approximate != "none":
            return self._define(TABLE[name], args, {"approximate": approximate})
        factor = self.make("normal_cdf" if name == "gelu" else "gelu_slope", args[-1])
        return self.rounded(self.make("mul", args[0], factor))

    def polygamma(self, x: Expr, *, n: int) -> Expr:
        if n > 1:
            raise Untraceable("a derivative of the gamma function beyond the second")
        return self.apply("trigamma" if n else "digamma", x)

    def nan_to_num(self, x: Expr, *, nan: float, posinf: float, neginf: float) -> Expr:
        finite = self.apply("where", self.apply("eq", x, math.inf), posinf,
                            self.apply("where", self.apply("eq", x, -math.inf), neginf, x))
        return self.apply("where", self.apply("isnan", x), nan, finite)

    def clamp(self, x: Expr, low: Any, high: Any) -> Expr:
        """As NumPy's clip: the lower bound first, and NaN goes through."""
        if low is not None:
            x = self.apply("maximum", x, low)
        return x if high is None else self.apply("minimum", x, high)


vocabulary = KernelTracer()


def inputs(kinds: str) -> list[Expr | None]:
    """Expressions for arguments: "a" an array, "m" a boolean one, "s" a number; "n" is None."""
    return [None if kind == "n" else vocabulary.make("mask" if kind == "m" else "input", i) for i, kind in enumerate(kinds)]


def as_traced(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A row's forward, or the method with which the tracer replaces it."""
    for name in REPLACED:
        if TABLE[name].forward is forward:
            return lambda xp, *args, **statics: getattr(xp, name)(*args, **statics)
    return forward


REPLACED = vars(KernelTracer).keys() & TABLE.keys()


def trace(function: Callable[..., Any], *args: Any, rounding: str | None = None, **statics: Any) -> Expr:
    """What `function` computes of each element, `rounding` after each step. Raises Untraceable."""
    vocabulary.rounding = rounding
    try:
        result = function(*args, **statics)
    except Untraceable:
        raise
    except Exception as error:  # something that only an array can do: a table of numbers, an unknown method
        raise Untraceable(str(error)) from error
    finally:
        vocabulary.rounding = None
    if not isinstance(result, Expr):
        raise Untraceable("a result that is no array")
    return result
