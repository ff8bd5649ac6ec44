"""Interpolation, grid sampling and folding on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided as numpy_as_strided

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_conv import in_single_precision
from whygrad.backends.numpy_index import add_at
from whygrad.backends.numpy_pool import along, as_slice, elements_along, everything
from whygrad.base.index_width import intp
from whygrad.ops.conv import Window
from whygrad.ops.resample import Interpolated, Sampling, orders_of

Shape = tuple[int, ...]

# CHUNK: elements gathered at a time in grid sampling, so that they stay in the cache.
CHUNK = 1 << 16


class WeightedTap(NamedTuple):
    """One term of the sum for each result: the results that have this term, its elements, and their weights (None: 1)."""

    results: Any
    elements: Any
    weights: np.ndarray | None
    full: bool


def scale_of(axis: Interpolated, number: Any) -> Any:
    """The distance of neighbouring results, in input elements."""
    if axis.align_corners:
        return number(axis.size - 1) / number(axis.out - 1) if axis.out > 1 else number(0)
    return number(1.0 / axis.scale) if axis.scale else number(axis.size) / number(axis.out)


def cubic(x: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0)).astype(x.dtype)


NEAREST = ("nearest", "nearest-by-scale", "nearest-exact")
SMOOTH = {
    "linear-aa": (1, lambda x: np.maximum(1 - np.abs(x), 0)),
    "cubic-aa": (2, lambda x: cubic(x, -0.5)),
    "lanczos-aa": (3, lambda x: np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0).astype(x.dtype)),
}


@lru_cache(maxsize=256)
def weights_of(axis: Interpolated, transposed: bool) -> tuple[np.ndarray, np.ndarray]:
    """The indices and weights of the elements that contribute to each result, one row per result; -1 pads the rows."""
    number: Any = np.float32 if axis.single else np.float64
    scale = scale_of(axis, number)
    outputs = np.arange(axis.out).astype(number)
    last = axis.size - 1
    if axis.mode in NEAREST:
        shift = number(0.5 if axis.mode == "nearest-exact" else 0)
        elements = np.minimum(np.floor((outputs + shift) * scale).astype(np.int64), last)
        exactly = axis.mode == "nearest" or (transposed and axis.mode == "nearest-by-scale")
        if exactly and axis.out in (axis.size, 2 * axis.size):
            # For these sizes torch ignores the given scale; in one and three dims only in the backward.
            elements = np.arange(axis.out) // (axis.out // axis.size)
        return elements[:, None], np.ones((axis.out, 1), number)
    if axis.mode == "cubic-same" and transposed:
        return np.arange(axis.out)[:, None], np.ones((axis.out, 1), number)
    if axis.mode in SMOOTH:
        return smooth_weights(axis, scale, outputs)
    position = scale * outputs if axis.align_corners else scale * (outputs + number(0.5)) - number(0.5)
    if axis.mode == "linear":
        position = outputs if axis.out == axis.size else np.maximum(position, 0)
        first = np.minimum(np.floor(position).astype(np.int64), last)
        part = np.clip(position - first, 0, 1).astype(number)
        return np.stack([first, np.minimum(first + 1, last)], 1), np.stack([1 - part, part], 1)
    first = np.minimum(np.floor(position).astype(np.int64), last)
    part = np.clip(position - first, 0, 1).astype(number)
    elements = (first[:, None] + np.arange(-1, 3)).clip(0, last)
    return elements, cubic(part[:, None] - np.arange(-1, 3).astype(number), -0.75)


def smooth_weights(axis: Interpolated, scale: Any, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the antialiasing filters, which are widened by the scale if the image shrinks."""
    radius, kernel = SMOOTH[axis.mode]
    wide = max(scale, 1)
    center = scale * (outputs + outputs.dtype.type(0.5))
    first = np.maximum((center - radius * wide + 0.5).astype(np.int64), 0)
    stop = np.minimum((center + radius * wide + 0.5).astype(np.int64), axis.size)
    elements = first[:, None] + np.arange(int((stop - first).max(initial=1)))
    inside = elements < stop[:, None]
    weights = np.where(inside, kernel((elements - center[:, None] + 0.5) / wide), 0)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(inside, elements, -1), (weights / np.where(total == 0, 1, total)).astype(outputs.dtype)


