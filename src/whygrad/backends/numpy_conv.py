"""Convolution on NumPy arrays by im2col: the pixels under each kernel element form a matrix, followed by a matrix product.

Images are processed in blocks that reuse the same buffers, so that these stay in the cache. If the stride is 1, rows of the
result are computed as wide as the padded image: that multiplies a little more, but the matrix then consists of long
contiguous runs, which copy many times faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided as numpy_as_strided

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.half_precision import in_float32
from whygrad.ops.conv import Window

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]

# BLOCK: elements in the matrix of one block. COLUMNS: its minimum number of columns, as products of narrow matrices are slow.
BLOCK = 1 << 19
COLUMNS = 256
# Largest ratio by which rows are widened to get long runs.
MAX_WIDENING = 1.2
# Pixels per image from which a 1x1 convolution is faster image by image, without copying.
MIN_PIXELS = 32


def in_single_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute half precision in float32, as torch does, without floating-point warnings."""
    return quiet(in_float32(function))


class Geometry(NamedTuple):
    """The arrangement of the pixels under the kernel, for one shape of image."""

    crop: tuple[Any, ...] | None
    size: Shape  # of the padded image
    inside: tuple[slice, ...]  # the image within the padded one
    grid: Shape  # of the result; the last axis may be widened to that of the padded image
    in_place: bool  # whether no padded copy is needed
    rows: int
    block: int


