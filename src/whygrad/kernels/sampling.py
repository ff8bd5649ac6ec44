"""Bilinear sampling of images at the points of a grid, and the adjoint. What lies outside is zero, or the edge's."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Task, kernel_of_units
from whygrad.kernels.tiles import evens, lanes_within, load_some, odds
from whygrad.kernels.values import F32, F64, I32, I64, Value
from whygrad.ops.resample import orders_of

SERIAL_BELOW = 4096
# Points of a unit.
BLOCK = 256


class SamplingPlan(Plan):
    # images: groups of channels, of all samples; points: of a sample; down: orders of the derivative
    numbers = ("units units_serial images images_serial groups group points blocks channels height width align_corners border "
               "down across")


@lru_cache(maxsize=256)
def _plan(shape: tuple[int, ...], points: int, align_corners: bool, border: bool, order: tuple[int, ...]) -> Any:
    count, channels, height, width = shape
    blocks = -(-points // BLOCK)
    serial = SERIAL if count * channels * points < SERIAL_BELOW else 0
    group = -(-channels // max(1, 8 // count))  # channels share what is worked out for a point, if there are units enough
    groups = -(-channels // group)
    return SamplingPlan.of(units=count * blocks, units_serial=serial, images=count * groups, images_serial=serial,
                        groups=groups, group=group, points=points, blocks=blocks, channels=channels, height=height, width=width,
                        align_corners=int(align_corners), border=int(border), down=order[0], across=order[1])


def _axis_taps(f: Task, coordinate: Value, size: Value, order: Value) -> list[tuple[Value, Value]]:
    """(pixel, weight) of the two pixels next to a coordinate, which goes from -1 to 1; the pixel is -1 if it is not there."""
    lanes = coordinate.lanes
    align, border, value = f.field("align_corners").differs(0), f.field("border").differs(0).spread(lanes), order.equals(0)
    number = size.to(F32).spread(lanes)
    last = number - 1.0
    scale = f.choose(align, last, number) * 0.5
    grown = coordinate + 1.0
    # Rounded once, as by torch's fused multiply-add: the derivative jumps where a position is a whole number.
    shifted = (grown.to(F64) * scale.to(F64) - 0.5).to(F32)
    position = f.choose(align, grown * scale, shifted)
    held = f.choose(position > 0.0, f.choose(position < last, position, last), 0.0)
    slope = f.choose(~border | (position > 0.0) & (position < last), scale, 0.0)
    position = f.choose(border, held, position)
    first = f.intrinsic("floor", position)
    part = position - first
    taps = []
    for pixel, weight in ((first, f.choose(value, 1.0 - part, -slope)), (first + 1.0, f.choose(value, part, slope))):
        there = (pixel >= 0.0) & (pixel <= last)
        taps.append((f.choose(there, pixel, -1.0).to(I32), weight))
    return taps


def _each_point(f: Task, grid: Value, begin: Value, end: Value, body: Callable[[Value, list[tuple[Value, Value]]], None]) -> None:
    """`body(point, taps)` for a range of points: places in the image, or -1, and weights of the four pixels next to each.

    Taps are worked out for as many points as there are lanes, and then read one by one.
    """
    lanes = host().lanes
    height, width, down, across = f.fields("height width down across")
    places, weights = (f.frame(kind, 4 * lanes, 0) for kind in (I32, F32))
    with f.loop(begin, end, lanes) as start:
        rest = f.smaller(end - start, lanes)
        halves = [load_some(f, grid, start * 2 + at, lanes_within(f, f.integer(at), rest * 2, lanes)) for at in (0, lanes)]
        rows = _axis_taps(f, odds(f, *halves), height, down)
        columns = _axis_taps(f, evens(f, *halves), width, across)
        for number, ((y, a), (x, b)) in enumerate(product(rows, columns)):
            place = f.choose((y < 0) | (x < 0), -1, y * width.to(I32).spread(lanes) + x)
            f.store(place, places, number * lanes)
            f.store(a * b, weights, number * lanes)
        with f.loop(0, rest) as lane:
            body(start + lane, [(f.load(I32, places, lane + number * lanes).to(I64), f.load(F32, weights, lane + number * lanes))
                                for number in range(4)])


@kernel_of_units("sample_images", "fff", SamplingPlan)
def _read(f: Task) -> None:
    """run(plan, x, grid, result)"""
    x, grid, result = (f.array(i) for i in range(3))
    points, blocks, channels, height, width = f.fields("points blocks channels height width")
    size = height * width
    with f.loop(f.low, f.high) as unit:
        sample, begin = unit // blocks, unit % blocks * BLOCK

        def sums(p: Value, taps: list[tuple[Value, Value]]) -> None:
            with f.loop(sample * channels, (sample + 1) * channels) as image:
                total = f.zeros(F32)
                for place, weight in taps:
                    # A pixel outside is 0, whatever is read in its stead; the weight of a NaN coordinate is NaN all the same.
                    pixel = f.load(F32, x, image * size + f.larger(place, 0))
                    total = total + f.choose(place < 0, 0.0, pixel) * weight
                f.store(total, result, image * points + p)

        _each_point(f, f.pointer(F32, grid, sample * points * 2), begin, f.smaller(begin + BLOCK, points), sums)


@kernel_of_units("add_to_images", "fff", SamplingPlan, "images")
def _add(f: Task) -> None:
    """run(plan, y, grid, result): an image is one thread's, so sums are made in order."""
    y, grid, result = (f.array(i) for i in range(3))
    points, groups, group, channels, height, width = f.fields("points groups group channels height width")
    size = height * width
    with f.loop(f.low, f.high) as unit:
        sample, first = unit // groups, unit % groups * group
        begin, end = sample * channels + first, sample * channels + f.smaller(first + group, channels)

        def add(p: Value, taps: list[tuple[Value, Value]]) -> None:
            with f.loop(begin, end) as image:
                share = f.load(F32, y, image * points + p)
                for place, weight in taps:
                    with f.when(place >= 0):
                        target = f.pointer(F32, result, image * size + place)
                        f.store(f.load(F32, target) + share * weight, target)

        _each_point(f, f.pointer(F32, grid, sample * points * 2), f.integer(0), points, add)