@lru_cache(maxsize=256)
def weighted_taps(axis: Interpolated, transposed: bool) -> tuple[WeightedTap, ...]:
    elements, weights = weights_of(axis, transposed)
    if transposed:
        elements, weights = transpose_weights(elements, weights, axis.size)
    taps = []
    for column, column_weights in zip(elements.T, weights.T, strict=True):
        results = np.flatnonzero(column >= 0)
        full = len(results) == len(column)
        own = column_weights[results]
        taps.append(WeightedTap(everything if full else as_slice(results), as_slice(column[results]),
                                None if (own == 1).all() else own, full))
    return tuple(taps)


def transpose_weights(elements: np.ndarray, weights: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The transpose, in the same form: the results to which each element contributes, and the weights."""
    results, columns = np.nonzero(elements >= 0)
    targets, values = elements[results, columns], weights[results, columns]
    order = np.argsort(targets, kind="stable")
    targets, results, values = targets[order], results[order], values[order]
    counts = np.bincount(intp(targets), minlength=size)
    column = np.arange(len(targets)) - np.repeat(np.cumsum(counts) - counts, intp(counts))
    width = int(counts.max(initial=1))
    found, own = np.full((size, width), -1), np.zeros((size, width), weights.dtype)
    found[targets, column], own[targets, column] = results, values
    return found, own


def weighted_sums(x: Any, i: int, axis: Interpolated, transposed: bool) -> Any:
    """Interpolation along axis number `i`, or its transpose."""
    shape = (*x.shape[:i], axis.size if transposed else axis.out, *x.shape[i + 1:])
    trailing = (1,) * (x.ndim - 1 - i)
    total = None
    for tap in weighted_taps(axis, transposed):
        values = elements_along(x, i, tap.elements)
        if tap.weights is not None:
            values = values * tap.weights.reshape(-1, *trailing).astype(x.dtype, copy=False)
        if total is None and tap.full:
            total = values.copy() if np.may_share_memory(values, x) else values
            continue
        if total is None:
            total = np.zeros(shape, x.dtype)
        if tap.full:
            total += values
        else:
            total[along(i, x.ndim, tap.results)] += values
    return total


def in_faster_order(axes: tuple[Interpolated, ...], ndim: int, transposed: bool) -> list[tuple[int, Interpolated]]:
    """The axes in the faster order: the last one, which is the most expensive, while the image is smaller."""
    numbered = list(enumerate(axes, ndim - len(axes)))
    grows = math.prod([axis.out for axis in axes]) > math.prod([axis.size for axis in axes])
    return numbered[::-1] if grows is not transposed else numbered


# torch computes images of bytes in integers: weights are rounded to 15 bits, and each axis gives bytes again.
WEIGHT_BITS = 15


@lru_cache(maxsize=256)
def integer_taps(axis: Interpolated) -> tuple[int, tuple[WeightedTap, ...]]:
    """The weights as integers, and by how many bits their sums are to be shifted right."""
    elements, weights = weights_of(axis, False)
    weights = weights.copy()
    for column in range(weights.shape[1] - 1, 0, -1):  # beyond the border an element is read several times: its weights are added
        repeated = elements[:, column] == elements[:, column - 1]
        weights[repeated, column - 1] += weights[repeated, column]
        weights[repeated, column] = 0
    greatest = max(weights.max(), 0)
    shift = next((n for n in range(22) if int(0.5 + greatest * (1 << (n + 1))) >= 1 << WEIGHT_BITS), 22)
    whole = np.trunc(weights * (1 << shift) + np.copysign(0.5, weights)).astype(np.int32)
    return shift, tuple([WeightedTap(everything, as_slice(np.maximum(column, 0)), own, full=True)
                         for column, own in zip(elements.T, whole.T, strict=True) if own.any()])


def upsample_bytes(x: np.ndarray, axes: tuple[Interpolated, ...]) -> np.ndarray:
    """Smooth interpolation of uint8 images, the last axis first."""
    for i, axis in reversed(list(enumerate(axes, x.ndim - len(axes)))):
        if axis.size == axis.out:
            continue
        shift, taps = integer_taps(axis)
        total = np.full((*x.shape[:i], axis.out, *x.shape[i + 1:]), 1 << (shift - 1), np.int32)
        for tap in taps:
            total += elements_along(x, i, tap.elements) * tap.weights.reshape(-1, *(1,) * (x.ndim - 1 - i))  # type: ignore[union-attr]
        x = np.clip(total >> shift, 0, 255).astype(np.uint8)
    return x


@in_single_precision
def upsample(x: Any, *, axes: tuple[Interpolated, ...], kind: str) -> Any:
    if x.dtype == np.uint8 and axes[0].mode not in NEAREST:
        return upsample_bytes(x, axes)
    for i, axis in in_faster_order(axes, x.ndim, False):
        x = weighted_sums(x, i, axis, False)
    return x


@in_single_precision
def upsample_backward(x: Any, *, axes: tuple[Interpolated, ...], kind: str) -> Any:
    for i, axis in in_faster_order(axes, x.ndim, True):
        x = weighted_sums(x, i, axis, True)
    return x


class AxisTaps(NamedTuple):
    """For each grid point and along one axis: the pixels it reads, whether they lie in the image, and by order of the derivative
    their weights. The first axis of the arrays counts the pixels that one point reads.
    """

    pixel: np.ndarray
    inside: np.ndarray
    weights: dict[int, Any]


def reflect(x: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions reflected into [low, high], and the derivative (1 or -1) of the reflection."""
    if low == high:
        return np.zeros_like(x), np.zeros_like(x)
    span = x.dtype.type(high - low)
    below = np.where(x < low, -1, 1).astype(x.dtype)
    distance = np.abs(x - x.dtype.type(low))
    even = np.floor(distance / span) % 2 == 0
    extra = np.fmod(distance, span)
    return np.where(even, extra + low, span - extra + low).astype(x.dtype), np.where(even, below, -below)


def padded_position(x: np.ndarray, size: int, sampling: Sampling, dims: int) -> tuple[np.ndarray, Any]:
    """Positions after padding (clamped or reflected into the image), and the derivative by the position.

    NaN becomes the first pixel of an image and the last one of a volume: torch clamps them by different instructions.
    """
    slope: Any = 1
    if sampling.padding_mode == "zeros":
        return x, slope
    if sampling.padding_mode == "reflection":
        x, slope = reflect(x, 0, size - 1) if sampling.align_corners else reflect(x, -0.5, size - 0.5)
    inside = np.where(np.isnan(x), 0 if dims == 2 else size - 1, np.clip(x, 0, size - 1))
    return inside, slope * ((x > 0) & (x < size - 1))


# For a point at distance `part` from pixel 0, towards pixel 1, the weight of each pixel is a polynomial in `part`.
# Pixel -> coefficients, highest power first:
CUBIC = {-1: (-0.75, 1.5, -0.75, 0), 0: (1.25, -2.25, 0, 1), 1: (-1.25, 1.5, 0.75, 0), 2: (0.75, -0.75, 0, 0)}
LINEAR = {0: (-1, 1), 1: (1, 0)}


@lru_cache(maxsize=32)
def coefficients_of(mode: str, order: int, dtype: Any) -> tuple[Any, Any]:
    """The pixels next to a point, and the derivatives of some order of their polynomials, indexed [power, pixel]."""
    table = CUBIC if mode == "bicubic" else LINEAR
    derived = [tuple(np.polyder(c, order)) if 0 < order < len(c) else (0,) if order else c for c in table.values()]
    return np.array(list(table), dtype), np.array(derived, dtype).T


def axis_taps(grid: np.ndarray, size: int, orders: set[int], sampling: Sampling, dims: int) -> AxisTaps:
    """`grid` holds coordinates from -1 to 1; `orders` are those of derivatives by the coordinate."""
    scale = grid.dtype.type((size - 1) / 2 if sampling.align_corners else size / 2)
    if sampling.align_corners:
        position = (grid + 1) * scale
    else:  # rounded once, as in torch's fused multiply-add: the derivative is discontinuous at integer positions
        wide = np.float64 if grid.dtype == np.float32 else np.longdouble
        position = ((grid + 1).astype(wide) * scale - wide(0.5)).astype(grid.dtype)
    slope: Any = 1
    if sampling.mode != "bicubic":
        position, slope = padded_position(position, size, sampling, dims)
    if sampling.mode == "nearest":
        pixel = np.rint(position)[None]
        weights = {order: np.full(pixel.shape, order == 0, grid.dtype) for order in orders}
    else:
        first = np.floor(position)
        part = position - first
        by_pixel = (-1,) + (1,) * grid.ndim
        weights = {}
        for order in orders:
            offsets, coefficients = coefficients_of(sampling.mode, order, grid.dtype)
            weight: Any = np.tile(coefficients[0].reshape(by_pixel), grid.shape)
            for coefficient in coefficients[1:]:
                weight = weight * part + coefficient.reshape(by_pixel)
            # Chain rule: each derivative multiplies by the derivative of the position.
            weights[order] = weight * (slope * scale) ** order if order else weight
        pixel = first + offsets.reshape(by_pixel)
        if sampling.mode == "bicubic":
            pixel, _ = padded_position(pixel, size, sampling, dims)
    inside = (pixel >= 0) & (pixel <= size - 1)
    return AxisTaps(np.where(inside, pixel, 0).astype(np.int64), inside, weights)


def grid_taps(grid: np.ndarray, image: Shape, orders: tuple[Shape, ...], sampling: Sampling) -> tuple[Any, Any, Any]:
    """Of the pixels next to the points: indices in the flattened image, and whether they lie in it, of shape
    (pixels, images, points); and weights of shape (orders, pixels, images, points)."""
    dims, points = len(image), grid.shape[:-1]
    axes = [axis_taps(grid[..., dims - 1 - i], image[i], {order[i] for order in orders}, sampling, dims) for i in range(dims)]

    def combined(parts: list[Any], combine: Callable[[Any, Any, int], Any]) -> Any:
        result = parts[0]
        for i in range(1, dims):
            result = combine(result[:, None], parts[i], image[i]).reshape(-1, *points)
        return result

    index = combined([taps.pixel for taps in axes], lambda a, b, size: a * size + b)
    inside = combined([taps.inside for taps in axes], lambda a, b, size: a & b)
    weights = np.empty((len(orders), *inside.shape), grid.dtype)
    for target, order in zip(weights, orders, strict=True):
        target[...] = combined([taps.weights[n] for taps, n in zip(axes, order, strict=True)], lambda a, b, size: a * b)
    if dims == 2:
        weights[:, ~inside] *= 0  # a NaN stays: in an image torch multiplies it by a pixel of 0, in a volume it adds nothing
    else:
        weights[:, ~inside] = 0
    shape = len(index), len(grid), math.prod(points[1:])
    return index.reshape(shape), inside.reshape(shape), weights.reshape(-1, *shape)


@in_single_precision
def grid_sampler(x: Any, grid: Any, *, order: Any, sampling: Sampling) -> Any:
    orders = orders_of(order)
    count, channels, *image = x.shape
    size, points = math.prod(image), math.prod(grid.shape[1:-1])
    if not points:
        return np.empty((count, channels, *([len(orders)] if orders is order else []), *grid.shape[1:-1]), x.dtype)
    # With the channels last, one index reads all of them.
    pixels = np.ascontiguousarray(x.reshape(count, channels, size).swapaxes(1, 2)).reshape(count * size, channels)
    first = (np.arange(count) * size)[:, None]
    # Pixels outside the image contribute 0, even if the pixel read instead of them is not finite.
    spoilt = not np.isfinite(pixels).all()
    out = np.empty((count, channels, len(orders), points), x.dtype)
    step = max(1, CHUNK // max(1, channels * points * len(orders)))
    for start in range(0, count, step):
        some = slice(start, start + step)
        total = np.zeros((len(orders), len(out[some]), points, channels), x.dtype)
        part = np.empty_like(total[0])
        indices, insides, weights = grid_taps(grid[some], tuple(image), orders, sampling)
        for i, (index, inside) in enumerate(zip(indices, insides, strict=True)):
            np.take(pixels, first[some] + index, axis=0, out=part, mode="clip")
            if spoilt:
                part[~inside] = 0
            total += part * weights[:, i, ..., None]
        out[some] = total.transpose(1, 3, 0, 2)
    return out.reshape(count, channels, *([len(orders)] if orders is order else []), *grid.shape[1:-1])


@in_single_precision
def grid_sampler_backward(y: Any, grid: Any, *, shape: Shape, order: Any, sampling: Sampling) -> Any:
    orders = orders_of(order)
    count, channels, *image = shape
    points = math.prod(grid.shape[1:-1])
    first = (np.arange(count * channels) * math.prod(image)).reshape(count, channels, 1)
    result = np.zeros(math.prod(shape), y.dtype)
    if not points:
        return result.reshape(shape)
    y = y.reshape(count, channels, len(orders), points)
    step = max(1, CHUNK // max(1, channels * points * len(orders)))
    for start in range(0, count, step):
        some = slice(start, start + step)
        indices, insides, weights = grid_taps(grid[some], tuple(image), orders, sampling)
        weights[:, ~insides] = 0
        for i, index in enumerate(indices):
            shares = (y[some] * weights[:, i].swapaxes(0, 1)[:, None]).sum(axis=2)
            add_at(result, (first[some] + index[:, None]).reshape(-1), shares.reshape(-1))
    return result.reshape(shape)


def _from_minus_one(n: int, dtype: Any) -> np.ndarray:
    """n points from -1 to 1, rounded as in torch: the sampling derivative is discontinuous exactly at these points."""
    if n < 2:
        return np.zeros(n, dtype)
    wide = np.float64 if dtype == np.float32 else np.longdouble
    step = wide(dtype.type(2) / dtype.type(n - 1))
    index = np.arange(n)
    return np.where(index < n // 2, -1 + step * index, 1 - step * (n - 1 - index)).astype(dtype)


@lru_cache(maxsize=64)
def base_grid(size: Shape, align_corners: bool, dtype: Any) -> np.ndarray:
    """(pixels, dims + 1): the coordinates of all pixels, last axis first, and a column of ones."""
    axes = []
    for n in size:
        line = _from_minus_one(n, dtype)
        axes.append(line if align_corners else line * dtype.type(n - 1) / dtype.type(n))
    coordinates = [line.ravel() for line in np.meshgrid(*axes, indexing="ij")]
    return np.stack([*coordinates[::-1], np.ones_like(coordinates[0])], axis=1)


@in_single_precision
def affine_grid(theta: Any, *, size: Shape, align_corners: bool) -> Any:
    base = base_grid(size, align_corners, theta.dtype)
    return np.matmul(base, theta.swapaxes(1, 2)).reshape(len(theta), *size, theta.shape[1])


@in_single_precision
def affine_grid_backward(x: Any, *, size: Shape, align_corners: bool) -> Any:
    base = base_grid(size, align_corners, x.dtype)
    return np.matmul(x.reshape(len(x), len(base), x.shape[-1]).swapaxes(1, 2), base)


def _windows(padded: Any, kernel: Shape, grid: Shape, window: Window) -> Any:
    """A view (..., kernel, grid) of the pixels under each window."""
    steps = padded.strides[-2:]
    strides = (*padded.strides[:-2], *[d * n for d, n in zip(window.dilation, steps, strict=True)],
               *[s * n for s, n in zip(window.stride, steps, strict=True)])
    return numpy_as_strided(padded, (*padded.shape[:-2], *kernel, *grid), strides)


def folded_grid(size: Shape, kernel: Shape, window: Window) -> Shape:
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
                  zip(size, kernel, window.stride, window.padding, window.dilation, strict=True)])


def im2col(x: Any, *, kernel: Shape, window: Window) -> Any:
    *outer, channels, height, width = x.shape
    grid = folded_grid((height, width), kernel, window)
    top, left = window.padding
    if top or left:
        padded = np.zeros((*outer, channels, height + 2 * top, width + 2 * left), x.dtype)
        padded[..., top:top + height, left:left + width] = x
    else:
        padded = x
    return _windows(padded, kernel, grid, window).copy().reshape(*outer, channels * math.prod(kernel), math.prod(grid))


@quiet
def col2im(x: Any, *, size: Shape, kernel: Shape, window: Window) -> Any:
    *outer, rows, _ = x.shape
    grid = folded_grid(size, kernel, window)
    channels = rows // math.prod(kernel)
    taps = x.reshape(*outer, channels, *kernel, *grid)
    top, left = window.padding
    padded: Any = np.zeros((*outer, channels, size[0] + 2 * top, size[1] + 2 * left), x.dtype)
    for tap in np.ndindex(*kernel):
        under = [slice(i * d, i * d + (n - 1) * s + 1, s)
                 for i, d, n, s in zip(tap, window.dilation, grid, window.stride, strict=True)]
        padded[(..., *under)] += taps[(..., *tap, everything, everything)]
    return np.ascontiguousarray(padded[..., top:top + size[0], left:left + size[1]])