@lru_cache(maxsize=1024)
def geometry(shape: Shape, kernel: Shape, out: Shape, stride: Shape, pads: Pads) -> Geometry:
    count, channels, *image = shape
    crop = None
    if any(pad < 0 for pair in pads for pad in pair):
        crop = (..., *[slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(image, pads, strict=True)])
        image = [n - max(-a, 0) - max(-b, 0) for n, (a, b) in zip(image, pads, strict=True)]
        pads = tuple([(max(a, 0), max(b, 0)) for a, b in pads])
    size = tuple([n + a + b for n, (a, b) in zip(image, pads, strict=True)])
    inside = tuple([slice(a, a + n) for n, (a, _) in zip(image, pads, strict=True)])
    wide = len(out) > 1 and stride[-2:] == (1, 1) and out[-1] < size[-1] <= MAX_WIDENING * out[-1]
    grid = (*out[:-1], size[-1]) if wide else out
    rows, pixels = channels * math.prod(kernel), math.prod(grid)
    block = max(1, min(count, max(BLOCK // max(rows * pixels, 1), -(-COLUMNS // max(pixels, 1)))))
    return Geometry(crop, size, inside, grid, not wide and size == tuple(image), rows, block)


def patches(x: Any, kernel: Shape, stride: Shape, dilation: Shape, plan: Geometry) -> Iterator[tuple[int, int, Any]]:
    """Matrices (channels * kernel, images * grid) of the pixels under the kernel, for one block of images at a time."""
    if plan.crop is not None:
        x = x[plan.crop]
    count, channels = x.shape[:2]
    block = plan.block
    if plan.in_place:
        padded = memory = x
    else:
        # The last row of a widened result reads past the end of the last image.
        past = (kernel[-1] - 1) * dilation[-1]
        pixels = block * channels * math.prod(plan.size)
        memory = np.zeros(pixels + past, x.dtype)
        padded = memory[:pixels].reshape(block, channels, *plan.size)
    steps = padded.strides[2:]
    strides = (padded.strides[1], *[d * n for d, n in zip(dilation, steps, strict=True)], padded.strides[0],
               *[s * n for s, n in zip(stride, steps, strict=True)])
    matrix = np.empty((plan.rows, block * math.prod(plan.grid)), x.dtype)
    for first in range(0, count, block):
        last = min(first + block, count)
        images = last - first
        shape = (channels, *kernel, images, *plan.grid)
        if images < block:
            matrix = matrix.reshape(-1)[:math.prod(shape)].reshape(plan.rows, -1)
        if plan.in_place:
            memory = x[first:last]
        else:
            padded[(slice(images), slice(None), *plan.inside)] = x[first:last]
        matrix.reshape(shape)[...] = view_of(memory, shape, strides)
        yield first, last, matrix


def view_of(memory: Any, shape: Shape, strides: Shape) -> Any:
    """`as_strided` without the overhead of NumPy's Python wrapper."""
    if memory.flags.c_contiguous and memory.size and memory.dtype.kind != "V":
        return np.ndarray(shape, memory.dtype, memory, 0, strides)
    return numpy_as_strided(memory, shape, strides)


def output_size(size: Shape, kernel: Shape, window: Window) -> Shape:
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
                  zip(size, kernel, window.stride, window.padding, window.dilation, strict=True)])


def product(a: Any, b: Any, groups: int) -> Any:
    """`a @ b`, separately for each of the `groups` blocks of rows."""
    if groups == 1:
        return np.dot(a, b)
    return np.matmul(a.reshape(groups, -1, a.shape[1]), b.reshape(groups, -1, b.shape[1])).reshape(len(a), b.shape[1])


def has_one_channel_last(x: Any) -> bool:
    """Whether torch takes `x`, of one channel, for channels_last: the stride of that axis decides, e.g. after `permute`."""
    return x.shape[1] == 1 and x.ndim < 5 and x.strides[1] == x.itemsize and x.flags.c_contiguous and x.size > len(x)


def empty(shape: Shape, like: Any) -> Any:
    """Memory for a result, in channels_last order if the input is."""
    if has_one_channel_last(like) or (like.ndim > 3 and like.shape[1] > 1 and like.strides[1] == like.itemsize
                                      and not like.flags.c_contiguous):
        return np.moveaxis(np.empty((shape[0], *shape[2:], shape[1]), like.dtype), -1, 1)
    return np.empty(shape, like.dtype)


def in_order_of(x: Any, out: Any) -> Any:
    """`out`, copied to channels_last order if `x` has a single channel in that order."""
    if not has_one_channel_last(x):
        return out
    moved = empty(out.shape, x)
    moved[...] = out
    return moved


def store(out: Any, values: Any, bias: Any) -> None:
    if bias is None:
        out[...] = values
    else:
        np.add(values, bias.reshape(-1, *(1,) * (out.ndim - 2)), out=out)


def correlate(x: Any, weight: Any, bias: Any, out_size: Shape, stride: Shape, pads: Pads, dilation: Shape,
              groups: int) -> Any:
    kernel = weight.shape[2:]
    channels = len(weight)
    shape = (len(x), channels, *out_size)
    weight = np.ascontiguousarray(weight).reshape(channels, math.prod(weight.shape[1:]))
    if (math.prod(kernel) == 1 and out_size == x.shape[2:] and math.prod(out_size) >= MIN_PIXELS and x.flags.c_contiguous
            and not any(map(any, pads))):
        images = x.reshape(len(x), groups, x.shape[1] // groups, math.prod(out_size))
        out = np.matmul(weight.reshape(groups, -1, weight.shape[1]), images).reshape(shape)
        if bias is not None:
            out += bias.reshape(-1, *(1,) * len(out_size))
        return in_order_of(x, out)
    out = empty(shape, x)
    plan = geometry(x.shape, kernel, out_size, stride, pads)
    for first, last, matrix in patches(x, kernel, stride, dilation, plan):
        found = product(weight, matrix, groups).reshape(channels, last - first, *plan.grid)
        store(out[first:last], found[..., :out_size[-1]].swapaxes(0, 1), bias)
    return out


@in_single_precision
def convolution(x: Any, weight: Any, bias: Any, *, window: Window, size: Shape | None = None) -> Any:
    if size is None:
        size = output_size(x.shape[2:], weight.shape[2:], window)
    return correlate(x, weight, bias, size, window.stride, tuple([(p, p) for p in window.padding]), window.dilation,
                     window.groups)


@in_single_precision
def convolution_transpose(y: Any, weight: Any, bias: Any, *, size: Shape, window: Window) -> Any:
    stride, padding, dilation, groups = window
    kernel = weight.shape[2:]
    channels = weight.shape[1] * groups
    if not channels:
        return empty((len(y), 0, *size), y)
    if max(stride) == 1:
        # A correlation with the flipped kernel.
        reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        pads = tuple([(r - p, n - m + p) for n, m, r, p in zip(size, y.shape[2:], reach, padding, strict=True)])
        turned = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
        turned = turned[(..., *[slice(None, None, -1)] * len(kernel))].reshape(channels, -1, *kernel)
        return correlate(y, turned, bias, size, stride, pads, dilation, groups)
    return spread(y, weight, bias, size, window, channels)


def spread(y: Any, weight: Any, bias: Any, size: Shape, window: Window, channels: int) -> Any:
    """Each pixel of `y` adds itself times the kernel to the result."""
    stride, padding, dilation, groups = window
    kernel, grid = weight.shape[2:], y.shape[2:]
    rows = channels * math.prod(kernel)
    block = max(1, min(len(y), BLOCK // max(rows * math.prod(grid), 1)))
    turned = weight.reshape(groups, len(weight) // groups, -1).swapaxes(1, 2).reshape(rows, -1)
    covered = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(grid, stride, dilation, kernel, strict=True)]
    padded: Any = np.empty((block, channels, *[max(n, p + m) for n, p, m in zip(covered, padding, size, strict=True)]), y.dtype)
    inside = (..., *[slice(p, p + n) for p, n in zip(padding, size, strict=True)])
    out = empty((len(y), channels, *size), y)
    for first in range(0, len(y), block):
        part = y[first:first + block]
        matrix = part.swapaxes(0, 1).reshape(y.shape[1], len(part) * math.prod(grid))
        taps = product(turned, matrix, groups).reshape(channels, *kernel, len(part), *grid)
        padded.fill(0)
        for tap in np.ndindex(*kernel):
            under = [slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in zip(tap, dilation, grid, stride, strict=True)]
            padded[(slice(len(part)), slice(None), *under)] += taps[(slice(None), *tap)].swapaxes(0, 1)
        store(out[first:first + block], padded[:len(part)][inside], bias)
    return out


@in_single_precision
def convolution_weight(y: Any, x: Any, *, size: Shape, window: Window) -> Any:
    out_channels, grid = y.shape[1], y.shape[2:]
    groups = window.groups
    # Cut off the pixels of x that the kernel never reaches, so that the windows fit exactly.
    pads = tuple([(p, (m - 1) * s + d * (k - 1) + 1 - n - p) for n, m, k, s, p, d in
                  zip(x.shape[2:], grid, size, window.stride, window.padding, window.dilation, strict=True)])
    plan = geometry(x.shape, size, grid, window.stride, pads)
    wide = plan.grid != grid
    total = np.zeros((groups, out_channels // groups, plan.rows // groups), y.dtype)
    for first, last, matrix in patches(x, size, window.stride, window.dilation, plan):
        images = last - first
        if wide:
            errors = np.zeros((out_channels, images, *plan.grid), y.dtype)
            errors[..., :grid[-1]] = y[first:last].swapaxes(0, 1)
        else:
            errors = y[first:last].swapaxes(0, 1)
        errors = errors.reshape(groups, out_channels // groups, matrix.shape[1])
        total += np.matmul(errors, matrix.reshape(groups, -1, matrix.shape[1]).swapaxes(1, 2))
    return total.reshape(out_channels, x.shape[1] // groups, *size)
