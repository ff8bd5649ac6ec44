"""Rows of a table by their numbers, and the adjoint: rows added up where the numbers say.

For adding, each row of the table gets the list of those that belong to it, in the order in which they come; then
threads take rows of the table with their lists. So a sum does not depend on the threads, and no two write to the same row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import contiguous, is_contiguous, maker
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Task, kernel_of_units, staged
from whygrad.kernels.tiles import copy_row, lanes_within, load_some, store_some
from whygrad.kernels.values import F32, I64, Value

# Numbers below which one thread does all, and below which rows are not worth asking for.
SERIAL_BELOW = 32768
MIN_SIZE = 8192
# Shorter rows are NumPy's, which does single elements.
SHORTEST = 8


class RowsPlan(Plan):
    # numbers: of rows; rows: of the table; apart: from one of the rows to be added to the next: 0 if they are all the same
    numbers = "numbers numbers_serial rows rows_serial one one_serial width apart"


@lru_cache(maxsize=256)
def _plan(count: int, rows: int, width: int, apart: int) -> Any:
    return RowsPlan.of(
        numbers=count, numbers_serial=SERIAL if count * width < SERIAL_BELOW else 0, rows=rows,
        rows_serial=SERIAL if max(count, rows) * width < SERIAL_BELOW else 0, one=1, one_serial=SERIAL, width=width, apart=apart,
    )


@kernel_of_units("take_rows", "fiif", RowsPlan, "numbers")
def _take(f: Task) -> None:
    """run(plan, table, index, missing, result): `missing` becomes 1 if there is a number that no row has."""
    table, index, missing, result = (f.array(i) for i in range(4))
    width, rows = f.fields("width rows")
    with f.loop(f.low, f.high) as i:
        number = f.load(I64, index, i)
        there = number.below(rows)
        with f.either(there) as (found, lost):
            with found:
                copy_row(f, f.pointer(F32, table, number * width), f.pointer(F32, result, i * width), width)
            with lost:
                f.store(f.integer(1), missing)


@cache
def _add(fresh: bool) -> Callable[..., Any]:
    """run(plan, index, missing, first, following, source, result): the rows of `source` are added to those of `result`, or
    to zeros if it is `fresh`. `first` and `following` are for the lists."""

    def write_lists(f: Task) -> None:
        index, missing, first, following = (f.array(i) for i in range(4))
        count, rows = f.fields("numbers rows")
        with f.loop(0, rows) as row:
            f.store(f.integer(-1), first, row)
        with f.loop(0, count) as done:
            i = count - 1 - done
            number = f.load(I64, index, i)
            there = number.below(rows)
            with f.either(there) as (found, lost):
                with found:
                    f.store(f.load(I64, first, number), following, i)
                    f.store(i, first, number)
                with lost:
                    f.store(f.integer(1), missing)

    return staged("add_rows", "iiiiff", RowsPlan, key=f"add rows {fresh}", one=write_lists, rows=lambda f: _write_sums(f, fresh))


def _write_sums(f: Task, fresh: bool) -> None:
    first, following, source, result = (f.array(i) for i in range(2, 6))
    width, apart = f.fields("width apart")
    with f.loop(f.low, f.high) as row:
        target = f.pointer(F32, result, row * width)
        member = f.variable(f.load(I64, first, row))
        if fresh:
            with f.either(member.get() < 0) as (none, some):
                with none:
                    _each_vector(f, width, lambda j, read, store: store(f.zeros(F32, host().lanes), target, j))
                with some:
                    copy_row(f, f.pointer(F32, source, member.get() * apart), target, width)
                    member.set(f.load(I64, following, member.get()))
        with f.repeat_while(lambda: member.get() >= 0):
            one = f.pointer(F32, source, member.get() * apart)
            _each_vector(f, width, lambda j, read, store: store(read(target, j) + read(one, j), target, j))
            member.set(f.load(I64, following, member.get()))


def _each_vector(f: Task, width: Value, body: Callable[[Value, Any, Any], None]) -> None:
    """`body(place, read, store)` for a row's vectors, of which the last may be a part."""
    whole = width // f.lanes * f.lanes
    with f.loop(0, whole, f.lanes) as j:
        body(j, lambda base, at: f.load(F32, base, at, f.lanes), f.store)
    with f.when(whole < width):
        mask = lanes_within(f, f.integer(0), width - whole, f.lanes)
        body(whole, lambda base, at: load_some(f, base, at, mask), lambda value, base, at: store_some(f, value, base, at, mask))


def _numbers(index: Any) -> Any:
    return contiguous(np.asarray(index, np.int64))


def take_rows(table: Any, index: Any) -> Any:
    """`table[index]`, or None if that is not for this kernel, or not there."""
    if type(table) is not np.ndarray or table.dtype is not FLOAT32 or table.ndim < 1 or not is_contiguous(table) or \
            not table.size:
        return None
    rows, width = len(table), table.size // len(table)
    if index.size * width < MIN_SIZE or width < SHORTEST:
        return None
    result, missing = np.empty(index.shape + table.shape[1:], FLOAT32), np.zeros(1, np.int64)
    _take()(_plan(index.size, rows, width, width), table, _numbers(index), missing, result)
    return None if missing[0] else result


def add_rows(x: Any, index: Any, shape: tuple[int, ...], into: Any = None) -> Any:
    """Zeros of `shape`, or `into`, with the rows of `x` added where `index` says; or None."""
    if type(x) is not np.ndarray or x.dtype is not FLOAT32 or not x.size or not shape or not shape[0]:
        return None
    if into is not None and not (into.dtype is FLOAT32 and into.flags.carray and not np.may_share_memory(x, into)):
        return None
    rows, width = shape[0], x.size // index.size
    if width < SHORTEST:
        return None
    apart = width
    if not any(x.strides[:index.ndim]):  # the gradient of a sum: all rows are one
        x, apart = x[(0,) * index.ndim], 0
    missing, first = np.zeros(1, np.int64), np.empty(rows + index.size, np.int64)
    result = np.empty(shape, FLOAT32) if into is None else into
    numbers = _numbers(index)
    if into is not None and (numbers.min() < 0 or numbers.max() >= rows):
        return None  # nothing may be written then
    _add(into is None)(_plan(index.size, rows, width, apart), numbers, missing, first[:rows], first[rows:], contiguous(x),
                       result)
    return None if missing[0] else result


@maker
def embedding(table: Any, index: Any, *, padding_idx: int, by_frequency: bool) -> Any:
    return take_rows(table, index)


@maker
def embedding_backward(x: Any, index: Any, *, rows: int, padding_idx: int, by_frequency: bool) -> Any:
    found = None if by_frequency else add_rows(x, index, (rows, x.shape[-1]))
    if found is not None and padding_idx >= 0:
        found[padding_idx] = 0
    return found


@maker
def index_select(x: Any, index: Any, *, axis: int) -> Any:
    return take_rows(x, index) if axis == 0 and index.ndim == 1 else None


@maker
def index_select_backward(x: Any, index: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    return add_rows(x, index, shape) if axis == 0 and index.ndim == 1 else None


@maker
def index(x: Any, index: Any, *, axes: tuple[int, ...]) -> Any:
    return take_rows(x, index) if axes == (0,) else None


@maker
def index_backward(x: Any, index: Any, *, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    return add_rows(x, index, shape) if axes == (0,) and index.size else None
