"""torch.special's Bessel and Airy functions and orthogonal polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import invalid_combination, not_implemented
from whygrad.functional.dispatch import Takes, as_operand, default_float
from whygrad.functional.promotion import cast, promote, result_dtype
from whygrad.functional.run import special_function, with_out
from whygrad.functional.special import NUMBERS, SPECIAL
from whygrad.ops.bessel import BESSEL, POLYNOMIALS
from whygrad.ops.table import TABLE


def _check(takes: Takes, dtype: Any) -> None:
    takes.check(dtype)
    if dtype.numpy.itemsize == 2 and dtype.category == 2:
        raise not_implemented(takes.kernel, dtype)


def _named(function: Callable[..., Any], name: str) -> None:
    SPECIAL[name] = special_function(name=name, doc=f"{name} of each element.")(function)


def _function(name: str) -> None:
    takes = Takes(NUMBERS, f"{name}_cpu")

    def function(x: Any, *, out: Any = None) -> Tensor:
        takes.check_tensor(f"special_{name}", x)
        _check(takes, x.dtype)
        result = apply(TABLE[name], cast(x, default_float(x.dtype).numpy))
        return with_out(f"special_{name}", result, out, x)  # type: ignore[no-any-return]

    _named(function, name)


def _polynomial(name: str) -> None:
    takes = Takes(NUMBERS, f"{name}_cpu")

    def polynomial(x: Any, n: Any, *, out: Any = None) -> Tensor:
        operands = [as_operand(x), as_operand(n)]
        if NotImplemented in operands or not any(isinstance(operand, Tensor) for operand in operands):
            raise invalid_combination(f"special_{name}", x, n)
        dtype = result_dtype(*operands)
        _check(takes, dtype)
        result = apply(TABLE[name], *promote(name, *operands, dtype=default_float(dtype)))
        return with_out(f"special_{name}", result, out, x, n)  # type: ignore[no-any-return]

    _named(polynomial, name)


for _name in BESSEL:
    _function(_name)
for _name in POLYNOMIALS:
    _polynomial(_name)
