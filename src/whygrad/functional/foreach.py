"""`torch._foreach_*`: one op for each tensor of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad._tensor import Tensor
from whygrad.functional.run import FUNCTIONS, METHODS

_whygrad_internal_ = True

_UNARY = frozenset((
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log",
    "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc", "zero"))
_BINARY = frozenset(("add", "clamp_max", "clamp_min", "copy", "div", "maximum", "minimum", "mul", "pow", "sub"))
_OTHERWISE = {"maximum": "clamp_min", "minimum": "clamp_max"}  # where the second argument is a number


def foreach(name: str) -> Callable[..., Any] | None:
    """The function called `_foreach_<op>` or `_foreach_<op>_`; None if there is none."""
    op = name.removeprefix("_foreach_")
    plain = op.removesuffix("_")
    if plain not in _UNARY and plain not in _BINARY:
        return None

    def one(x: Tensor, *other: Any, **options: Any) -> Any:
        named = _OTHERWISE.get(plain, plain) if other and not isinstance(other[0], Tensor) else plain
        if op.endswith("_"):
            return METHODS[f"{named}_"](x, *other, **options)
        return FUNCTIONS[named](x, *other, **options)

    def function(self: Any, *others: Any, **options: Any) -> Any:
        lists = [other if isinstance(other, (list, tuple)) else [other] * len(self) for other in others]
        for other in lists:
            if len(other) != len(self):
                raise RuntimeError("Tensor lists must have the same number of tensors, got "
                                   f"{len(self)} and {len(other)}")
        results = tuple([one(x, *rest, **options) for x, *rest in zip(self, *lists, strict=True)])
        return None if op.endswith("_") else results

    function.__name__ = function.__qualname__ = name
    return function
