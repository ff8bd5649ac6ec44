"""topk along an axis, for a small k: an insertion sort keeps the best elements of each row in order."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.stages import SERIAL, Plan, Task, kernel_of_units
from whygrad.kernels.values import F32, I64, Value

SERIAL_BELOW = 16384
# For a larger k NumPy's partial sort is quicker.
MAX_COUNT = 64


class TopkPlan(Plan):
    numbers = "rows rows_serial columns count largest"


@lru_cache(maxsize=256)
def _plan(rows: int, columns: int, count: int, largest: bool) -> Any:
    return TopkPlan.of(rows=rows, rows_serial=SERIAL if rows * columns < SERIAL_BELOW else 0, columns=columns,
                       count=count, largest=int(largest))


@kernel_of_units("find_largest", "fiif", TopkPlan, "rows")
def _find(f: Task) -> None:
    """run(plan, x, index, has_nan, values): `has_nan` becomes 1 if there is a NaN."""
    x, index, has_nan, values = (f.array(i) for i in range(4))
    columns, count, largest = f.fields("columns count largest")
    sign = f.choose(largest.differs(0), f.constant(1.0, F32), f.constant(-1.0, F32))
    best = f.frame(F32, MAX_COUNT + 1, 0)

    with f.loop(f.low, f.high) as row:
        line, found = f.pointer(F32, x, row * columns), f.pointer(I64, index, row * count)
        filled = f.variable(f.integer(0))
        bound = f.variable(f.constant(float("-inf"), F32))  # of the last one, when all places are filled

        def keep(place: Value) -> None:
            """Of two equal ones the first stays before the second."""
            value = f.load(F32, line, place) * sign
            with f.when((value > bound.get()) | (filled.get() < count)):
                last = f.smaller(filled.get(), count - 1)
                at = f.variable(last)
                with f.repeat_while(lambda: (at.get() > 0) & (f.load(F32, best, f.larger(at.get() - 1, 0)) < value)):
                    f.store(f.load(F32, best, at.get() - 1), best, at.get())
                    f.store(f.load(I64, found, at.get() - 1), found, at.get())
                    at.add(f.integer(-1))
                f.store(value, best, at.get())
                f.store(place, found, at.get())
                filled.set(last + 1)
                with f.when((last + 1).equals(count)):
                    bound.set(f.load(F32, best, count - 1))
            with f.when(value.differs(value)):
                f.store(f.integer(1), has_nan)

        with f.loop(0, count) as place:
            keep(place)
        whole = count + (columns - count) // f.lanes * f.lanes
        with f.loop(count, whole, f.lanes) as start:
            several = f.load(F32, line, start, f.lanes) * sign.spread(f.lanes)
            # Also where one of them is NaN.
            with f.when(f.any(~(several <= bound.get().spread(f.lanes)))), f.loop(start, start + f.lanes) as place:
                keep(place)
        with f.loop(whole, columns) as place:
            keep(place)
        with f.loop(0, count) as i:
            f.store(f.load(F32, line, f.load(I64, found, i)), values, row * count + i)


@maker
def topk(x: Any, *, k: int, axis: int, largest: bool) -> Any:
    if x.dtype is not FLOAT32 or not x.size or not x.ndim or not 0 < k <= min(MAX_COUNT, x.shape[axis]):
        return None
    last = x.ndim - 1
    rows = contiguous(x if axis == last else np.moveaxis(x, axis, last))
    shape = (*rows.shape[:-1], k)
    values, index, has_nan = np.empty(shape, FLOAT32), np.empty(shape, np.int64), np.zeros(1, np.int64)
    _find()(_plan(x.size // rows.shape[-1], rows.shape[-1], k, largest), rows, index, has_nan, values)
    if has_nan[0]:
        return None
    return (values, index) if axis == last else tuple([np.ascontiguousarray(np.moveaxis(a, last, axis)) for a in (values, index)])
