"""The primitives of elementwise formulas as machine code, and the writer of expressions that uses them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whygrad.base.expression import Expr, walk
from whygrad.kernels import functions, gamma


def _intrinsic(name: str) -> Callable[..., Any]:
    return lambda f, x: f.intrinsic(name, x)


def _sign(f: Any, x: Any) -> Any:
    """0 also for NaN, as in torch."""
    one = x.like(1.0)
    return f.choose(x > 0.0, one, f.choose(x < 0.0, -one, x.like(0.0)))


# How primitives are written for values, by name. Every argument is a value of the same kind, or a mask where one belongs.
Primitives = dict[str, Callable[..., Any]]

# Those that give a mask.
MASKS: Primitives = {
    "lt": lambda f, a, b: a < b,
    "le": lambda f, a, b: a <= b,
    "gt": lambda f, a, b: a > b,
    "ge": lambda f, a, b: a >= b,
    "eq": lambda f, a, b: a.equals(b),
    "ne": lambda f, a, b: a.differs(b),
    "logical_and": lambda f, a, b: a & b,
    "logical_or": lambda f, a, b: a | b,
    "logical_not": lambda f, a: ~a,
    "isnan": lambda f, x: x.differs(x),
    "isfinite": lambda f, x: f.intrinsic("fabs", x) < math.inf,
}
# Those whose result needs no rounding: it is one of the arguments, or has its digits.
EXACT: Primitives = {
    "neg": lambda f, a: -a,
    "where": lambda f, mask, a, b: f.choose(mask, a, b),
    "maximum": lambda f, a, b: f.maximum(a, b),
    "minimum": lambda f, a, b: f.minimum(a, b),
    "abs": _intrinsic("fabs"),
    "sign": _sign,
    "sgn": _sign,
    "as_float16": functions.as_float16,
    "as_bfloat16": functions.as_bfloat16,
}
# Those of many instructions, written for float32 alone; in float64 NumPy's own are used.
SINGLE_ONLY: Primitives = {name: getattr(module, name) for module in (functions, gamma) for name in module.__all__}
PRIMITIVES: Primitives = {
    **MASKS, **EXACT, **SINGLE_ONLY,
    "add": lambda f, a, b: a + b,
    "sub": lambda f, a, b: a - b,
    "mul": lambda f, a, b: a * b,
    "div": lambda f, a, b: a / b,
    "sqrt": _intrinsic("sqrt"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"),
    "reciprocal": lambda f, x: 1.0 / x,
    "rsqrt": lambda f, x: 1.0 / f.intrinsic("sqrt", x),
}


class Writer:
    """Writes expressions for `lanes` elements at once. Each is computed once, however often it is used."""

    def __init__(self, f: Any, inputs: list[Any], element: Any, lanes: int) -> None:
        self.f = f
        self.inputs = inputs
        self.element = element
        self.lanes = lanes
        self.done: dict[Expr, Any] = {}

    def write(self, root: Expr) -> Any:
        for expr in walk(root):
            if expr not in self.done:
                self.done[expr] = self._write(expr)
        return self.done[root]

    def _write(self, expr: Expr) -> Any:
        if expr.op in ("input", "mask"):
            return self.inputs[expr.args[0]]
        if expr.op == "constant":
            return self.number(expr.args[0])
        values = [self.done[arg] if isinstance(arg, Expr) else self.number(arg) for arg in expr.args]
        wants_mask = (0,) if expr.op == "where" else range(3) if expr.op.startswith("logical_") else ()
        values = [v if i in wants_mask else self.as_number(v) for i, v in enumerate(values)]
        return PRIMITIVES[expr.op](self.f, *values)

    def number(self, number: float) -> Any:
        return self.f.constant(number, self.element, self.lanes)

    def as_number(self, value: Any) -> Any:
        """A mask as ones and zeros."""
        return value if value.is_float else value.to(self.element)
