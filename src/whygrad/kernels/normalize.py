"""layer_norm and batch_norm with weights and biases in one piece, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy import ascontiguousarray

from whygrad.kernels.channels import Channel, channel_kernel
from whygrad.kernels.columns import column_kernel
from whygrad.kernels.rowwise import Row, row_kernel, row_or_number
from whygrad.kernels.values import F32, Value


def statistics_of(part: Row | Channel, x: Value, eps: Value) -> tuple[Value, Value]:
    """(mean, one over the deviation) of a row or a channel."""
    f = part.f
    share = 1.0 / part.count.to(F32)
    mean = part.sum(lambda j, w: part.load(x, j, w)) * share
    square = part.sum(lambda j, w: _square(part.load(x, j, w) - part.wide(mean, w))) * share
    return mean, 1.0 / f.intrinsic("sqrt", square + eps)


def _square(x: Value) -> Value:
    return x * x


# layer_norm: the trailing axes are a row

def trailing(x: Any, axis: tuple[int, ...]) -> int:
    """The number of columns if `axis` are the last axes, else 0."""
    if not axis or axis[0] != x.ndim - len(axis):
        return 0
    return x.shape[-1] if len(axis) == 1 else math.prod(x.shape[axis[0]:])


def layer_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    kernels: dict[str, Callable[..., Any]] = {}

    def make(kinds: str) -> Callable[..., Any]:
        def body(row: Row) -> None:
            f, (y,) = row.f, row.results
            x, *weights, eps = row.arguments
            mean, scale = statistics_of(row, x, eps)

            def write(j: Any, w: int) -> None:
                value = (row.load(x, j, w) - row.wide(mean, w)) * row.wide(scale, w)
                if weights:
                    value = value * row.load(weights[0], j, w)
                if len(weights) > 1:
                    value = value + row.load(weights[1], j, w)
                f.store(value, y, j, w)

            row.each(write, unroll=2, masks=True)

        return row_kernel("layer_norm", kinds, "y", body, lambda *args: None)

    def run(x: Any, weight: Any, bias: Any, *, axis: Any, eps: float) -> Any:
        columns = trailing(x, axis)
        if columns and (weight is not None or bias is None):
            given = [w for w in (weight, bias) if w is not None]
            kinds = "x" + "w" * len(given) + "s"
            kernel = kernels.get(kinds)
            if kernel is None:
                kernel = kernels[kinds] = make(kinds)
            result = kernel(ascontiguousarray(x), *given, eps, columns)
            if result is not None:
                return result
        return numpy(x, weight, bias, axis=axis, eps=eps)

    return run


def write_input_gradient(row: Row) -> tuple[Value, Value]:
    """A row of the gradient of layer_norm's input, of (g, x, perhaps weight, eps); gives mean and scale of x."""
    f, (out,) = row.f, row.results
    g, x, *weights, eps = row.arguments
    mean, scale = statistics_of(row, x, eps)

    def terms(j: Any, w: int) -> tuple[Value, Value]:
        slope = row.load(g, j, w)
        if weights:
            slope = slope * row.load(weights[0], j, w)
        return slope, (row.load(x, j, w) - row.wide(mean, w)) * row.wide(scale, w)

    share = 1.0 / row.count.to(F32)
    shift = row.sum(lambda j, w: terms(j, w)[0]) * share
    stretch = row.sum(lambda j, w: terms(j, w)[0] * terms(j, w)[1]) * share

    def write(j: Any, w: int) -> None:
        slope, y = terms(j, w)
        f.store((slope - row.wide(shift, w) - y * row.wide(stretch, w)) * row.wide(scale, w), out, j, w)

    row.each(write, unroll=2, masks=True)
    return mean, scale


