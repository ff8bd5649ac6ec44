"""Sums and other totals over the rows of an array, column by column: a thread owns its columns, so the order of adding never
changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host as machine
from whygrad.kernels.pool import pool
from whygrad.kernels.values import F32, I32, I64, POINTER, VOID, Function, Value

_whygrad_internal_ = True

ALONE_BELOW = 32768
# So many rows are added up before they join the total: long sums lose less that way.
CHUNK = 128

Term = Callable[[Function, list[Value], Value, Value, int], Value]
Combine = Callable[[Function, Value, Value], Value]


def _add(f: Function, total: Value, new: Value) -> Value:
    return total + new


def column_kernel(name: str, kinds: str, term: Term, fallback: Callable[..., Any], combine: Combine = _add,
                  start: float = 0.0) -> Callable[..., Any]:
    """A function of the arguments and the number of columns that sums `term` over all rows, or does as `combine` says.

    Arguments are "x" arrays of rows, "r" with one number for each row. `term(f, arguments, row, place, width)`: for an "x" the
    argument is its start and `place` counts from there.
    """
    pool()
    address = address_of(f"columns {name} {kinds}", lambda module, symbol: _write(module, symbol, kinds, term, combine, start))
    return python_function(name, address, (fallback, fallback))


def _write(module: Any, name: str, kinds: str, term: Term, combine: Combine, empty: float) -> None:
    lanes = machine().lanes
    f = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = f.arguments
    arguments = [f.load(POINTER, slots, i) for i in range(len(kinds))]
    out = f.load(POINTER, slots, len(kinds))
    rows, columns = f.load(I64, slots, len(kinds) + 1), f.load(I64, slots, len(kinds) + 2)

    def strip(j: Value, width: int, count: int) -> None:
        """Columns j to j + width * count."""
        totals = [f.variable(f.constant(empty, F32, width)) for _ in range(count)]
        with f.loop(0, rows, CHUNK) as start:
            parts = [f.variable(f.constant(empty, F32, width)) for _ in range(count)]
            stop = f.choose(start + CHUNK < rows, start + CHUNK, rows)
            with f.loop(start, stop) as row:
                for i, part in enumerate(parts):
                    part.set(combine(f, part.get(), term(f, arguments, row, row * columns + j + i * width, width)))
            for total, part in zip(totals, parts, strict=True):
                total.set(combine(f, total.get(), part.get()))
        for i, total in enumerate(totals):
            f.store(total.get(), out, j + i * width)

    wide = low + (high - low) // (4 * lanes) * (4 * lanes)
    vectors = low + (high - low) // lanes * lanes
    with f.loop(low, wide, 4 * lanes) as j:
        strip(j, lanes, 4)
    with f.loop(wide, vectors, lanes) as j:
        strip(j, lanes, 1)
    with f.loop(vectors, high) as j:
        strip(j, 1, 1)
    f.b.ret_void()

    entry = Entry(module, name, len(kinds) + 1)
    e = entry.f
    wanted = entry.number(entry.argument(len(kinds))).to(I64)
    entry.require_shape(wanted > 0)
    arrays = [entry.array(entry.argument(i), "f4") for i in range(len(kinds))]
    first = arrays[0]
    n = first.size()
    count = n // wanted
    entry.require_shape((count * wanted).equals(n))
    for kind, array in zip(kinds[1:], arrays[1:], strict=True):
        if kind == "x":
            entry.same_shape(first, array)
        else:
            entry.require_shape(array.size().equals(count))
    made = entry.new_array("f4", e.constant(1, I32), entry.slots([wanted]))
    task_slots = entry.slots([*[array.data for array in arrays], data_of(e, made), count, wanted])
    # Few columns of many rows are one thread's work as well: they are not cut.
    alone_below = e.choose((n < ALONE_BELOW) | (wanted < 2 * lanes), wanted + 1, e.integer(0))
    entry.run(f.function, task_slots, wanted, alone_below, lanes)
    entry.give(made)
