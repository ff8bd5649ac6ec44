"""Sums and means of large arrays: of all elements, over the last axes, over the first ones, or over all but the channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.channels import Channel, channel_kernel
from whygrad.kernels.columns import column_kernel
from whygrad.kernels.rowwise import Row, row_kernel
from whygrad.kernels.values import F32, Value

_whygrad_internal_ = True

FLOAT32 = np.dtype(np.float32)
# All elements are added up in pieces of so many; the pieces' sums then one after the other, in float64.
PIECE = 4096
# Smaller sums are left to NumPy, which has less to ask first.
WORTH_IT = 8192


class Sums:
    """float32 sums by kernels; None where there is none."""

    def __init__(self) -> None:
        def body(row: Row) -> None:
            (x,), (place,) = row.arguments, row.results
            row.f.store(row.sum(lambda j, w: row.load(x, j, w)), place)

        def term(f: Any, arguments: list[Value], row: Value, place: Value, width: int) -> Value:
            return f.load(F32, arguments[0], place, width)

        def of_channel(channel: Channel) -> None:
            channel.f.store(channel.sum(lambda j, w: channel.load(channel.arguments[0], j, w)), channel.results[0])

        self.rows = row_kernel("sum", "x", "r", body, lambda *args: None)
        self.columns = column_kernel("sum", "x", term, lambda *args: None)
        self.channels = channel_kernel("sum", "x", "c", of_channel, lambda *args: None)

    def __call__(self, x: Any, axis: Any, keepdims: bool) -> Any:
        if x.dtype is not FLOAT32 or x.size < WORTH_IT or not x.flags.c_contiguous:
            return None
        if axis == ():
            return None  # nothing to sum over
        if axis is None or len(axis) == x.ndim:
            total = np.float32(self._all(x.reshape(-1)))
            return np.full((1,) * x.ndim, total) if keepdims else total
        shape = tuple([1 if i in axis else n for i, n in enumerate(x.shape)]) if keepdims else \
            tuple([n for i, n in enumerate(x.shape) if i not in axis])
        count = len(axis)
        if axis == tuple(range(x.ndim - count, x.ndim)):
            found = self.rows(x, math.prod(x.shape[-count:]))
        elif axis == tuple(range(count)):
            found = self.columns(x, math.prod(x.shape[count:]))
        elif axis == (0, *range(2, x.ndim)):  # the gradient of a convolution's bias
            found = self.channels(x)
        else:
            return None
        return found if found is None or found.shape == shape else found.reshape(shape)  # a view would be copied later

    def _all(self, flat: Any) -> Any:
        whole = len(flat) // PIECE * PIECE
        pieces = self.rows(flat[:whole], PIECE)
        return np.add.reduce(pieces, dtype=np.float64) + np.add.reduce(flat[whole:])


_sums: list[Sums] = []


def _kernels() -> Sums:
    if not _sums:
        _sums.append(Sums())
    return _sums[0]


def column_sums() -> Callable[..., Any]:
    """A function of an array in one piece and the length of its rows that adds these up; None if it is not of float32."""
    return _kernels().columns


def sum(numpy: Callable[..., Any]) -> Callable[..., Any]:
    sums = _kernels()

    def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        found = sums(x, axis, keepdims) if x.size >= WORTH_IT else None
        return numpy(x, axis=axis, keepdims=keepdims) if found is None else found

    return run


def mean(numpy: Callable[..., Any]) -> Callable[..., Any]:
    sums = _kernels()

    def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        found = sums(x, axis, keepdims) if x.size >= WORTH_IT else None
        return numpy(x, axis=axis, keepdims=keepdims) if found is None else found / np.float32(x.size / max(np.size(found), 1))

    return run


sum_all, mean_all = sum, mean


def sum_to(numpy: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient brought back to the shape of what was broadcast: over leading axes."""
    sums = _kernels()

    def run(x: Any, *, shape: tuple[int, ...]) -> Any:
        if x.size >= WORTH_IT and x.ndim > len(shape) and x.shape[x.ndim - len(shape):] == shape:
            found = sums(x, tuple(range(x.ndim - len(shape))), False)
            if found is not None:
                return found
        return numpy(x, shape=shape)

    return run
