"""Interpolation along one axis after the other: each result is a weighted sum of a few elements.

An array is read as (outer, n, inner). Neighbours in the last axes are the lanes of vectors; along the last axis itself these
are the results, which gather their elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.backends.numpy_resample import in_faster_order, transpose_weights, weights_of
from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.stages import SERIAL, Plan, Task, kernel_of_units
from whygrad.kernels.tiles import lanes_within
from whygrad.kernels.values import F32, I32, I64, POINTER, Some, Value, vector

SERIAL_BELOW = 16384


class ResamplingPlan(Plan):
    numbers = "units units_serial size out inner taps"


@lru_cache(maxsize=256)
def _plan(outer: int, size: int, out: int, inner: int, taps: int) -> Any:
    serial = SERIAL if outer * out * inner * taps < SERIAL_BELOW else 0
    return ResamplingPlan.of(units=outer if inner == 1 else outer * out, units_serial=serial, size=size, out=out, inner=inner,
                          taps=taps)


@lru_cache(maxsize=256)
def _weights(axis: Any, transposed: bool) -> tuple[Any, Any]:
    """For each tap the element of each result, -1 for none, and its weight."""
    elements, weights = weights_of(axis, transposed)
    if transposed:
        elements, weights = transpose_weights(elements, weights, axis.size)
    return np.ascontiguousarray(elements.T, np.int64), np.ascontiguousarray(weights.T, FLOAT32)


@kernel_of_units("mix", "fiff", ResamplingPlan)
def _mix(f: Task) -> None:
    """run(plan, x, elements, weights, result)"""
    x, elements, weights, result = (f.array(i) for i in range(4))
    size, out, inner, taps = f.fields("size out inner taps")

    def vectors(unit: Value, count: Value, body: Callable[[Value, Value, Any], None]) -> None:
        with f.loop(0, count, f.lanes) as j:
            body(unit, j, Some(f.lanes, lanes_within(f, f.integer(0), count - j, f.lanes)))

    def gathered(unit: Value, r: Value, width: Any) -> None:
        total = f.variable(f.zeros(F32, f.lanes))
        with f.loop(0, taps) as tap:
            places = f.load(I64, elements, tap * out + r, width)
            addresses = f.pointer(F32, x, unit * size).as_integer().spread(f.lanes) + places * 4
            read = f.call(f"llvm.masked.gather.v{f.lanes}f32.v{f.lanes}p0", vector(F32, f.lanes),
                          addresses.cast("inttoptr", POINTER), f.constant(4, I32),
                          width.mask & (places >= 0), f.zeros(F32, f.lanes))
            total.set(f.fma(read, f.load(F32, weights, tap * out + r, width), total.get()))
        f.store(total.get(), result, unit * out + r, width)

    def side_by_side(unit: Value, j: Value, width: Any) -> None:
        total = f.variable(f.zeros(F32, f.lanes))
        with f.loop(0, taps) as tap:
            place = f.load(I64, elements, tap * out + unit % out)
            with f.when(place >= 0):
                read = f.load(F32, x, (unit // out * size + place) * inner + j, width)
                total.set(f.fma(read, f.load(F32, weights, tap * out + unit % out).spread(f.lanes), total.get()))
        f.store(total.get(), result, unit * inner + j, width)

    with f.loop(f.low, f.high) as unit, f.either(inner.equals(1)) as (last, other):
        with last:
            vectors(unit, out, gathered)
        with other:
            vectors(unit, inner, side_by_side)


def _maker(transposed: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def run(x: Any, *, axes: tuple[Any, ...], kind: str) -> Any:
        if x.dtype is not FLOAT32 or not x.size:
            return None
        for i, axis in in_faster_order(axes, x.ndim, transposed):
            elements, weights = _weights(axis, transposed)
            shape = (*x.shape[:i], elements.shape[1], *x.shape[i + 1:])
            plan = _plan(math.prod(shape[:i]), x.shape[i], shape[i], math.prod(shape[i + 1:]), len(elements))
            x = _mix()(plan, contiguous(x), elements, weights, np.empty(shape, FLOAT32))
        return x

    return maker(run)


upsample, upsample_backward = _maker(False), _maker(True)
