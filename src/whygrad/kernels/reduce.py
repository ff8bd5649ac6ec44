"""Sums, means, products and extremes of large arrays: of all elements, over the last axes, over the first ones, and for sums
over all but the channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np

from whygrad.kernels.channels import Channel, channel_kernel
from whygrad.kernels.columns import Combine, column_kernel
from whygrad.kernels.rowwise import Row, row_kernel
from whygrad.kernels.values import F32, Value

_whygrad_internal_ = True

FLOAT32 = np.dtype(np.float32)
# All elements are added up in pieces of so many; the pieces' sums then one after the other, in float64.
PIECE = 4096
# Smaller sums are left to NumPy, which has less to ask first.
WORTH_IT = 8192


# What each word combines elements with, beginning with what, and how NumPy calls it.
FOLDS: dict[str, tuple[Combine, float, Any]] = {
    "sum": (lambda f, total, new: total + new, 0.0, np.add),
    "prod": (lambda f, total, new: total * new, 1.0, np.multiply),
    "amax": (lambda f, total, new: f.maximum(total, new), -math.inf, np.maximum),
    "amin": (lambda f, total, new: f.minimum(total, new), math.inf, np.minimum),
}


class Totals:
    """float32 sums, products or extremes by kernels; None where there is none."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.combine, self.start, self.ufunc = FOLDS[word]

    @cached_property
    def rows(self) -> Callable[..., Any]:
        def body(row: Row) -> None:
            (x,), (place,) = row.arguments, row.results
            f, combine = row.f, self.combine
            total = row.fold(lambda j, w: row.load(x, j, w), self.start, lambda new, total: combine(f, total, new),
                             lambda total: f._fold(total, lambda a, b: combine(f, a, b)), unroll=2)
            f.store(total, place)

        return row_kernel(self.word, "x", "r", body, lambda *args: None)

    @cached_property
    def columns(self) -> Callable[..., Any]:
        def term(f: Any, arguments: list[Value], row: Value, place: Value, width: int) -> Value:
            return f.load(F32, arguments[0], place, width)

        return column_kernel(self.word, "x", term, lambda *args: None, self.combine, self.start)

    @cached_property
    def channels(self) -> Callable[..., Any]:
        def body(channel: Channel) -> None:
            channel.f.store(channel.sum(lambda j, w: channel.load(channel.arguments[0], j, w)), channel.results[0])

        return channel_kernel(self.word, "x", "c", body, lambda *args: None)

    def __call__(self, x: Any, axis: Any, keepdims: bool) -> Any:
        if x.dtype is not FLOAT32 or x.size < WORTH_IT or not x.flags.c_contiguous:
            return None
        if axis == ():
            return None  # nothing to sum over
        if axis is None or len(axis) == x.ndim:
            with np.errstate(all="ignore"):
                total = np.float32(self._all(x.reshape(-1)))
            return np.full((1,) * x.ndim, total) if keepdims else total
        shape = tuple([1 if i in axis else n for i, n in enumerate(x.shape)]) if keepdims else \
            tuple([n for i, n in enumerate(x.shape) if i not in axis])
        count = len(axis)
        if axis == tuple(range(x.ndim - count, x.ndim)):
            found = self.rows(x, math.prod(x.shape[-count:]))
        elif axis == tuple(range(count)):
            found = self.columns(x, math.prod(x.shape[count:]))
        elif self.word == "sum" and axis == (0, *range(2, x.ndim)):  # the gradient of a convolution's bias
            found = self.channels(x)
        else:
            return None
        return found if found is None or found.shape == shape else found.reshape(shape)  # a view would be copied later

    def _all(self, flat: Any) -> Any:
        whole = len(flat) // PIECE * PIECE
        pieces = self.rows(flat[:whole], PIECE)
        if whole == len(flat):
            return self.ufunc.reduce(pieces, dtype=np.float64)
        return self.ufunc(self.ufunc.reduce(pieces, dtype=np.float64), self.ufunc.reduce(flat[whole:]))


@cache
def totals(word: str) -> Totals:
    return Totals(word)


def _maker(word: str) -> Callable[..., Any]:
    def make(numpy: Callable[..., Any]) -> Callable[..., Any]:
        found_by = totals(word)

        def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
            found = found_by(x, axis, keepdims) if x.size >= WORTH_IT else None
            return numpy(x, axis=axis, keepdims=keepdims) if found is None else found

        return run

    return make


def column_sums() -> Callable[..., Any]:
    """A function of an array in one piece and the length of its rows that adds these up; None if it is not of float32."""
    return totals("sum").columns


sum, prod, amax, amin = map(_maker, FOLDS)
max, min = amax, amin


def mean(numpy: Callable[..., Any]) -> Callable[..., Any]:
    sums = totals("sum")

    def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        found = sums(x, axis, keepdims) if x.size >= WORTH_IT else None
        return numpy(x, axis=axis, keepdims=keepdims) if found is None else found / np.float32(x.size / (np.size(found) or 1))

    return run


sum_all, mean_all = sum, mean


def sum_to(numpy: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient brought back to the shape of what was broadcast: over leading axes."""
    sums = totals("sum")

    def run(x: Any, *, shape: tuple[int, ...]) -> Any:
        if x.size >= WORTH_IT and x.ndim > len(shape) and x.shape[x.ndim - len(shape):] == shape:
            found = sums(x, tuple(range(x.ndim - len(shape))), False)
            if found is not None:
                return found
        return numpy(x, shape=shape)

    return run
