"""Shared by all draws: memory order, casts, and fused multiply-add as in torch's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Shape = int | Sequence[int]


def memory_order(array: Array) -> Array:
    """The view of `array` whose C order is its memory order, in which torch fills it."""
    return array.transpose(np.argsort([-abs(step) for step in array.strides], kind="stable"))


def as_shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def part_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def as_complex(parts: Array) -> Array:
    """(..., 2) floats as complex numbers."""
    return parts.view(np.complex64 if parts.dtype == np.float32 else np.complex128)[..., 0]


def narrow(values: Array, dtype: DTypeLike) -> Array:
    """A cast as C++ does it: to the 16-bit floats by way of float32."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 2 and dtype.kind in "fV":
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def fma(x: Array, factor: float | np.floating, summand: float | np.floating) -> Array:
    """x * factor + summand, rounded once."""
    if x.dtype == np.float32:
        if factor == 1 and summand == 0:
            return x
        wide = x.astype(np.float64) * float(np.float32(factor)) + float(np.float32(summand))
        return wide.astype(np.float32)
    factor, summand = float(factor), float(summand)
    product = x * factor
    if summand == 0 or not 1e-200 < abs(factor) < 1e200:
        return product + summand
    # Dekker's exact product and Knuth's exact sum; the rounding errors of both are added at the end.
    splitter = 2.0**27 + 1
    x_high = splitter * x - (splitter * x - x)
    high = splitter * factor - (splitter * factor - factor)
    x_low, low = x - x_high, factor - high
    lost = ((x_high * high - product) + x_high * low + x_low * high) + x_low * low
    total = product + summand
    back = total - product
    return total + (((product - (total - back)) + (summand - back)) + lost)
