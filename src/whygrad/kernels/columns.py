"""Sums, products and extremes over the rows of an array, column by column.

A part of the rows is added up at a time, and of long rows a part of the columns; then the parts. What a part is follows from
the shape, so the order of adding never changes; and a part's memory lies together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of, function_for_all
from whygrad.kernels.host import host as machine
from whygrad.kernels.values import F32, I32, I64, POINTER, VOID, Function, Value, Variable

# Elements below which one thread is quicker than two.
SERIAL_BELOW = 32768
# The rows and columns of a part. Long sums lose less if they are made of short ones.
HEIGHT, WIDTH = 128, 1024

Term = Callable[[Function, list[Value], Value, Value, int], Value]


class Fold(NamedTuple):
    """How elements become one: in kernels its name, what it starts with, and how two are combined."""

    name: str
    start: float
    combine: Callable[[Function, Value, Value], Value]


SUM = Fold("", 0.0, lambda f, total, new: total + new)


@cache
def column_kernel(name: str, kinds: str, term: Term, fold: Fold = SUM) -> Callable[..., Any]:
    """A function of the arguments and the number of columns that sums `term` over all rows, or makes one of it by another
    `fold`.

    Arguments are "x" arrays of rows, "r" with one number for each row. `term(f, arguments, row, place, width)`: for an "x" the
    argument is its start and `place` counts from there. The function gives None for other arguments.
    """
    def task(name: str, count: int, term: Term) -> str:
        return function_for_all(f"parts of columns {name}{fold.name}",
                                lambda module, symbol: _write_task(module, symbol, count, term, fold))

    join = task("themselves", 1, themselves)
    parts = join if term is themselves else task(f"{name} {kinds}", len(kinds), term)
    address = address_of(f"columns {name} {kinds}{fold.name}", lambda module, symbol: _write(module, symbol, kinds, parts, join))
    return python_function(name, address)


def themselves(f: Function, arguments: list[Value], row: Value, place: Value, width: int) -> Value:
    """The term of a plain sum."""
    return f.load(F32, arguments[0], place, width)


def _write(module: Any, name: str, kinds: str, task: str, join: str) -> None:
    entry = Entry(module, name, len(kinds) + 1)
    f = entry.f
    columns = entry.number(entry.argument(len(kinds))).to(I64)
    entry.require_shape(columns > 0)
    arrays = [entry.array(entry.argument(i), "f4") for i in range(len(kinds))]
    first = arrays[0]
    n = first.size()
    rows = n // columns
    entry.require_shape((rows * columns).equals(n))
    for kind, array in zip(kinds[1:], arrays[1:], strict=True):
        if kind == "x":
            entry.same_shape(first, array)
        else:
            entry.require_shape(array.size().equals(rows))

    def run(task: str, data: list[Value], out: Value, rows: Value, height: Value, parts: Value) -> None:
        across = (columns + (WIDTH - 1)) // WIDTH
        tasks = parts * across
        serial_below = f.choose(rows * columns < SERIAL_BELOW, tasks + 1, f.integer(0))
        entry.run(task, entry.slots([*data, data_of(f, out), rows, columns, height, across]), tasks, serial_below, 1)

    made = entry.new_array("f4", f.constant(1, I32), entry.slots([columns]))
    parts = f.larger((rows + (HEIGHT - 1)) // HEIGHT, 1)
    data = [array.data for array in arrays]
    with f.either(parts.equals(1)) as (one, several):
        with one:
            run(task, data, made, rows, f.integer(HEIGHT), parts)
        with several:
            sums = entry.new_array("f4", f.constant(1, I32), entry.slots([parts * columns]))
            run(task, data, sums, rows, f.integer(HEIGHT), parts)
            run(join, [data_of(f, sums)], made, parts, parts, f.integer(1))
            f.call("Py_DecRef", VOID, sums)
    entry.give(made)


def _write_task(module: Any, name: str, count: int, term: Term, fold: Fold) -> None:
    """task(slots, low, high): those parts. There are `across` beside each other, of `height` rows; each line of them is a row
    of the result."""
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    arguments = [f.load(POINTER, slots, i) for i in range(count)]
    out = f.load(POINTER, slots, count)
    rows, columns, height, across = (f.load(I64, slots, count + i) for i in range(1, 5))
    lanes, most = machine().lanes, machine().registers // 2
    with f.loop(low, high) as part:
        line = part // across
        start, left = line * height, part % across * WIDTH
        stop, right = f.smaller(start + height, rows), f.smaller(left + WIDTH, columns)

        def strip(j: Value, width: int, count: int) -> None:
            """Fold `count` vectors of each row, from column j on. A single vector has an accumulator for every fourth row."""
            together = 4 if count == 1 else 1
            sums = [[f.variable(f.constant(fold.start, F32, int(width))) for _ in range(count)] for _ in range(together)]

            def add(row: Value, sums: list[Variable]) -> None:
                for i, total in enumerate(sums):
                    total.set(fold.combine(f, total.get(), term(f, arguments, row, row * columns + j + i * width, width)))

            whole = start + (stop - start) // together * together
            with f.loop(start, whole, together) as row:
                for k in range(together):
                    add(row + k, sums[k])
            with f.loop(whole, stop) as row:
                add(row, sums[0])
            for i, several in enumerate(zip(*sums, strict=True)):
                total = several[0].get()
                for other in several[1:]:
                    total = fold.combine(f, total, other.get())
                f.store(total, out, line * columns + j + i * width, width)

        for count in (most, 4, 1):
            block = count * lanes
            reached = left + (right - left) // block * block
            with f.loop(left, reached, block) as j:
                strip(j, lanes, count)
            left = reached
        f.rest(left, right, lanes, lambda j, width: strip(j, width, 1))
    f.give()
