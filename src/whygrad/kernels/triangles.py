"""Triangular systems, and the factors of a matrix with row exchanges."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import contiguous, declined
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Stage, Task, staged
from whygrad.kernels.tiles import lanes_within
from whygrad.kernels.values import F32, I64, Some, Value

SERIAL_BELOW = 32768  # multiplications
# Larger systems are cut into blocks by NumPy's way, which leaves most of the work to matrix products.
LARGEST = 256
# Columns that are eliminated before the rest of the matrix hears of it.
WIDTH = 64


@dataclass(kw_only=True)
class SystemPlan(Plan):
    units: int
    units_serial: int
    size: int
    columns: int
    blocks: int
    first: int
    step: int  # 1 from the top, -1 from the bottom
    unit: int


@lru_cache(maxsize=256)
def _system(matrices: int, size: int, columns: int, upper: bool, unit: bool) -> Any:
    blocks = -(-columns // host().lanes)
    serial = SERIAL if matrices * size * size * columns < 2 * SERIAL_BELOW else 0
    return SystemPlan(units=matrices * blocks, units_serial=serial, size=size, columns=columns, blocks=blocks,
                      first=size - 1 if upper else 0, step=-1 if upper else 1, unit=int(unit)).array()


@cache
def _substitute() -> Callable[..., Any]:
    """run(plan, a, x): `x` is the right side before, and the solution after."""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", SystemPlan)
        a, x = f.array(0), f.array(1)
        size, columns, blocks, first, step, unit = f.fields("size columns blocks first step unit")
        lanes = host().lanes
        with f.loop(f.low, f.high) as number:
            matrix, column = number // blocks, number % blocks * lanes
            rows = f.pointer(F32, a, matrix * size * size)
            right = f.pointer(F32, x, matrix * size * columns + column)
            width = Some(lanes, lanes_within(f, f.integer(0), columns - column, lanes))
            with f.loop(0, size) as known:
                i = first + known * step
                row = f.pointer(F32, rows, i * size)
                # Two sums, which need not wait for each other.
                sums = [f.variable(f.load(F32, right, i * columns, width)), f.variable(f.zeros(F32, lanes))]

                def subtract(total: Any, done: Value, row: Value = row) -> None:
                    j = first + done * step
                    factor = -f.load(F32, row, j)
                    total.set(f.fma(f.load(F32, right, j * columns, width), factor.spread(lanes), total.get()))

                with f.loop(0, known - 1, 2) as done:
                    for k, part in enumerate(sums):
                        subtract(part, done + k)
                with f.when((known % 2).differs(0)):
                    subtract(sums[0], known - 1)
                total = sums[0].get() + sums[1].get()
                solved = f.choose(unit.differs(0), total, total / f.load(F32, row, i).spread(lanes))
                f.store(solved, right, i * columns, width)
        f.end()
        return [Stage(f, "units", "units_serial")]

    return staged("substitute", "substitute", "ff", write)


def solve_triangular(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, b: Any, *, upper: bool, left: bool, unit: bool) -> Any:
        if not left:
            return run(a.swapaxes(-1, -2), b.swapaxes(-1, -2), upper=not upper, left=True, unit=unit).swapaxes(-1, -2)
        if a.dtype is not FLOAT32 or b.dtype is not FLOAT32 or a.shape[-1] > LARGEST:
            return declined(numpy, a, b, upper=upper, left=left, unit=unit)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        if a.shape[:-2] != batch:
            a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        x = np.empty((*batch, *b.shape[-2:]), FLOAT32)
        x[...] = b
        plan = _system(math.prod(batch), *x.shape[-2:], upper, unit)
        return _substitute()(plan, contiguous(a), x)

    return run


@dataclass(kw_only=True)
class PanelPlan(Plan):
    matrices: int
    matrices_serial: int
    rows: int
    columns: int
    pivots: int
    start: int
    stop: int


@lru_cache(maxsize=256)
def _panel(matrices: int, rows: int, columns: int, start: int) -> Any:
    size = min(rows, columns)
    serial = SERIAL if matrices * rows * columns * WIDTH < SERIAL_BELOW else 0
    return PanelPlan(matrices=matrices, matrices_serial=serial, rows=rows, columns=columns, pivots=size, start=start,
                     stop=min(start + WIDTH, size)).array()


@cache
def _eliminate() -> Callable[..., Any]:
    """run(plan, pivots, info, lu): the columns from start to stop, and what they do to each other."""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", PanelPlan)
        pivots, info, lu = (f.array(i) for i in range(3))
        rows, columns, size, start, stop = f.fields("rows columns pivots start stop")
        lanes = host().lanes

        def vectors(low: Value, high: Value, body: Callable[[Value, int], None]) -> None:
            whole = low + (high - low) // lanes * lanes
            with f.loop(low, whole, lanes) as j:
                body(j, lanes)
            f.rest(whole, high, lanes, body)

        with f.loop(f.low, f.high) as number:
            matrix = f.pointer(F32, lu, number * rows * columns)
            with f.loop(start, stop) as column:
                top = f.pointer(F32, matrix, column * columns)
                largest, place = f.variable(f.intrinsic("fabs", f.load(F32, top, column))), f.variable(column)
                with f.loop(column + 1, rows) as i:
                    value = f.intrinsic("fabs", f.load(F32, matrix, i * columns + column))
                    with f.when(value > largest.get()):
                        largest.set(value)
                        place.set(i)
                f.store(place.get() + 1, pivots, number * size + column)
                with f.when(place.get().differs(column)):
                    other = f.pointer(F32, matrix, place.get() * columns)

                    def exchange(j: Value, width: int, top: Value = top, other: Value = other) -> None:
                        above, below = f.load(F32, top, j, width), f.load(F32, other, j, width)
                        f.store(below, top, j, width)
                        f.store(above, other, j, width)

                    vectors(f.integer(0), columns, exchange)
                pivot = f.load(F32, top, column)
                with f.when(pivot.equals(0.0) & f.load(I64, info, number).equals(0)):
                    f.store(column + 1, info, number)
                with f.loop(column + 1, rows) as i:
                    line = f.pointer(F32, matrix, i * columns)
                    factor = f.load(F32, line, column)
                    factor = f.choose(pivot.equals(0.0), factor, factor / pivot)
                    f.store(factor, line, column)

                    def subtract(j: Value, width: int, top: Value = top, line: Value = line, factor: Value = factor) -> None:
                        f.store(f.fma(f.load(F32, top, j, width), (-factor).spread(width), f.load(F32, line, j, width)),
                                line, j, width)

                    vectors(column + 1, stop, subtract)
        f.end()
        return [Stage(f, "matrices", "matrices_serial")]

    return staged("eliminate", "eliminate", "iif", write)


def lu_factor_ex(numpy: Callable[..., Any]) -> Callable[..., Any]:
    solve = solve_triangular(_unreached)

    def run(a: Any) -> Any:
        *batch, rows, columns = a.shape
        size, matrices = min(rows, columns), math.prod(batch)
        if a.dtype is not FLOAT32 or not a.size:
            return declined(numpy, a)
        lu = a.reshape(matrices, rows, columns).copy("C")
        pivots, info = np.zeros((matrices, size), np.int64), np.zeros(matrices, np.int64)
        for start in range(0, size, WIDTH):
            _eliminate()(_panel(matrices, rows, columns, start), pivots, info, lu)
            stop = min(start + WIDTH, size)
            if stop < columns:
                right = lu[:, start:stop, stop:]
                right[...] = solve(lu[:, start:stop, start:stop], right, upper=False, left=True, unit=True)
                if stop < rows:
                    lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ right
        return lu.reshape(a.shape), pivots.astype(np.int32).reshape(*batch, size), info.astype(np.int32).reshape(batch)

    return run


def _unreached(*args: Any, **statics: Any) -> Any:
    raise AssertionError("a panel is never larger than a kernel takes")
