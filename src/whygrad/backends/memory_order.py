"""The memory order of results: which strides a new array gets.

NumPy and torch both let a result follow its inputs, but differ where inputs disagree or are expanded. Programs can tell:
`view` works on one result and raises on the other. This module implements torch's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad.base.unread_array import contiguous_strides


def axes_by_stride(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """The axes from the slowest to the fastest. The first input with different, nonzero strides for two axes orders them."""
    order = list(range(len(shape)))  # insertion sort, as in torch: the comparison is not transitive
    for start in range(len(order) - 2, -1, -1):
        position = start
        for other in range(start + 1, len(order)):
            verdict = _compare(order[other], order[position], shape, strides)
            if verdict < 0:
                break
            if verdict > 0:
                order[position], order[other] = order[other], order[position]
                position = other
    return order


def _compare(inner: int, outer: int, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> int:
    """1 if these axes must be swapped, -1 if they must not, 0 if no input decides."""
    for stride in strides:
        small, large = stride[inner], stride[outer]
        if not small or not large:
            continue
        if small != large:
            return 1 if small > large else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def empty_following(shape: tuple[int, ...], dtype: Any, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """A new array with the strides of torch's result of an elementwise op on `arrays`."""
    return empty_in_order(shape, dtype, _broadcast_strides(shape, arrays))


def following(shape: tuple[int, ...], itemsize: int, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
    """These strides alone."""
    order = axes_by_stride(shape, _broadcast_strides(shape, arrays))
    strides = contiguous_strides(tuple([shape[axis] for axis in order]), itemsize)
    return tuple([strides[order.index(axis)] for axis in range(len(shape))])


def _broadcast_strides(shape: tuple[int, ...], arrays: Sequence[np.ndarray]) -> list[tuple[int, ...]]:
    strides = []
    for array in arrays:
        missing = len(shape) - array.ndim
        strides.append((0,) * missing + tuple([0 if n == 1 < m else abs(s) for n, m, s in
                                               zip(array.shape, shape[missing:], array.strides, strict=True)]))
    return strides


def empty_in_order(shape: tuple[int, ...], dtype: Any, strides: Sequence[Sequence[int]]) -> np.ndarray:
    order = axes_by_stride(shape, strides)
    laid_out = np.empty([shape[axis] for axis in order], dtype)
    return laid_out.transpose([order.index(axis) for axis in range(len(shape))])


def follow(out: np.ndarray, arrays: Sequence[Any]) -> np.ndarray:
    """`out`, copied if its strides are not those of torch's result."""
    wanted = empty_following(out.shape, out.dtype, [x for x in arrays if isinstance(x, np.ndarray) and x.ndim])
    if wanted.strides == out.strides:
        return out
    wanted[...] = out
    return wanted


def has_channels_last(x: np.ndarray) -> bool:
    """Whether torch takes `x` for images or volumes in channels_last order."""
    if x.ndim not in (4, 5) or not x.size:
        return False
    smallest = 0
    for axis in (1, *range(x.ndim - 1, 1, -1), 0):
        stride = x.strides[axis]
        if stride < smallest or (axis == 0 and smallest == x.strides[1]):
            return False
        smallest = stride * x.shape[axis]
    return True


def with_channels_as_in(out: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`out` in channels_last order if `x` is, else contiguous."""
    if out.ndim != x.ndim or not has_channels_last(x):
        return np.ascontiguousarray(out)
    wanted = np.moveaxis(np.empty((out.shape[0], *out.shape[2:], out.shape[1]), out.dtype), -1, 1)
    if wanted.strides == out.strides:
        return out
    wanted[...] = out
    return wanted


def in_columns(out: np.ndarray) -> np.ndarray:
    """Matrices in column-major order, as LAPACK returns them."""
    wanted = np.empty((*out.shape[:-2], out.shape[-1], out.shape[-2]), out.dtype).swapaxes(-1, -2)
    if wanted.strides == out.strides:
        return out
    wanted[...] = out
    return wanted


def empty_like(x: np.ndarray, dtype: Any = None) -> np.ndarray:
    """np.empty_like, except that the result for an expanded array has torch's strides."""
    if x.flags.c_contiguous:
        return np.empty(x.shape, dtype or x.dtype)
    return empty_following(x.shape, dtype or x.dtype, (x,))


def copy_of(x: np.ndarray, dtype: Any = None) -> np.ndarray:
    """A copy that keeps the order of axes."""
    if x.flags.c_contiguous:
        return x.astype(dtype or x.dtype)
    return copy_in_order(x, x, dtype)


def copy_in_order(x: np.ndarray, model: np.ndarray, dtype: Any = None) -> np.ndarray:
    """A copy with the memory order of `model`, an array of the same shape."""
    result = empty_like(model, dtype)
    np.copyto(result, x, casting="unsafe")
    return result