def layer_norm_input(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def body(row: Row) -> None:
        write_input_gradient(row)

    kernel = cache(lambda kinds: row_kernel("layer_norm_input", kinds, "y", body, lambda *args: None))

    def run(g: Any, x: Any, weight: Any, *, axis: Any, eps: float) -> Any:
        columns = trailing(x, axis)
        if columns:
            given = row_or_number(g)
            kinds = ("s" if type(given) is float else "x") + ("xs" if weight is None else "xws")
            result = kernel(kinds)(given, ascontiguousarray(x), *(() if weight is None else (weight,)), eps, columns)
            if result is not None:
                return result
        return numpy(g, x, weight, axis=axis, eps=eps)

    return run


def layer_norm_weight(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def statistics(row: Row) -> None:
        x, eps = row.arguments
        for value, place in zip(statistics_of(row, x, eps), row.results, strict=True):
            row.f.store(value, place)

    by_row = row_kernel("row_statistics", "xs", "rr", statistics, lambda *args: None)

    def term(f: Any, arguments: list[Value], row: Value, place: Value, width: int) -> Value:
        g, x, mean, scale = arguments
        y = (f.load(F32, x, place, width) - f.load(F32, mean, row).spread(width)) * f.load(F32, scale, row).spread(width)
        return f.load(F32, g, place, width) * y

    by_column = column_kernel("layer_norm_weight", "xxrr", term, lambda *args: None)

    def run(g: Any, x: Any, *, axis: Any, eps: float) -> Any:
        columns = trailing(x, axis)
        x = ascontiguousarray(x)
        statistics = by_row(x, eps, columns) if columns else None
        result = None if statistics is None else by_column(ascontiguousarray(g), x, *statistics, columns)
        return numpy(g, x, axis=axis, eps=eps) if result is None else result.reshape(x.shape[axis[0]:])

    return run


# Groups of channels, as rows

def standardized(numpy: Callable[..., Any]) -> Callable[..., Any]:
    """(x with mean 0 and variance 1 over `axis`, one over the deviation)"""

    def body(row: Row) -> None:
        x, eps = row.arguments
        y, place = row.results
        mean, scale = statistics_of(row, x, eps)
        row.each(lambda j, w: row.f.store((row.load(x, j, w) - row.wide(mean, w)) * row.wide(scale, w), y, j, w), 2, masks=True)
        row.f.store(scale, place)

    kernel = row_kernel("standardized", "xs", "yr", body, lambda *args: None)

    def run(x: Any, *, axis: Any, eps: float) -> Any:
        columns = trailing(x, axis)
        found = kernel(ascontiguousarray(x), eps, columns) if columns else None
        if found is None:
            return numpy(x, axis=axis, eps=eps)
        y, scale = found
        return y, scale.reshape(x.shape[:axis[0]] + (1,) * len(axis))

    return run


def standardized_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    rule = layer_norm_input(lambda g, x, weight, *, axis, eps: numpy(g, x, axis=axis, eps=eps))
    return lambda g, x, *, axis, eps: rule(g, x, None, axis=axis, eps=eps)


# batch_norm: axis 1 are channels

def channel_moments(numpy: Callable[..., Any]) -> Callable[..., Any]:
    """(mean, mean square distance from it) by channel, shaped to broadcast."""

    def body(channel: Channel) -> None:
        (x,), (mean_place, square_place) = channel.arguments, channel.results
        share = 1.0 / channel.count.to(F32)
        mean = channel.sum(lambda j, w: channel.load(x, j, w)) * share
        square = channel.sum(lambda j, w: _square(channel.load(x, j, w) - channel.wide(mean, w))) * share
        channel.f.store(mean, mean_place)
        channel.f.store(square, square_place)

    kernel = channel_kernel("channel_moments", "x", "cc", body, lambda *args: None)

    def run(x: Any) -> Any:
        found = kernel(ascontiguousarray(x))
        return numpy(x) if found is None else tuple([m.reshape(1, -1, *(1,) * (x.ndim - 2)) for m in found])

    return run


def batch_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def body(channel: Channel) -> None:
        (x, mean, factor, shift), (y,) = channel.arguments, channel.results

        def write(j: Any, w: int) -> None:
            value = (channel.load(x, j, w) - channel.wide(mean, w)) * channel.wide(factor, w) + channel.wide(shift, w)
            channel.store(value, y, j)

        channel.each(write)

    kernel = channel_kernel("batch_norm", "xccc", "y", body, lambda *args: None)

    def run(x: Any, weight: Any, bias: Any, mean: Any, var: Any, *, eps: float, known: Any = None) -> Any:
        statistics = known if known is not None else (mean, var)
        if x.dtype == np.float32 and statistics[0] is not None and x.ndim > 2:
            centre, square = (s.reshape(-1) for s in statistics)
            factor = (1 / np.sqrt(square + np.float32(eps)) * (1 if weight is None else weight)).astype(np.float32)
            result = kernel(ascontiguousarray(x), centre, factor, np.zeros_like(factor) if bias is None else bias)
            if result is not None:
                return result
        return numpy(x, weight, bias, mean, var, eps=eps, known=known)

    return run


def batch_norm_input(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def body(channel: Channel) -> None:
        (g, x, weight, eps), (out,) = channel.arguments, channel.results
        mean, scale = statistics_of(channel, x, eps)
        share = 1.0 / channel.count.to(F32)

        def standard(j: Any, w: int) -> Value:
            return (channel.load(x, j, w) - channel.wide(mean, w)) * channel.wide(scale, w)

        shift = channel.sum(lambda j, w: channel.load(g, j, w)) * share
        stretch = channel.sum(lambda j, w: channel.load(g, j, w) * standard(j, w)) * share
        factor = scale * weight

        def write(j: Any, w: int) -> None:
            value = channel.load(g, j, w) - channel.wide(shift, w) - standard(j, w) * channel.wide(stretch, w)
            channel.store(value * channel.wide(factor, w), out, j)

        channel.each(write)

    kernel = channel_kernel("batch_norm_input", "xxcs", "y", body, lambda *args: None)

    def run(g: Any, x: Any, weight: Any, *, eps: float) -> Any:
        if x.dtype == np.float32 and x.ndim > 2:
            result = kernel(ascontiguousarray(g), ascontiguousarray(x),
                            np.ones(x.shape[1], np.float32) if weight is None else weight, eps)
            if result is not None:
                return result
        return numpy(g, x, weight, eps=eps)

    return run


def batch_norm_weight(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def body(channel: Channel) -> None:
        (g, x, eps), (out,) = channel.arguments, channel.results
        mean, scale = statistics_of(channel, x, eps)
        total = channel.sum(lambda j, w: channel.load(g, j, w) * (channel.load(x, j, w) - channel.wide(mean, w)))
        channel.f.store(total * scale, out)

    kernel = channel_kernel("batch_norm_weight", "xxs", "c", body, lambda *args: None)

    def run(g: Any, x: Any, *, eps: float) -> Any:
        result = kernel(ascontiguousarray(g), ascontiguousarray(x), eps) if x.ndim > 2 else None
        return numpy(g, x, eps=eps) if result is None else result

    return run
