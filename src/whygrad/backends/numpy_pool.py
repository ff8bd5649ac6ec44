"""Pooling on NumPy arrays: a loop over the taps (the kernel elements), each step on all windows at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.memory_order import with_channels_as_in
from whygrad.backends.numpy_conv import empty, in_single_precision
from whygrad.backends.numpy_index import add_at
from whygrad.base.index_width import int64
from whygrad.ops.pool import Adaptive, Kind, Sliding

Shape = tuple[int, ...]
Axis = Sliding | Adaptive
Axes = tuple[Axis, ...]

everything = slice(None)


class Tap(NamedTuple):
    """One kernel element along an axis: the windows in which it lies within the image, and the image's elements there."""

    windows: Any
    elements: Any
    full: bool


@lru_cache(maxsize=512)
def table_of(axis: Axis) -> np.ndarray:
    """The indices of each window's elements, one row per window; -1 where the window exceeds the image."""
    windows = np.arange(axis.out)
    if isinstance(axis, Sliding):
        table = (windows * axis.stride - axis.padding)[:, None] + np.arange(axis.kernel) * axis.dilation
        table[(table < 0) | (table >= axis.size)] = -1
        return table
    first, last = windows * axis.size // axis.out, -(-(windows + 1) * axis.size // axis.out)
    table = first[:, None] + np.arange(max(last - first, default=0))
    table[table >= last[:, None]] = -1
    return table


@lru_cache(maxsize=512)
def taps_of(axis: Axis) -> tuple[Tap, ...]:
    taps = []
    for column in table_of(axis).T:
        windows = np.flatnonzero(column >= 0)
        full = len(windows) == len(column)
        taps.append(Tap(everything if full else as_slice(windows), as_slice(column[windows]), full))
    return tuple(taps)


def as_slice(indices: np.ndarray) -> Any:
    """The indices as a slice, which needs no copy, if they are evenly spaced."""
    if len(indices) < 2:
        return slice(int(indices[0]), int(indices[0]) + 1) if len(indices) else slice(0)
    step = int(indices[1] - indices[0])
    if step > 0 and (np.diff(indices) == step).all():
        return slice(int(indices[0]), int(indices[-1]) + 1, step)
    return indices


def along(axis: int, ndim: int, indices: Any) -> tuple[Any, ...]:
    return (..., indices, *(everything,) * (ndim - 1 - axis))


def elements_along(x: Any, axis: int, elements: Any) -> Any:
    return x.take(elements, axis) if isinstance(elements, np.ndarray) else x[along(axis, x.ndim, elements)]


def lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@lru_cache(maxsize=512)
def kernel_taps(axes: Axes) -> tuple[tuple[int, bool, tuple[Any, ...], tuple[Any, ...], bool], ...]:
    """For each tap: (number from 1, whether all windows have it, the windows that do, its elements, whether these are slices)."""
    found = []
    for number, taps in enumerate(product(*map(taps_of, axes)), 1):
        elements = tuple([tap.elements for tap in taps])
        plain = not any(isinstance(part, np.ndarray) for part in elements)
        found.append((number, all(tap.full for tap in taps), (..., *[tap.windows for tap in taps]), elements, plain))
    return tuple(found)


def window_taps(x: Any, axes: Axes) -> Iterator[tuple[int, bool, tuple[Any, ...], Any]]:
    """`kernel_taps` with the values of x instead of the elements."""
    for number, full, windows, elements, plain in kernel_taps(axes):
        values: Any = x
        if plain:
            values = x[(..., *elements)]
        else:
            for i, part in enumerate(elements, x.ndim - len(axes)):
                values = elements_along(values, i, part)
        yield number, full, windows, values


def max_pool(x: Any, *, axes: Axes, kind: Kind) -> tuple[Any, Any]:
    shape = (*x.shape[:-len(axes)], *[axis.out for axis in axes])
    count = math.prod([table_of(axis).shape[1] for axis in axes])
    best = chosen = None
    for number, full, windows, values in window_taps(x, axes):
        if best is None:
            if full:
                best, chosen = values.copy("K"), np.full(shape, number, np.min_scalar_type(count))
                continue
            best, chosen = empty(shape, x), np.zeros(shape, np.min_scalar_type(count))
            best.fill(lowest(x.dtype))
        if full:
            update(best, chosen, values, number)
        else:
            update_some(best, chosen, values, number, windows)
    if best is None or chosen is None:
        return empty(shape, x), np.empty(shape, np.int64)
    if x.dtype.kind in "fV" and np.isnan(best).any():
        choose_nan(chosen, x, axes)
    return best, flat_indices(chosen, axes)


