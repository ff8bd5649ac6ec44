"""The largest and the smallest numbers along an axis, and where they are, where that axis is not the last one.

An array is read as (outer, n, inner): neighbours in the last axes are looked through together, as the lanes of vectors. Along
the last axis NumPy's own way is as quick.
"""

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
from whygrad.kernels.tiles import lanes_within
from whygrad.kernels.values import F32, I32, I64, Some, Value

ALONE_BELOW = 16384
# Fewer elements are NumPy's.
WORTH_IT = 2048
# Vectors that are looked through together.
VECTORS = 4


@dataclass(kw_only=True)
class PlacesPlan(Plan):
    units: int
    units_alone: int
    count: int
    inner: int
    blocks: int


@lru_cache(maxsize=256)
def _plan(outer: int, count: int, inner: int) -> Any:
    blocks = -(-inner // (VECTORS * host().lanes))
    return PlacesPlan(units=outer * blocks, units_alone=ALONE if outer * count * inner < ALONE_BELOW else 0, count=count,
                      inner=inner, blocks=blocks).array()


@cache
def _find(largest: bool) -> Callable[..., Any]:
    """run(plan, x, index, values)"""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", PlacesPlan)
        x, index, values = (f.array(i) for i in range(3))
        count, inner, blocks = f.fields("count inner blocks")
        lanes = host().lanes

        def lines(start: Value, first: Value, vectors: int, width: int) -> None:
            """Of so many vectors from `start` on, which are in the results from `first` on."""
            best = [f.variable(f.load(F32, x, start + k * lanes, width)) for k in range(vectors)]
            where = [f.variable(f.zeros(I32, int(width))) for _ in range(vectors)]
            with f.loop(1, count) as i:
                for k in range(vectors):
                    new, old = f.load(F32, x, start + i * inner + k * lanes, width), best[k].get()
                    # The first of several equal ones stays, and so does the first NaN.
                    better = ~(new <= old if largest else new >= old) & old.equals(old)
                    best[k].set(f.choose(better, new, old))
                    where[k].set(f.choose(better, i.to(I32).spread(int(width)), where[k].get()))
            for k in range(vectors):
                f.store(best[k].get(), values, first + k * lanes, width)
                f.store(where[k].get().to(I64), index, first + k * lanes, width)

        with f.loop(f.low, f.high) as unit:
            outer, begin = unit // blocks, unit % blocks * (VECTORS * lanes)
            start, first = outer * count * inner + begin, outer * inner + begin
            with f.b.if_else((begin + VECTORS * lanes <= inner).v) as (whole, part):
                with whole:
                    lines(start, first, VECTORS, lanes)
                with part, f.loop(0, inner - begin, lanes) as column:
                    mask = lanes_within(f, f.integer(0), inner - begin - column, lanes)
                    lines(start + column, first + column, 1, Some(lanes, mask))
        f.end()
        return [Stage(f, "units", "units_alone")]

    return staged("find_places", f"find places {'largest' if largest else 'smallest'}", "fif", write)


def _maker(largest: bool, values_too: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def maker(numpy: Callable[..., Any]) -> Callable[..., Any]:
        def run(x: Any, *, axis: Any, keepdims: bool) -> Any:
            if axis is None or x.dtype is not FLOAT32 or x.size < WORTH_IT or axis >= x.ndim - 1 or x.shape[axis] >= 1 << 31:
                return declined(numpy, x, axis=axis, keepdims=keepdims)
            outer, inner = x.shape[:axis], x.shape[axis + 1:]
            shape = (*outer, 1, *inner) if keepdims else outer + inner
            values, index = np.empty(shape, FLOAT32), np.empty(shape, np.int64)
            _find(largest)(_plan(math.prod(outer), x.shape[axis], math.prod(inner)), in_one_piece(x), index, values)
            return (values, index) if values_too else index

        return run

    return maker


max_along, min_along = _maker(True, True), _maker(False, True)
argmax, argmin = _maker(True, False), _maker(False, False)
