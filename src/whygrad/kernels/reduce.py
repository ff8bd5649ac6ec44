"""Sums and means: of all elements, over the last axes, over the first ones, or over all but the channels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.base.expression import Expr
from whygrad.kernels.channels import Channel, channel_kernel
from whygrad.kernels.columns import column_kernel, themselves
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.pointwise import compile_formula
from whygrad.kernels.rowwise import Row, row_kernel
from whygrad.kernels.trace import inputs, vocabulary


def total(name: str, formula: Callable[[Any], Expr], numpy: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of a float32 array that gives the sum, or mean, of a formula over all elements; of other arrays None, or what
    `numpy` gives."""
    return compile_formula(name, formula(*inputs("a")), "a", numpy and (numpy, numpy))


class Sums:
    def __init__(self) -> None:
        def body(row: Row) -> None:
            (x,), (place,) = row.arguments, row.results
            row.f.store(row.sum(lambda j, w: row.load(x, j, w)), place)

        def of_channel(channel: Channel) -> None:
            channel.f.store(channel.sum(lambda j, w: channel.load(channel.arguments[0], j, w)), channel.results[0])

        self.rows = row_kernel("sum", "x", "r", body)
        self.columns = column_kernel("sum", "x", themselves)
        self.channels = channel_kernel("sum", "x", "c", of_channel)
        self.all = total("sum_all", vocabulary.sum)

    def __call__(self, x: Any, axis: Any, keepdims: bool) -> Any:
        if x.dtype is not FLOAT32:
            return None
        kernel, columns, shape = reduction_plan(x.shape, axis, keepdims)
        if kernel == "":
            return None
        found = getattr(self, kernel)(x, *columns)
        return found if found is None or shape is None else found.reshape(shape)


@lru_cache(1024)
def reduction_plan(shape: tuple[int, ...], axis: tuple[int, ...] | None, keepdims: bool) -> tuple[str, tuple[int, ...], Any]:
    """What is reduced ("all", "rows", "columns", "channels" or "" for other axes), the length of a row as an argument for the
    kernel, and the result's shape, or None if it is the one that the kernel gives: a reshaped view would be copied later."""
    ndim = len(shape)
    axis = tuple(range(ndim)) if axis is None else axis
    count = len(axis)
    columns: tuple[int, ...] = ()
    result = tuple([1 if i in axis else n for i, n in enumerate(shape) if keepdims or i not in axis])
    if axis == tuple(range(ndim)):
        return "all", (), result or None
    if not axis:
        return "", (), None
    if axis == tuple(range(ndim - count, ndim)):
        kernel, columns, made = "rows", (math.prod(shape[-count:]),), math.prod(shape[:-count])
    elif axis == tuple(range(count)):
        made = math.prod(shape[count:])
        kernel, columns = "columns", (made,)
    elif axis == (0, *range(2, ndim)):  # the gradient of a convolution's bias
        kernel, made = "channels", shape[1]
    else:
        return "", (), None
    return kernel, columns, None if result == (made,) else result


@cache
def _kernels() -> Sums:
    return Sums()


def column_sums() -> Callable[..., Any]:
    """A function of an array in one piece and the length of its rows that adds these up; None if it is not of float32."""
    return _kernels().columns


def sum(numpy: Callable[..., Any]) -> Callable[..., Any]:
    sums = _kernels()

    def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        found = sums(x, axis, keepdims)
        return numpy(x, axis=axis, keepdims=keepdims) if found is None else found

    return run


def mean(numpy: Callable[..., Any]) -> Callable[..., Any]:
    sums = _kernels()

    def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        found = sums(x, axis, keepdims)
        if found is None or not x.size:
            return numpy(x, axis=axis, keepdims=keepdims)
        return found / np.float32(x.size / found.size)

    return run


def sum_all(numpy: Callable[..., Any]) -> Callable[..., Any]:
    return total("sum_all", vocabulary.sum, numpy)


def mean_all(numpy: Callable[..., Any]) -> Callable[..., Any]:
    return total("mean_all", vocabulary.mean, numpy)


def sum_to(numpy: Callable[..., Any]) -> Callable[..., Any]:
    """A gradient brought back to the shape of what was broadcast."""
    sums = _kernels()

    def run(x: Any, *, shape: tuple[int, ...]) -> Any:
        found = sums(x, _broadcast_axes(x.shape, shape), False)
        if found is None:
            return numpy(x, shape=shape)
        return found if found.shape == shape else found.reshape(shape)

    return run


@lru_cache(1024)
def _broadcast_axes(shape: tuple[int, ...], before: tuple[int, ...]) -> tuple[int, ...]:
    extra = len(shape) - len(before)
    return tuple([i for i, n in enumerate(shape) if i < extra or before[i - extra] != n])