def update(best: Any, chosen: Any, values: Any, number: int) -> None:
    larger = values > best
    np.maximum(best, values, out=best)
    # Taps come in increasing order, so the larger number is the current one.
    np.maximum(chosen, np.multiply(larger, number, dtype=chosen.dtype), out=chosen)


def update_some(best: Any, chosen: Any, values: Any, number: int, windows: tuple[Any, ...]) -> None:
    """`update` for those windows that have this tap, given by slices or by arrays, which make copies."""
    if not any(isinstance(part, np.ndarray) for part in windows):
        update(best[windows], chosen[windows], values, number)
        return
    index = open_index(windows, best.shape)
    some, some_chosen = best[index], chosen[index]
    update(some, some_chosen, values, number)
    best[index], chosen[index] = some, some_chosen


def open_index(windows: tuple[Any, ...], shape: Shape) -> tuple[Any, ...]:
    """(..., slices or arrays) as arrays that broadcast (as np.ix_): NumPy would pair the arrays up."""
    parts = windows[1:]
    return (..., *np.ix_(*[np.arange(n)[part] for n, part in zip(shape[-len(parts):], parts, strict=True)]))


def choose_nan(chosen: Any, x: Any, axes: Axes) -> None:
    """Choose the last NaN in windows that have one, as torch does."""
    for number, _, windows, values in window_taps(x, axes):
        index = open_index(windows, chosen.shape)
        chosen[index] = np.where(np.isnan(values), number, chosen[index])


