"""torch.testing.make_tensor: random values of any dtype, for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import whygrad
from whygrad.base.dtypes import dtype as Dtype
from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor


def make_tensor(*shape: int | Sequence[int], dtype: Dtype, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """Values drawn uniformly from [low, high); by default the range contains numbers of both signs."""
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"{noncontiguous=} and {memory_format=}")
    has_fractions = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not has_fractions:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    given: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    sizes = tuple(given)
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    least, most = _range(dtype, low, high)
    if has_fractions:
        result: Any = whygrad.empty(sizes, dtype=dtype, device=device)
        numbers = whygrad.view_as_real(result) if dtype.is_complex else result
        if most - least >= whygrad.finfo(dtype).max:
            numbers.uniform_(least / 2, most / 2).mul_(2)
        else:
            numbers.uniform_(least, most)
    else:
        result = whygrad.randint(math.ceil(least), math.ceil(most), sizes, dtype=dtype, device=device)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = whygrad.finfo(dtype).tiny if has_fractions else 1
    if has_fractions:
        result.requires_grad = requires_grad
    return result  # type: ignore[no-any-return]


def _range(dtype: Dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """The given range, or the dtype's default one, clipped to the values that the dtype can represent."""
    if dtype is whygrad.bool:
        first, end, usual = 0.0, 2.0, (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        first, end, usual = whygrad.finfo(dtype).min, whygrad.finfo(dtype).max, (-9, 9)
    else:
        limits = whygrad.iinfo(dtype)
        first, end, usual = limits.min, limits.max + (dtype is not whygrad.int64), (-9, 10)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
             "and will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < first or low >= end:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
                         f"[{first}, {end})")
    return min(max(low, first), end), min(max(high, first), end)
