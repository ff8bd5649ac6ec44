"""Distances in the first norm between all rows of two tables, and the sums of signs that are their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Task, staged
from whygrad.kernels.tiles import lanes_within, load_some, store_some
from whygrad.kernels.values import F32, Value

SERIAL_BELOW = 32768
MIN_SIZE = 1024
# Rows of the second table that are compared at a time, and vectors of a row.
TOGETHER = 4


class PairsPlan(Plan):
    # rows: of the first table, of all batches; each_batch: rows of one batch
    numbers = "rows rows_serial each_batch others width"


@lru_cache(maxsize=256)
def _plan(batches: int, rows: int, others: int, width: int) -> Any:
    serial = SERIAL if batches * rows * others * width < SERIAL_BELOW else 0
    return PairsPlan.of(rows=batches * rows, rows_serial=serial, each_batch=rows, others=others, width=width)


Term = Callable[[Task, Value, Value, "Value | None"], Value]


def _signed(f: Task, a: Value, b: Value, value: Value) -> Value:
    """value * sgn(a - b)"""
    return f.choose(a > b, value, f.choose(a < b, -value, 0.0))


def _distance(f: Task, a: Value, b: Value, value: Value | None) -> Value:
    return f.intrinsic("fabs", a - b)


@cache
def _along_rows(name: str, term: Term, weighted: bool) -> Callable[..., Any]:
    """run(plan, x, a, b, result): result[i, j] is the sum over k of term(a[i, k], b[j, k], x[i, k])."""

    def write(f: Task) -> None:
        x, a, b, result = (f.array(i) for i in range(4))
        each_batch, others, width = f.fields("each_batch others width")
        lanes = host().lanes
        whole = width // lanes * lanes
        mask = lanes_within(f, f.integer(0), width - whole, lanes)

        def sums(row: Value, first: Value, count: int) -> None:
            mine, own = (f.pointer(F32, base, row * width) for base in (a, x))
            table = f.pointer(F32, b, (row // each_batch * others + first) * width)
            totals = [f.variable(f.zeros(F32, lanes)) for _ in range(count)]

            def add(k: Value, load: Callable[[Value, Value], Value]) -> None:
                here, value = load(mine, k), load(own, k) if weighted else None
                for i, total in enumerate(totals):
                    total.add(term(f, here, load(table, width * i + k), value))

            with f.loop(0, whole, lanes) as k:
                add(k, lambda base, at: f.load(F32, base, at, lanes))
            with f.when(whole < width):
                add(whole, lambda base, at: load_some(f, base, at, mask))
            for i, total in enumerate(totals):
                f.store(f.total(total.get()), result, row * others + first + i)

        with f.loop(f.low, f.high) as row:
            most = others // TOGETHER * TOGETHER
            with f.loop(0, most, TOGETHER) as first:
                sums(row, first, TOGETHER)
            with f.loop(most, others) as first:
                sums(row, first, 1)

    return staged(name, "ffff", PairsPlan, rows=write)


@cache
def _across_rows() -> Callable[..., Any]:
    """run(plan, g, a, b, result): result[i, k] is the sum over j of g[i, j] * sgn(a[i, k] - b[j, k])."""

    def write(f: Task) -> None:
        g, a, b, result = (f.array(i) for i in range(4))
        each_batch, others, width = f.fields("each_batch others width")
        lanes = host().lanes

        def strip(row: Value, k: Value, count: int, load: Callable[[Value, Value], Value],
                  store: Callable[[Value, Value, Value], None]) -> None:
            places = [k + i * lanes for i in range(count)]
            mine = [load(a, row * width + place) for place in places]
            totals = [f.variable(f.zeros(F32, lanes)) for _ in places]
            table = f.pointer(F32, b, row // each_batch * others * width)
            with f.loop(0, others) as j:
                value = f.load(F32, g, row * others + j).spread(lanes)
                for place, here, total in zip(places, mine, totals, strict=True):
                    total.add(_signed(f, here, load(table, j * width + place), value))
            for place, total in zip(places, totals, strict=True):
                store(total.get(), result, row * width + place)

        with f.loop(f.low, f.high) as row:
            most, whole = width // (TOGETHER * lanes) * (TOGETHER * lanes), width // lanes * lanes
            for low, high, count in ((f.integer(0), most, TOGETHER), (most, whole, 1)):
                with f.loop(low, high, count * lanes) as k:
                    strip(row, k, count, lambda base, at: f.load(F32, base, at, lanes), f.store)
            with f.when(whole < width):
                mask = lanes_within(f, f.integer(0), width - whole, lanes)
                strip(row, whole, 1, lambda base, at: load_some(f, base, at, mask),
                      lambda value, base, at: store_some(f, value, base, at, mask))

    return staged("signs_towards", "ffff", PairsPlan, rows=write)


def _run(kernel: Callable[..., Any], x: Any, a: Any, b: Any, columns: int) -> Any:
    """The result, which has as many columns; or None."""
    *batch, rows, width = a.shape
    others = b.shape[-2]
    if any(array.dtype is not FLOAT32 for array in (x, a, b)) or not a.size or not b.size or \
            max(batch, default=1) * rows * others * width < MIN_SIZE or tuple(batch) != b.shape[:-2]:
        return None
    return kernel(_plan(math.prod(batch), rows, others, width), contiguous(x), contiguous(a), contiguous(b),
                  np.empty((*batch, rows, columns), FLOAT32))


@maker
def cdist(a: Any, b: Any, *, ord: float, by_products: bool = False) -> Any:
    return _run(_along_rows("first_norms", _distance, False), a, a, b, b.shape[-2]) if ord == 1 else None


@maker
def signs_towards(g: Any, a: Any, b: Any) -> Any:
    return _run(_across_rows(), g, a, b, a.shape[-1])


@maker
def signs_apart(x: Any, a: Any, b: Any) -> Any:
    return _run(_along_rows("signs_apart", _signed, True), x, a, b, b.shape[-2])