@lru_cache(maxsize=512)
def flat_steps(axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    """In the flattened image: the start of each window, and the offset of each tap from it (from number 1 on)."""
    starts: Any = 0
    steps: Any = 0
    for i, axis in enumerate(axes):
        table = table_of(axis)
        width = math.prod([other.size for other in axes[i + 1:]])
        if isinstance(axis, Sliding):
            start, step = np.arange(axis.out) * axis.stride - axis.padding, axis.dilation
        else:
            start, step = table[:, 0], 1
        trailing = (1,) * (len(axes) - 1 - i)
        starts = starts + start.reshape(-1, *trailing) * width
        steps = steps + np.arange(table.shape[1]).reshape(-1, *trailing) * (step * width)
    return starts, np.concatenate(([0], steps.ravel()))


def flat_indices(chosen: Any, axes: Axes) -> Any:
    """The indices in the flattened image of the chosen taps."""
    if not chosen.all():
        # All values of the window are the lowest of the dtype: choose the first that is not padding.
        tables = [table_of(axis) for axis in axes]
        first = np.ix_(*[(table >= 0).argmax(axis=1) for table in tables])
        chosen = np.where(chosen == 0, np.ravel_multi_index(first, [table.shape[1] for table in tables]) + 1, chosen)
    starts, steps = flat_steps(axes)
    indices = int64(steps[chosen])
    indices += starts
    return indices


def max_pool_values(x: Any, *, axes: Axes) -> Any:
    for i, axis in enumerate(axes, x.ndim - len(axes)):
        shape = (*x.shape[:i], axis.out, *x.shape[i + 1:])
        best = None
        for tap in taps_of(axis):
            values = elements_along(x, i, tap.elements)
            if best is None:
                if tap.full:
                    best = values.copy("K")
                    continue
                best = empty(shape, x)
                best.fill(lowest(x.dtype))
            windows = along(i, x.ndim, tap.windows)
            best[windows] = np.maximum(best[windows], values)
        x = empty(shape, x) if best is None else best
    return x


def image_rows(x: Any, dims: int) -> Any:
    """Each channel of each image as one row."""
    return x.reshape(math.prod(x.shape[:-dims]), math.prod(x.shape[-dims:]))


def pool_scatter(x: Any, indices: Any, *, shape: Shape, kind: Kind) -> Any:
    dims = kind.dims
    pixels = math.prod(shape[-dims:])
    result = np.zeros(math.prod(shape), x.dtype)
    rows = image_rows(indices, dims) + np.arange(math.prod(shape[:-dims]))[:, None] * pixels
    return add_at(result, rows.ravel(), x.ravel()).reshape(shape)


def pool_gather(x: Any, indices: Any, *, kind: Kind) -> Any:
    dims = kind.dims
    return np.take_along_axis(image_rows(x, dims), image_rows(indices, dims), 1).reshape(indices.shape)


def max_unpool(x: Any, indices: Any, *, shape: Shape, kind: Kind) -> Any:
    dims = kind.dims
    result = np.zeros(shape, x.dtype)
    np.put_along_axis(image_rows(result, dims), image_rows(indices, dims), image_rows(x, dims), 1)
    return with_channels_as_in(result, x) if dims == 2 else result


def fractional_starts(samples: Any, size: int, out: int, kernel: int) -> Any:
    """The starts of the windows: constant fractional steps, shifted by a random number in [0, 1) for each channel."""
    windows = np.arange(out)
    if out <= 1:
        return np.full((*samples.shape, out), size - kernel)
    alpha = samples.dtype.type((size - kernel) / (out - 1))
    shift = samples[..., None]
    starts = ((windows + shift) * alpha).astype(np.int64) - (shift * alpha).astype(np.int64)
    starts[..., -1] = size - kernel
    return starts


@quiet
def fractional_max_pool(x: Any, samples: Any, *, kernel: Shape, size: Shape, kind: Kind) -> tuple[Any, Any]:
    dims = len(kernel)
    image = x.shape[-dims:]
    # In two dims torch's samples have the order (width, height).
    order = (1, 0) if dims == 2 else range(dims)
    starts = [fractional_starts(samples[..., order[i]], image[i], size[i], kernel[i]) for i in range(dims)]
    corners: Any = 0
    for i, start in enumerate(starts):
        width = math.prod(image[i + 1:])
        corners = corners + start.reshape(*samples.shape[:-1], *[size[i] if i == j else 1 for j in range(dims)]) * width
    corners = corners.reshape(*x.shape[:-dims], *size)
    widths = [math.prod(image[i + 1:]) for i in range(dims)]
    best = indices = None
    for tap in np.ndindex(*kernel):
        here = corners + sum([t * width for t, width in zip(tap, widths, strict=True)])
        values = pool_gather(x, here, kind=kind)
        if best is None or indices is None:
            best, indices = values, here
            continue
        better = (values > best) | (values != values)
        best, indices = np.where(better, values, best), np.where(better, here, indices)
    return best, indices


@lru_cache(maxsize=512)
def window_sizes(axis: Axis, count_pad: bool) -> np.ndarray:
    """The number of elements of each window."""
    if isinstance(axis, Sliding) and count_pad:
        start = np.arange(axis.out) * axis.stride - axis.padding
        return np.minimum(start + axis.kernel, axis.size + axis.padding) - start
    return np.count_nonzero(table_of(axis) >= 0, axis=1)


@lru_cache(maxsize=512)
def divisors(axes: Axes, count_pad: bool, divisor: int | None) -> Any:
    """The divisor of each window's sum: one number if it is the same for all."""
    if divisor is not None:
        return divisor
    sizes = [window_sizes(axis, count_pad) for axis in axes]
    if all(len(size) and (size == size[0]).all() for size in sizes):
        return int(math.prod([size[0] for size in sizes]))
    return math.prod(np.ix_(*sizes))


def divide(x: Any, by: Any) -> Any:
    if x.dtype.kind in "iu":
        return np.trunc(x / by).astype(x.dtype)
    return np.divide(x, by if isinstance(by, int) else by.astype(x.dtype), dtype=x.dtype)


@in_single_precision
def avg_pool(x: Any, *, axes: Axes, count_pad: bool, divisor: int | None, kind: Kind) -> Any:
    for i, axis in enumerate(axes, x.ndim - len(axes)):
        x = window_sums(x, i, axis)
    return divide(x, divisors(axes, count_pad, divisor))


def window_sums(x: Any, i: int, axis: Axis) -> Any:
    total = None
    for tap in taps_of(axis):
        values = elements_along(x, i, tap.elements)
        if total is None:
            if tap.full:
                total = values.copy("K")
                continue
            total = np.zeros((*x.shape[:i], axis.out, *x.shape[i + 1:]), x.dtype)
        if tap.full:
            total += values
        else:
            total[along(i, x.ndim, tap.windows)] += values
    return np.zeros((*x.shape[:i], axis.out, *x.shape[i + 1:]), x.dtype) if total is None else total


@in_single_precision
def avg_pool_backward(x: Any, *, axes: Axes, count_pad: bool, divisor: int | None, kind: Kind) -> Any:
    shares = divide(x, divisors(axes, count_pad, divisor))
    for i, axis in reversed(list(enumerate(axes, x.ndim - len(axes)))):
        spread = np.zeros((*shares.shape[:i], axis.size, *shares.shape[i + 1:]), shares.dtype)
        for tap in taps_of(axis):
            add_along(spread, i, tap.elements, shares[along(i, x.ndim, tap.windows)])
        shares = spread
    return shares


def add_along(target: Any, i: int, elements: Any, values: Any) -> None:
    """`target[..., elements, ...] += values`; elements may repeat if they are sorted."""
    if isinstance(elements, np.ndarray) and not np.diff(elements).all():
        elements, starts = np.unique(elements, return_index=True)
        values = np.add.reduceat(values, starts, axis=i)
    target[along(i, target.ndim, elements)] += values
