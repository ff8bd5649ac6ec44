"""The primitives of elementwise rows as machine code: what symbols are written with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

GAMMA = ("lgamma", "digamma", "trigamma")
# Written for float32 alone; in float64 NumPy's own are used.
SINGLE_ONLY = frozenset({"exp", "log", "tanh", "sigmoid", "erf", "erfc", "erfinv", "expm1", "log1p", "sin", "cos", "normal_cdf",
                         "gelu_slope", "hypot", *GAMMA})
# Those of many instructions.
HEAVY = SINGLE_ONLY


def _intrinsic(name: str) -> Callable[..., Any]:
    return lambda f, x: f.intrinsic(name, x)


def _function(name: str) -> Callable[..., Any]:
    def write(f: Any, *arguments: Any) -> Any:
        from whygrad.kernels import functions, gamma

        return getattr(gamma if name in GAMMA else functions, name)(f, *arguments)

    return write


def _sign(f: Any, x: Any) -> Any:
    """0 also of NaN, as torch has it."""
    one = x.like(1.0)
    return f.choose(x > 0.0, one, f.choose(x < 0.0, -one, x.like(0.0)))


# word -> how it is written for values; every argument is a value of the same kind, a mask where a mask belongs
PRIMITIVES: dict[str, Callable[..., Any]] = {
    "add": lambda f, a, b: a + b,
    "sub": lambda f, a, b: a - b,
    "mul": lambda f, a, b: a * b,
    "div": lambda f, a, b: a / b,
    "neg": lambda f, a: -a,
    "lt": lambda f, a, b: a < b,
    "le": lambda f, a, b: a <= b,
    "gt": lambda f, a, b: a > b,
    "ge": lambda f, a, b: a >= b,
    "eq": lambda f, a, b: a.equals(b),
    "ne": lambda f, a, b: a.differs(b),
    "logical_and": lambda f, a, b: a & b,
    "logical_or": lambda f, a, b: a | b,
    "logical_not": lambda f, a: ~a,
    "where": lambda f, mask, a, b: f.choose(mask, a, b),
    "maximum": lambda f, a, b: f.maximum(a, b),
    "minimum": lambda f, a, b: f.minimum(a, b),
    "abs": _intrinsic("fabs"),
    "sqrt": _intrinsic("sqrt"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"),
    "reciprocal": lambda f, x: 1.0 / x,
    "rsqrt": lambda f, x: 1.0 / f.intrinsic("sqrt", x),
    "sign": _sign,
    "sgn": _sign,
    "isnan": lambda f, x: x.differs(x),
    "isfinite": lambda f, x: f.intrinsic("fabs", x) < math.inf,
    **{name: _function(name) for name in (*SINGLE_ONLY, "as_float16", "as_bfloat16")},
}


class Writer:
    """Writes a formula for some lanes at once. Parts that occur twice are computed once."""

    def __init__(self, f: Any, inputs: list[Any], element: Any, lanes: int) -> None:
        self.f = f
        self.inputs = inputs
        self.element = element
        self.lanes = lanes
        self.done: dict[str, Any] = {}

    def write(self, symbol: Any) -> Any:
        formula = repr(symbol)
        found = self.done.get(formula)
        if found is None:
            found = self.done[formula] = self._write(symbol)
        return found

    def _write(self, symbol: Any) -> Any:
        if symbol.word == "input":
            return self.inputs[symbol.arguments[0]]
        if symbol.word == "constant":
            return self.number(symbol.arguments[0])
        values = [self.number(a) if isinstance(a, (bool, int, float)) else self.write(a) for a in symbol.arguments]
        wants_mask = (0,) if symbol.word == "where" else range(3) if symbol.word.startswith("logical_") else ()
        values = [v if i in wants_mask else self.as_number(v) for i, v in enumerate(values)]
        return PRIMITIVES[symbol.word](self.f, *values)

    def number(self, number: float) -> Any:
        return self.f.constant(number, self.element, self.lanes)

    def as_number(self, value: Any) -> Any:
        """A mask as ones and zeros."""
        return value if value.is_float else value.to(self.element)
