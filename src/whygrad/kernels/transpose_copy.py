"""Copies in the usual order of arrays that lie in another one.

The copy is read as (outer, rows, columns), and along `columns` its elements are neighbours. Either those of the source are as
well, and it is copied row by row; or they are neighbours along `rows`, and squares are transposed in registers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Task, staged
from whygrad.kernels.tiles import copy_row, transposed
from whygrad.kernels.values import F32, I64, Value

SERIAL_BELOW = 32768
# Fewer elements are NumPy's, and so are more blocks than a plan should list.
MIN_SIZE = 2048
MOST_OUTER = 4096
# The side of a square that is transposed in registers. Larger ones take longer to compile than they save.
SQUARE = 8
# Elements of a row that is worth a copy by itself.
SHORTEST = 8


class TransposePlan(Plan):
    # bands: of rows, for each of the outer places; band: rows of a band; pitch: from one row of the copy to the next;
    # source_pitch: from one row of the source to the next, or from one column if rows are neighbours
    numbers = "units units_serial rows columns bands band pitch source_pitch starts source_starts"


@lru_cache(maxsize=256)
def _plan(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, bool]:
    """For an array of these strides, in elements, and whether it is copied row by row; None if it is not for this kernel."""
    axes = _joined(shape, strides)
    pitches = [math.prod([n for n, _ in axes[i + 1:]]) for i in range(len(axes))]
    by_row = len(axes) > 1 and axes[-1][1] == 1
    along = len(axes) - 2 if by_row else next((i for i, (_, stride) in enumerate(axes[:-1]) if stride == 1), -1)
    outer = [i for i in range(len(axes) - 1) if i != along]
    count = math.prod([axes[i][0] for i in outer])
    if along < 0 or count > MOST_OUTER or not axes[-1][1] or (by_row and axes[-1][0] < SHORTEST):
        return None, by_row
    places = list(itertools.product(*[range(axes[i][0]) for i in outer]))
    rows, columns = axes[along][0], axes[-1][0]
    band = rows if by_row else min(SQUARE, host().lanes)
    bands = -(-rows // band)
    serial = SERIAL if math.prod(shape) < SERIAL_BELOW else 0
    return TransposePlan.of(
        units=count * bands, units_serial=serial, rows=rows, columns=columns, bands=bands, band=band,
        pitch=pitches[along], source_pitch=axes[along if by_row else -1][1],
        starts=[sum([n * pitches[i] for n, i in zip(place, outer, strict=True)]) for place in places],
        source_starts=[sum([n * axes[i][1] for n, i in zip(place, outer, strict=True)]) for place in places]), by_row


def _joined(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Lengths and strides of the axes, with those made one that can be walked as one."""
    axes: list[tuple[int, int]] = []
    for n, stride in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * stride:
            axes[-1] = axes[-1][0] * n, stride
        else:
            axes.append((n, stride))
    return axes


@cache
def _kernel(name: str, write_band: Callable[..., None]) -> Callable[..., Any]:
    """run(plan, source, copy)"""

    def write(f: Task) -> None:
        source, copy = f.array(0), f.array(1)
        rows, bands, band, pitch = f.fields("rows bands band pitch")
        starts, source_starts = f.table("starts"), f.table("source_starts")
        with f.loop(f.low, f.high) as unit:
            number, row = unit // bands, unit % bands * band
            write_band(f, f.pointer(F32, source, f.load(I64, source_starts, number) + row),
                       f.pointer(F32, copy, f.load(I64, starts, number) + row * pitch), f.smaller(rows - row, band))

    return staged(name, "vf", TransposePlan, units=write)


def _turn(f: Task, read: Value, written: Value, count: Value) -> None:
    """Transpose `count` rows, which are neighbours in the source."""
    columns, pitch, source_pitch = f.fields("columns pitch source_pitch")
    lanes = min(SQUARE, host().lanes)

    def one_by_one(first: Any) -> None:
        with f.loop(0, count) as i, f.loop(first, columns) as j:
            f.store(f.load(F32, read, j * source_pitch + i), written, i * pitch + j)

    with f.either(count.equals(lanes)) as (whole, part):
        with whole:
            squares = columns // lanes * lanes
            with f.loop(0, squares, lanes) as j:
                lines = [f.load(F32, read, (j + k) * source_pitch, lanes) for k in range(lanes)]
                for i, line in enumerate(transposed(f, lines)):
                    f.store(line, written, j + pitch * i)
            one_by_one(squares)
        with part:
            one_by_one(0)


def _copy_rows(f: Task, read: Value, written: Value, count: Value) -> None:
    columns, pitch, source_pitch = f.fields("columns pitch source_pitch")
    with f.loop(0, count) as i:
        copy_row(f, f.pointer(F32, read, i * source_pitch), f.pointer(F32, written, i * pitch), columns)


def transposed_copy(x: Any) -> Any:
    """A copy of `x` in the usual order, or None."""
    if x.dtype is not FLOAT32 or x.size < MIN_SIZE or not x.flags.aligned:
        return None
    plan, by_row = _plan(x.shape, tuple([stride // 4 for stride in x.strides]))
    if plan is None:
        return None
    return _kernel(*(("copy_rows", _copy_rows) if by_row else ("turn", _turn)))(plan, x, np.empty(x.shape, FLOAT32))
