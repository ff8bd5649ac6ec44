"""Kernels that go row by row: an array is read as rows of `columns` numbers, and each row is one thread's work.

So sums are added up in the same order however many threads there are. A kernel is a list of argument kinds, a list of
result kinds and a body that writes what happens to one row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import Array, Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host as machine
from whygrad.kernels.values import F32, F64, I64, POINTER, VOID, Function, Some, Value, Variable

# Elements below which one thread is quicker than two.
SERIAL_BELOW = 16384


class Row:
    """What a body sees: the function being written, the row's length, and its arguments by position.

    An argument is the start of this row ("x"), the start of a vector as long as a row ("w"), or a number ("s"); a result
    is the start of its row ("y"), or the place for one number ("r").
    """

    def __init__(self, f: Function, columns: Value, arguments: list[Any], results: list[Any]) -> None:
        self.f = f
        self.columns = columns
        self.arguments = arguments
        self.results = results
        self.lanes = machine().lanes

    @property
    def count(self) -> Value:
        return self.columns

    def each(self, body: Callable[[Any, int], None], unroll: int = 1, masks: bool = False) -> None:
        """Call `body(place, width)` for all columns: vectors, then the rest one by one.

        With `masks` the rest is one vector of which some lanes are in use; the body must hand `width` on to `store`.
        """
        self.each_part(lambda j, width, part: body(j, width), unroll, masks)

    def each_part(self, body: Callable[[Any, int, int], None], unroll: int, masks: bool = False) -> None:
        f, block = self.f, self.lanes * unroll
        blocks = self.columns // block * block
        with f.loop(0, blocks, block) as j:
            for part in range(unroll):
                body(j + part * self.lanes, self.lanes, part)
        if unroll > 1:
            vectors = self.columns // self.lanes * self.lanes
            with f.loop(blocks, vectors, self.lanes) as j:
                body(j, self.lanes, 0)
        else:
            vectors = blocks
        if masks:
            f.rest(vectors, self.columns, self.lanes, lambda j, width: body(j, width, 0))
            return
        with f.loop(vectors, self.columns) as j:
            body(j, 1, -1)

    def fold(self, term: Callable[[Any, int], Value], start: float, combine: Callable[[Value, Value], Value],
             finish: Callable[[Value], Value], unroll: int = 4, masks: bool = True) -> Value:
        """Combine `term(place, width)` over the row, in several vectors at once."""
        f = self.f
        several = [f.variable(f.constant(start, F32, self.lanes)) for _ in range(unroll)]
        single = f.variable(f.constant(start, F32))

        def step(j: Any, width: int, part: int) -> None:
            place = single if width == 1 else several[part]
            value = term(j, width)
            if isinstance(width, Some):
                value = f.choose(width.mask, value, start)
            place.set(combine(value, place.get()))

        self.each_part(step, unroll, masks)
        total = several[0].get()
        for other in several[1:]:
            total = combine(other.get(), total)
        return combine(single.get(), finish(total))

    def sum(self, term: Callable[[Any, int], Value]) -> Value:
        return self.fold(term, 0.0, lambda new, total: total + new, self.f.total, unroll=2)

    def max(self, term: Callable[[Any, int], Value]) -> Value:
        """The largest number; NaN does not count."""
        def larger(new: Value, so_far: Value) -> Value:
            return self.f.choose(new > so_far, new, so_far)

        return self.fold(term, float("-inf"), larger, lambda x: self.f._fold(x, larger))

    def load(self, place: Value, j: Any, width: int) -> Value:
        """An argument that is a number counts as a row of equal elements."""
        return place.spread(width) if place.is_float else self.f.load(F32, place, j, width)


Body = Callable[[Row], Any]


def row_or_number(x: Any) -> Any:
    """An array in one piece; or its only number, if it is one that was expanded."""
    if x.flags.c_contiguous:
        return x
    return x.item(0) if x.size and x.dtype == np.float32 and not any(x.strides) else np.ascontiguousarray(x)


# Parameters of the entry (see calls.py): the task, the numbers of arguments and results, and the kind of each.
TASK, ARGUMENTS, RESULTS, KINDS = range(4)
MOST = 8  # arguments and results


@cache
def row_kernel(name: str, kinds: str, results: str, body: Body) -> Callable[..., Any]:
    """A function of the arguments of `kinds` and the number of columns, as an int, in the end. None if it is not for them."""
    return kernel_of("rows", name, kinds, results,
                     lambda module, symbol: _write_task(module, symbol, kinds, results, body), _write_entry)


def kernel_of(sort: str, name: str, kinds: str, results: str, write_task: Callable[..., None], write_entry: Callable[..., None]
              ) -> Callable[..., Any]:
    """A kernel whose entry is that of all of its sort, for rows or for channels."""
    assert len(kinds) + len(results) <= MOST
    task, entry = address_of(f"{sort} {name} {kinds} {results}", write_task), address_of(sort, write_entry)
    return python_function(name, entry, None, [task, len(kinds), len(results), *map(ord, kinds + results)])


def _write_task(module: Any, name: str, kinds: str, results: str, body: Body) -> None:
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    count = len(kinds)
    columns = f.load(I64, slots, count + len(results))
    arguments = [f.load(F64, slots, i).to(F32) if kind == "s" else f.load(POINTER, slots, i) for i, kind in enumerate(kinds)]
    outs = [f.load(POINTER, slots, count + i) for i in range(len(results))]
    with f.loop(low, high) as row:
        start = row * columns
        body(Row(f, columns,
                 [f.pointer(F32, value, start) if kind == "x" else value for kind, value in zip(kinds, arguments, strict=True)],
                 [f.pointer(F32, value, start if kind == "y" else row) for kind, value in zip(results, outs, strict=True)]))
    f.give()


def _write_entry(module: Any, name: str) -> None:
    entry = Entry(module, name, None)
    f = entry.f
    count, results = entry.parameter(ARGUMENTS), entry.parameter(RESULTS)
    entry.require(entry.count.equals(count + 1))
    columns = entry.number(entry.argument(count)).to(I64)
    entry.require_shape(columns > 0)
    slots = f.frame(I64, MOST + 1)

    def check(array: Array, kind: Value, first: Variable) -> None:
        with f.either(kind.equals(ord("w"))) as (is_vector, has_rows):
            with is_vector:
                entry.require_shape(array.size().equals(columns))
            with has_rows, f.either(entry.is_null(first.get())) as (is_first, is_next):
                with is_first:
                    first.set(array.value)
                with is_next:
                    entry.same_shape(Array(f, first.get()), array)

    like = read_arguments(entry, slots, check)
    n = like.size()
    rows = n // columns
    entry.require_shape((rows * columns).equals(n))
    made = new_results(entry, like, rows, slots)
    f.store(columns, slots, count + results)
    # Threads share rows; the number of rows that is worth it depends on their length.
    entry.run(entry.parameter(TASK, POINTER), slots, rows, (columns + (SERIAL_BELOW - 1)) // columns, 1)
    entry.give_those(made, results)


def read_arguments(entry: Entry, slots: Value, check: Callable[[Array, Value, Variable], None]) -> Array:
    """Numbers, and where arrays are, into the slots; gives the array that the results are like.

    `check(array, kind, first)` refuses an array that does not suit, and sets `first` to that one.
    """
    f = entry.f
    first = f.variable(f.null)
    with f.loop(0, entry.parameter(ARGUMENTS)) as i:
        argument, kind = entry.argument(i), entry.parameter(i + KINDS)
        with f.either(kind.equals(ord("s"))) as (is_number, is_array):
            with is_number:
                f.store(entry.number(argument), slots, i)
            with is_array:
                array = entry.array(argument, "f4")
                f.store(array.data, slots, i)
                check(array, kind, first)
    return Array(f, first.get())


def new_results(entry: Entry, like: Array, length: Value, slots: Value) -> Value:
    """Where the new arrays are: those of kind "y" are like an argument, others are vectors of `length`."""
    f = entry.f
    count = entry.parameter(ARGUMENTS)
    made, vector = f.frame(I64, MOST), f.frame(I64, 1)
    f.store(length, vector)
    with f.loop(0, entry.parameter(RESULTS)) as i:
        whole = entry.parameter(count + i + KINDS).equals(ord("y"))
        fresh = entry.new_array("f4", f.choose(whole, like.ndim, 1), f.choose(whole, like.shape, vector))
        f.store(fresh, made, i)
        f.store(data_of(f, fresh), slots, count + i)
    return made