def _planned(x: Any, grid: Any, shape: tuple[int, ...], order: tuple[int, ...], sampling: Any) -> Any:
    points = math.prod(grid.shape[1:-1])
    known = sampling.mode == "bilinear" and sampling.padding_mode != "reflection" and len(order) == 2 and max(order) <= 1
    if not known or x.dtype is not FLOAT32 or grid.dtype is not FLOAT32 or not points or not math.prod(shape):
        return None
    if max(shape[2:]) >= 1 << 24 or math.prod(shape[2:]) >> 31:  # places are float32 and int32 on the way
        return None
    return _plan(tuple(shape), points, sampling.align_corners, sampling.padding_mode == "border", tuple(order))


@maker
def grid_sampler(x: Any, grid: Any, *, order: Any, sampling: Any) -> Any:
    shape = (*x.shape[:2], *grid.shape[1:-1])
    if type(order[0]) is int:
        plan = _planned(x, grid, x.shape, order, sampling)
        return None if plan is None else _read()(plan, contiguous(x), contiguous(grid), np.empty(shape, FLOAT32))
    plans = [_planned(x, grid, x.shape, each, sampling) for each in order]
    if any(plan is None for plan in plans):
        return None
    x, grid, results = contiguous(x), contiguous(grid), np.empty((len(plans), *shape), FLOAT32)
    for plan, result in zip(plans, results, strict=True):
        _read()(plan, x, grid, result)
    return results.transpose(1, 2, 0, *range(3, results.ndim))


@maker
def grid_sampler_backward(y: Any, grid: Any, *, shape: tuple[int, ...], order: Any, sampling: Any) -> Any:
    orders = orders_of(order)
    plans = [_planned(y, grid, shape, each, sampling) for each in orders]
    if any(plan is None for plan in plans):
        return None
    grid, result = contiguous(grid), np.zeros(shape, FLOAT32)
    for i, plan in enumerate(plans):
        _add()(plan, contiguous(y[:, :, i] if orders is order else y), grid, result)
    return result
