"""Convolution and its derivatives as kernels, for float32 images with one or two spatial axes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.backends.numpy_conv import in_order_of, output_size
from whygrad.kernels import host
from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.conv_direct import Weights, direct
from whygrad.kernels.conv_plan import Axis, axes_of, forward_axis, sizes, transposed_axes
from whygrad.kernels.conv_weight import weight_gradient
from whygrad.kernels.winograd import applies, winograd
from whygrad.kernels.winograd_weight import winograd_weight

Shape = tuple[int, ...]


def suits(*arrays: Any) -> bool:
    """Float32, one or two spatial axes, and not with its channels last: then the result must have them there, too."""
    for x in arrays:
        if type(x) is not np.ndarray or x.dtype is not host.FLOAT32 or not 3 <= x.ndim <= 4 or not x.size:
            return False
    x = arrays[0]
    return bool(x.flags.c_contiguous or x.ndim < 4 or x.shape[1] == 1 or x.strides[1] != x.itemsize)


def contiguous_bias(bias: Any) -> Any:
    return bias if bias is None else contiguous(bias)


@maker
def convolution(x: Any, weight: Any, bias: Any, *, window: Any, size: Shape | None = None) -> Any:
    if not suits(x, weight):
        return None
    run, shape = forward_plan(x.shape, weight.shape, window, size)
    return in_order_of(x, run(contiguous(x), contiguous(weight), contiguous_bias(bias), np.empty(shape, np.float32)))


@lru_cache(maxsize=512)
def forward_plan(x: Shape, weight: Shape, window: Any, size: Shape | None) -> tuple[Any, Shape]:
    if size is None:
        size = output_size(x[2:], weight[2:], window)
    down, across = (forward_axis(*axis) for axis in axes_of(window, x[2:], weight[2:], size))
    height, width = sizes(weight[2:])
    groups, channels, filters = window.groups, weight[1], weight[0] // window.groups
    taps = height * width
    layout = Weights(channels * taps, taps, filters * channels * taps, width)
    return correlation(x[0], groups, channels, filters, down, across, layout), (x[0], weight[0], *size)


def correlation(count: int, groups: int, channels: int, filters: int, down: Axis, across: Axis, layout: Weights) -> Any:
    way = winograd if applies(channels, filters, down, across) else direct
    return way(count, groups, channels, filters, down, across, layout)


@maker
def convolution_transpose(y: Any, weight: Any, bias: Any, *, size: Shape, window: Any) -> Any:
    if not suits(y, weight):
        return None
    runs, shape = transposed_plan(y.shape, weight.shape, window, tuple(size))
    image, weight, bias = contiguous(y), contiguous(weight), contiguous_bias(bias)
    result = np.empty(shape, np.float32)
    for run in runs:
        run(image, weight, bias, result)
    return in_order_of(y, result)


@lru_cache(maxsize=512)
def transposed_plan(y: Shape, weight: Shape, window: Any, size: Shape) -> tuple[list[Any], Shape]:
    """One correlation for each place between the strides."""
    axes = axes_of(window, y[2:], weight[2:], size)
    height, width = sizes(weight[2:])
    groups, channels, filters = window.groups, weight[0] // window.groups, weight[1]
    taps = height * width
    layout = Weights(taps, filters * taps, channels * filters * taps, width)
    downs, acrosses = (transposed_axes(*axis) for axis in axes)
    runs = [correlation(y[0], groups, channels, filters, down, across, layout) for down in downs for across in acrosses]
    return runs, (y[0], groups * filters, *size)


@maker
def convolution_weight(y: Any, x: Any, *, size: Shape, window: Any) -> Any:
    if not suits(y, x):
        return None
    run, shape = weight_plan(y.shape, x.shape, window, tuple(size))
    return run(contiguous(x), contiguous(y), None, np.empty(shape, np.float32))


@lru_cache(maxsize=512)
def weight_plan(y: Shape, x: Shape, window: Any, size: Shape) -> tuple[Any, Shape]:
    down, across = (forward_axis(*axis) for axis in axes_of(window, x[2:], size, y[2:]))
    groups, channels, filters = window.groups, x[1] // window.groups, y[1] // window.groups
    way = winograd_weight if applies(channels, filters, down, across) else weight_gradient
    return way(x[0], groups, channels, filters, down, across), (y[1], channels, *size)
