"""The lower and upper triangles of matrices: of each row a piece is copied, and the rest is zeros."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import declined, in_one_piece
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import ALONE, Plan, Stage, Task, staged
from whygrad.kernels.tiles import copy_row, lanes_within, store_some
from whygrad.kernels.values import F32, Value

ALONE_BELOW = 32768
# Fewer elements are NumPy's.
WORTH_IT = 512


@dataclass(kw_only=True)
class HalvesPlan(Plan):
    units: int  # rows of all matrices
    units_alone: int
    rows: int
    columns: int
    first: int  # what follows the diagonal, in the first row
    upper: int


@lru_cache(maxsize=256)
def _plan(count: int, rows: int, columns: int, diagonal: int, upper: bool) -> Any:
    first = diagonal + (not upper)  # of the lower triangle the diagonal is a part, and of the upper one
    return HalvesPlan(units=count * rows, units_alone=ALONE if count * rows * columns < ALONE_BELOW else 0, rows=rows,
                      columns=columns, first=first, upper=int(upper)).array()


@cache
def _copy() -> Callable[..., Any]:
    """run(plan, x, result)"""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", HalvesPlan)
        x, result = f.array(0), f.array(1)
        rows, columns, first, upper = f.fields("rows columns first upper")
        lanes = host().lanes

        def clear(start: Value, stop: Value, out: Value) -> None:
            whole = start + f.larger(stop - start, 0) // lanes * lanes
            with f.loop(start, whole, lanes) as j:
                f.store(f.zeros(F32, lanes), out, j)
            with f.when(whole < stop):
                store_some(f, f.zeros(F32, lanes), out, whole, lanes_within(f, f.integer(0), stop - whole, lanes))

        with f.loop(f.low, f.high) as unit:
            read, out = (f.pointer(F32, array, unit * columns) for array in (x, result))
            turn = f.larger(f.smaller(unit % rows + first, columns), 0)
            start, stop = f.choose(upper.equals(0), 0, turn), f.choose(upper.equals(0), turn, columns)
            clear(f.integer(0), start, out)
            copy_row(f, f.pointer(F32, read, start), f.pointer(F32, out, start), stop - start)
            clear(stop, columns, out)
        f.end()
        return [Stage(f, "units", "units_alone")]

    return staged("copy_half", "copy half", "ff", write)


def _maker(upper: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def maker(numpy: Callable[..., Any]) -> Callable[..., Any]:
        def run(x: Any, *, diagonal: int) -> Any:
            if x.dtype is not FLOAT32 or x.size < WORTH_IT or abs(diagonal) >= 1 << 62:
                return declined(numpy, x, diagonal=diagonal)
            plan = _plan(math.prod(x.shape[:-2]), x.shape[-2], x.shape[-1], diagonal, upper)
            return _copy()(plan, in_one_piece(x), np.empty(x.shape, FLOAT32))

        return run

    return maker


tril, triu = _maker(False), _maker(True)
