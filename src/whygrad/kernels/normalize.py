"""layer_norm and batch_norm with weights and biases in one piece, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ascontiguousarray

from whygrad.kernels.calls import maker
from whygrad.kernels.channels import Channel, channel_kernel
from whygrad.kernels.columns import column_kernel
from whygrad.kernels.rowwise import Row, row_kernel, row_or_number
from whygrad.kernels.values import F32, Value


def statistics_of(part: Row | Channel, x: Value, eps: Value) -> tuple[Value, Value]:
    """(mean, one over the deviation) of a row or a channel."""
    f = part.f
    share = 1.0 / part.count.to(F32)
    mean = part.sum(lambda j, w: part.load(x, j, w)) * share
    square = part.sum(lambda j, w: _square(part.load(x, j, w) - mean.spread(w))) * share
    return mean, 1.0 / f.intrinsic("sqrt", square + eps)


def _square(x: Value) -> Value:
    return x * x


# layer_norm: the trailing axes are a row

def trailing(x: Any, axis: tuple[int, ...]) -> int:
    """The number of columns if `axis` are the last axes, else 0."""
    if not axis or axis[0] != x.ndim - len(axis):
        return 0
    return x.shape[-1] if len(axis) == 1 else math.prod(x.shape[axis[0]:])


def _layer_norm(row: Row) -> None:
    f, (y,) = row.f, row.results
    x, *weights, eps = row.arguments
    mean, scale = statistics_of(row, x, eps)

    def write(j: Any, w: int) -> None:
        value = (row.load(x, j, w) - mean.spread(w)) * scale.spread(w)
        if weights:
            value = value * row.load(weights[0], j, w)
        if len(weights) > 1:
            value = value + row.load(weights[1], j, w)
        f.store(value, y, j, w)

    row.each(write, unroll=2, masks=True)


def layer_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, weight: Any, bias: Any, *, axis: Any, eps: float) -> Any:
        columns = trailing(x, axis)
        if columns and (weight is not None or bias is None):
            given = [w for w in (weight, bias) if w is not None]
            result = row_kernel("layer_norm", "x" + "w" * len(given) + "s", "y", _layer_norm)(
                ascontiguousarray(x), *given, eps, columns)
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
        return slope, (row.load(x, j, w) - mean.spread(w)) * scale.spread(w)

    share = 1.0 / row.count.to(F32)
    shift = row.sum(lambda j, w: terms(j, w)[0]) * share
    stretch = row.sum(lambda j, w: terms(j, w)[0] * terms(j, w)[1]) * share

    def write(j: Any, w: int) -> None:
        slope, y = terms(j, w)
        f.store((slope - shift.spread(w) - y * stretch.spread(w)) * scale.spread(w), out, j, w)

    row.each(write, unroll=2, masks=True)
    return mean, scale


@maker
def layer_norm_input(g: Any, x: Any, weight: Any, *, axis: Any, eps: float) -> Any:
    columns = trailing(x, axis)
    if not columns:
        return None
    given = row_or_number(g)
    kinds = ("s" if type(given) is float else "x") + ("xs" if weight is None else "xws")
    weights = () if weight is None else (weight,)
    kernel = row_kernel("layer_norm_input", kinds, "y", write_input_gradient)
    return kernel(given, ascontiguousarray(x), *weights, eps, columns)


def _statistics(row: Row) -> None:
    x, eps = row.arguments
    for value, place in zip(statistics_of(row, x, eps), row.results, strict=True):
        row.f.store(value, place)


def _weight_term(f: Any, arguments: list[Value], row: Value, place: Value, width: int) -> Value:
    g, x, mean, scale = arguments
    y = (f.load(F32, x, place, width) - f.load(F32, mean, row).spread(width)) * f.load(F32, scale, row).spread(width)
    return f.load(F32, g, place, width) * y


@maker
def layer_norm_weight(g: Any, x: Any, *, axis: Any, eps: float) -> Any:
    columns = trailing(x, axis)
    x = ascontiguousarray(x)
    statistics = row_kernel("row_statistics", "xs", "rr", _statistics)(x, eps, columns) if columns else None
    if statistics is None:
        return None
    result = column_kernel("layer_norm_weight", "xxrr", _weight_term)(ascontiguousarray(g), x, *statistics, columns)
    return None if result is None else result.reshape(x.shape[axis[0]:])


# Groups of channels, as rows

def _standardized(row: Row) -> None:
    x, eps = row.arguments
    y, place = row.results
    mean, scale = statistics_of(row, x, eps)
    row.each(lambda j, w: row.f.store((row.load(x, j, w) - mean.spread(w)) * scale.spread(w), y, j, w), 2, masks=True)
    row.f.store(scale, place)


@maker
def standardized(x: Any, *, axis: Any, eps: float) -> Any:
    """(x with mean 0 and variance 1 over `axis`, one over the deviation)"""
    columns = trailing(x, axis)
    found = row_kernel("standardized", "xs", "yr", _standardized)(ascontiguousarray(x), eps, columns) if columns else None
    if found is None:
        return None
    y, scale = found
    return y, scale.reshape(x.shape[:axis[0]] + (1,) * len(axis))


def standardized_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    rule = layer_norm_input(lambda g, x, weight, *, axis, eps: numpy(g, x, axis=axis, eps=eps))
    return lambda g, x, *, axis, eps: rule(g, x, None, axis=axis, eps=eps)


# batch_norm: axis 1 are channels

def _moments(channel: Channel) -> None:
    (x,), places = channel.arguments, channel.results
    share = 1.0 / channel.count.to(F32)
    mean = channel.sum(lambda j, w: channel.load(x, j, w)) * share
    square = channel.sum(lambda j, w: _square(channel.load(x, j, w) - mean.spread(w))) * share
    for value, place in zip((mean, square), places, strict=True):
        channel.f.store(value, place)


@maker
def channel_moments(x: Any) -> Any:
    """(mean, mean square distance from it) by channel, shaped to broadcast."""
    found = channel_kernel("channel_moments", "x", "cc", _moments)(ascontiguousarray(x))
    return None if found is None else tuple([m.reshape(1, -1, *(1,) * (x.ndim - 2)) for m in found])


def _batch_norm(channel: Channel) -> None:
    f, (x, mean, factor, shift), (y,) = channel.f, channel.arguments, channel.results
    channel.each(lambda j, w: f.store(
        (channel.load(x, j, w) - mean.spread(w)) * factor.spread(w) + shift.spread(w), y, j))


@maker
def batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, *, eps: float, known: Any = None) -> Any:
    statistics = known if known is not None else (mean, var)
    if x.dtype != np.float32 or statistics[0] is None or x.ndim <= 2:
        return None
    centre, square = (s.reshape(-1) for s in statistics)
    factor = (1 / np.sqrt(square + np.float32(eps)) * (1 if weight is None else weight)).astype(np.float32)
    shift = np.zeros_like(factor) if bias is None else bias
    return channel_kernel("batch_norm", "xccc", "y", _batch_norm)(ascontiguousarray(x), centre, factor, shift)


def _batch_norm_input(channel: Channel) -> None:
    (g, x, weight, eps), (out,) = channel.arguments, channel.results
    mean, scale = statistics_of(channel, x, eps)
    share = 1.0 / channel.count.to(F32)

    def standard(j: Any, w: int) -> Value:
        return (channel.load(x, j, w) - mean.spread(w)) * scale.spread(w)

    shift = channel.sum(lambda j, w: channel.load(g, j, w)) * share
    stretch = channel.sum(lambda j, w: channel.load(g, j, w) * standard(j, w)) * share
    factor = scale * weight

    def write(j: Any, w: int) -> None:
        value = channel.load(g, j, w) - shift.spread(w) - standard(j, w) * stretch.spread(w)
        channel.f.store(value * factor.spread(w), out, j)

    channel.each(write)


@maker
def batch_norm_input(g: Any, x: Any, weight: Any, *, eps: float) -> Any:
    if x.dtype != np.float32 or x.ndim <= 2:
        return None
    return channel_kernel("batch_norm_input", "xxcs", "y", _batch_norm_input)(
        ascontiguousarray(g), ascontiguousarray(x), np.ones(x.shape[1], np.float32) if weight is None else weight, eps)


def _batch_norm_weight(channel: Channel) -> None:
    (g, x, eps), (out,) = channel.arguments, channel.results
    mean, scale = statistics_of(channel, x, eps)
    total = channel.sum(lambda j, w: channel.load(g, j, w) * (channel.load(x, j, w) - mean.spread(w)))
    channel.f.store(total * scale, out)


@maker
def batch_norm_weight(g: Any, x: Any, *, eps: float) -> Any:
    kernel = channel_kernel("batch_norm_weight", "xxs", "c", _batch_norm_weight)
    return kernel(ascontiguousarray(g), ascontiguousarray(x), eps) if x.ndim > 2 else None
