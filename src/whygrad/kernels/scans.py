"""Running sums, products and extremes along an axis.

An array is read as (outer, n, inner). Neighbours in the last axes go forward together, as the lanes of vectors; where the
axis is the last one, several rows do, so that they need not wait for each other's results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Task, staged
from whygrad.kernels.tiles import lanes_within
from whygrad.kernels.values import F32, F64, I64, Some, Value

SERIAL_BELOW = 16384
# Fewer elements are NumPy's.
MIN_SIZE = 2048
# Rows that go forward together, and vectors.
ROWS = 8
VECTORS = 2


class ScanPlan(Plan):
    # step: 1, or -1 against the axis
    numbers = "units units_serial outer count inner blocks first step"


@lru_cache(maxsize=256)
def _plan(outer: int, count: int, inner: int, reverse: bool) -> Any:
    blocks = -(-inner // (VECTORS * host().lanes))
    units = -(-outer // ROWS) if inner == 1 else outer * blocks
    return ScanPlan.of(units=units, units_serial=SERIAL if outer * count * inner < SERIAL_BELOW else 0, outer=outer,
                    count=count, inner=inner, blocks=blocks, first=count - 1 if reverse else 0, step=-1 if reverse else 1)


class Scan(NamedTuple):
    """`start(f, width)` gives a state; `step(f, state, elements, place, width)` the next one, and the results at this place."""

    name: str
    inputs: int
    results: str  # "f" for float32, "i" for int64
    start: Callable[..., list[Value]]
    step: Callable[..., tuple[list[Value], list[Value]]]


@lru_cache(maxsize=16)
def _compiled(scan: Scan) -> Callable[..., Any]:
    def write(f: Task) -> None:
        arrays = [f.array(i) for i in range(scan.inputs + len(scan.results))]
        outer, count, inner, blocks, first, step = f.fields("outer count inner blocks first step")

        def lines(starts: list[Value], width: int) -> None:
            """Scans that begin at these places, side by side."""
            states = [[f.variable(value) for value in scan.start(f, width)] for _ in starts]
            with f.loop(0, count, running=True) as i:
                place = first + i * step
                for state, start in zip(states, starts, strict=True):
                    here = start + place * inner
                    elements = [f.load(F32, array, here, width) for array in arrays[:scan.inputs]]
                    following, results = scan.step(f, [value.get() for value in state], elements, place, width)
                    for variable, value in zip(state, following, strict=True):
                        variable.set(value)
                    for array, value in zip(arrays[scan.inputs:], results, strict=True):
                        f.store(value, array, here, width)

        with f.loop(f.low, f.high) as unit, f.either(inner.equals(1)) as (rows, vectors):
            with rows:
                row = unit * ROWS
                with f.either(row + ROWS <= outer) as (all_of_them, some):
                    with all_of_them:
                        lines([(row + i) * count for i in range(ROWS)], 1)
                    with some, f.loop(row, outer) as one:
                        lines([one * count], 1)
            with vectors:
                base, begin = unit // blocks * count * inner, unit % blocks * (VECTORS * f.lanes)
                with f.either(begin + VECTORS * f.lanes <= inner) as (whole, part):
                    with whole:
                        lines([base + begin + i * f.lanes for i in range(VECTORS)], f.lanes)
                    with part, f.loop(begin, inner, f.lanes) as column:
                        mask = lanes_within(f, f.integer(0), inner - column, f.lanes)
                        lines([base + column], Some(f.lanes, mask))

    return staged(scan.name, "f" * scan.inputs + scan.results, ScanPlan, units=write)


def _run(scan: Scan, arrays: tuple[Any, ...], axis: int, reverse: bool) -> Any:
    """The result, or a tuple of results; None for arguments that are not for this kernel."""
    x = arrays[0]
    if x.size < MIN_SIZE or any(a.dtype is not FLOAT32 or a.shape != x.shape for a in arrays):
        return None
    results = [np.empty(x.shape, np.int64 if letter == "i" else FLOAT32) for letter in scan.results]
    shape = x.shape
    plan = _plan(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1:]), reverse)
    _compiled(scan)(plan, *map(contiguous, arrays), *results)
    return tuple(results) if len(results) > 1 else results[0]


# Sums and products are made in float64, as torch makes them.

def _number(start: float) -> Callable[..., list[Value]]:
    return lambda f, width: [f.constant(start, F64, width)]


def _sum_step(f: Any, state: list[Value], elements: list[Value], place: Value, width: int) -> Any:
    total = state[0] + elements[0].to(F64)
    return [total], [total.to(F32)]


def _product_step(f: Any, state: list[Value], elements: list[Value], place: Value, width: int) -> Any:
    total = state[0] * elements[0].to(F64)
    return [total], [total.to(F32)]


def _product_before_step(f: Any, state: list[Value], elements: list[Value], place: Value, width: int) -> Any:
    return [state[0] * elements[0].to(F64)], [state[0].to(F32)]


def _recurrence_step(f: Any, state: list[Value], elements: list[Value], place: Value, width: int) -> Any:
    factor, term = (x.to(F64) for x in elements)
    return [state[0] * factor + term], [state[0].to(F32)]


def _extreme(name: str, worst: float) -> Scan:
    """Of several equal ones the index is the last so far; a NaN wins, and so does the next one."""

    def step(f: Any, state: list[Value], elements: list[Value], place: Value, width: int) -> Any:
        (best, index), (x,) = state, elements
        better = (x >= best if worst < 0 else x <= best) & best.equals(best) | x.differs(x)
        best, index = f.choose(better, x, best), f.choose(better, place.spread(width), index)
        return [best, index], [best, index]

    return Scan(name, 1, "fi", lambda f, width: [f.constant(worst, F32, width), f.constant(0, I64, width)], step)


SUM = Scan("cumsum", 1, "f", _number(0.0), _sum_step)
PRODUCT = Scan("cumprod", 1, "f", _number(1.0), _product_step)
PRODUCT_BEFORE = Scan("product_before", 1, "f", _number(1.0), _product_before_step)
RECURRENCE = Scan("scan", 2, "f", _number(0.0), _recurrence_step)
LARGEST, SMALLEST = _extreme("cummax", -math.inf), _extreme("cummin", math.inf)


def _maker(scan: Scan) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return maker(lambda *arrays, axis, reverse=False: _run(scan, arrays, axis, reverse))


cumsum, cumprod, product_before, scan, cummax, cummin = map(
    _maker, (SUM, PRODUCT, PRODUCT_BEFORE, RECURRENCE, LARGEST, SMALLEST))
