"""Pooling as kernels, for float32 images with one or two spatial axes: each image (of one channel) is a unit of work."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whygrad.backends.numpy_pool import divisors
from whygrad.kernels import host
from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.pooling_code import (
    Bounds,
    Places,
    Windows,
    maxima,
    means,
    scatter,
    spread_means,
    spread_uneven_means,
    uneven_means,
)
from whygrad.kernels.stages import SERIAL, workspace
from whygrad.ops.pool import Adaptive, Sliding

Shape = tuple[int, ...]
Axis = Sliding | Adaptive

# Elements below which one thread does all.
SERIAL_BELOW = 16384


def suits(x: Any, dims: int) -> bool:
    """Float32, one or two spatial axes, and not with its channels last: then the result must have them there, too."""
    if type(x) is not np.ndarray or x.dtype is not host.FLOAT32 or dims > 2 or x.ndim < 2 or not x.size:
        return False
    return bool(x.flags.c_contiguous or x.ndim < 4 or x.shape[1] == 1 or x.strides[1] != x.itemsize)


def two(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """A row of pixels is an image of one row."""
    return axes if len(axes) == 2 else (Sliding(1, 1, 1, 0, 1, 1), *axes)


def serial(elements: int) -> int:
    return SERIAL if elements < SERIAL_BELOW else 0


def evenly(axis: Axis) -> Sliding | None:
    """An adaptive axis whose windows are all alike, as a sliding one."""
    if isinstance(axis, Sliding):
        return axis
    if not axis.out or axis.size % axis.out:
        return None
    return Sliding(axis.size, axis.size // axis.out, axis.size // axis.out, 0, 1, axis.out)


def windows(down: Sliding, across: Sliding, planes: int, serial_below: int, room: int = 0) -> Any:
    return Windows.of(
        each=room, shared=0, planes=planes, planes_serial=serial_below, height=down.size, width=across.size, out_rows=down.out,
        out_columns=across.out, kernel_down=down.kernel, kernel_across=across.kernel, stride_down=down.stride,
        stride_across=across.stride, padding_down=down.padding, padding_across=across.padding, dilation_down=down.dilation,
        dilation_across=across.dilation)


class MaximaPlan(NamedTuple):
    plan: Any
    shape: Shape
    run: Any


@lru_cache(maxsize=512)
def maxima_plan(shape: Shape, axes: tuple[Axis, ...], with_places: bool) -> MaximaPlan | None:
    down, across = (evenly(axis) for axis in two(axes))
    if down is None or across is None:
        return None
    planes = math.prod(shape[:-len(axes)])
    result = (*shape[:-len(axes)], *[axis.out for axis in axes])
    plan = windows(down, across, planes, serial(math.prod(shape)))
    return MaximaPlan(plan, result, maxima(across.stride if across.stride <= 2 else 0, with_places))


@maker
def max_pool(x: Any, *, axes: tuple[Axis, ...], kind: Any) -> tuple[Any, Any] | None:
    found = maxima_plan(x.shape, axes, True) if suits(x, len(axes)) else None
    if found is None:
        return None
    values, places = np.empty(found.shape, np.float32), np.empty(found.shape, np.int64)
    found.run(found.plan, contiguous(x), places, values)
    return values, places


@maker
def max_pool_values(x: Any, *, axes: tuple[Axis, ...]) -> Any:
    found = maxima_plan(x.shape, axes, False) if suits(x, len(axes)) else None
    if found is None:
        return None
    return found.run(found.plan, contiguous(x), np.empty(found.shape, np.float32))


@maker
def pool_scatter(x: Any, places: Any, *, shape: Shape, kind: Any) -> Any:
    dims = kind.dims
    # `suits` knows one and two spatial axes; three are the same here.
    if not suits(x, min(dims, 2)) or places.dtype is not host.INT64 or not math.prod(shape):
        return None
    planes, pixels = math.prod(shape[:-dims]), math.prod(shape[-dims:])
    plan = Places.of(planes=planes, planes_serial=serial(planes * pixels), pixels=pixels, places=x.size // planes)
    wrong = np.zeros(1, np.int64)
    result = scatter()(plan, contiguous(x), contiguous(places), wrong, np.empty(shape, np.float32))
    return None if wrong[0] else result  # a place outside the image, for which NumPy raises


class MeansPlan(NamedTuple):
    plan: Any
    shape: Shape
    by: Any
    run: Any


@lru_cache(maxsize=512)
def means_plan(before: Shape, axes: tuple[Axis, ...], count_pad: bool, divisor: int | None, backward: bool) -> MeansPlan:
    both = two(axes)
    down, across = both
    planes = math.prod(before)
    by = np.broadcast_to(np.asarray(divisors(axes, count_pad, divisor), np.float32), [axis.out for axis in axes]).ravel()
    shape = (*before, *[axis.size if backward else axis.out for axis in axes])
    serial_below = serial(planes * down.size * across.size)
    even_down, even_across = evenly(down), evenly(across)
    if even_down is not None and even_across is not None and even_across.stride <= 2:
        room = rounded(down.out * across.out) if backward else 0
        plan = windows(even_down, even_across, planes, serial_below, room)
        run = (spread_means if backward else means)(even_across.stride)
    else:
        tables = [bounds(axis) for axis in both]
        plan = Bounds.of(each=rounded(across.size), shared=0, planes=planes, planes_serial=serial_below, height=down.size,
                         width=across.size, out_rows=down.out, out_columns=across.out, row_bounds=tables[0],
                         column_bounds=tables[1])
        run = spread_uneven_means(all(map(are_apart, tables, [axis.size for axis in both]))) if backward else uneven_means()
    return MeansPlan(plan, shape, by, run)


def rounded(floats: int) -> int:
    """With room for a vector that begins within."""
    return -(-floats // 16) * 16 + 16


def bounds(axis: Axis) -> list[int]:
    """First and last element (exclusive) of each window, within the image."""
    if isinstance(axis, Adaptive):
        return [n for i in range(axis.out) for n in (i * axis.size // axis.out, -(-(i + 1) * axis.size // axis.out))]
    starts = [i * axis.stride - axis.padding for i in range(axis.out)]
    return [min(max(n, 0), axis.size) for start in starts for n in (start, start + axis.kernel)]


def are_apart(table: list[int], size: int) -> bool:
    """Does each of `size` elements lie in exactly one window?"""
    return [0, *table[1::2]] == [*table[::2], size]


def _mean_row(backward: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def run(x: Any, *, axes: tuple[Axis, ...], count_pad: bool, divisor: int | None, kind: Any) -> Any:
        if not suits(x, len(axes)):
            return None
        found = means_plan(x.shape[:-len(axes)], axes, count_pad, divisor, backward)
        result = np.empty(found.shape, np.float32)
        if not result.size:
            return result
        needed = (workspace(found.plan),) if found.plan[0] else ()
        return found.run(found.plan, contiguous(x), found.by, *needed, result)

    return maker(run)


avg_pool, avg_pool_backward = _mean_row(False), _mean_row(True)
