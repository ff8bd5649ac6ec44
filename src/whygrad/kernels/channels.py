"""Kernels that go channel by channel over arrays of shape (batch, channels, ...): each channel is one thread's work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host as machine
from whygrad.kernels.pool import pool
from whygrad.kernels.values import F32, F64, I32, I64, POINTER, VOID, Function, Value

_whygrad_internal_ = True

ALONE_BELOW = 16384


class Channel:
    """What a body sees. Arguments: "x" an array, "c" this channel's number of a vector, "s" a number.

    Results: "y" an array, "c" the place for this channel's number.
    """

    def __init__(self, f: Function, batch: Value, channels: Value, length: Value, number: Value, arguments: list[Any],
                 results: list[Any]) -> None:
        self.f = f
        self.batch, self.channels, self.length, self.number = batch, channels, length, number
        self.arguments = arguments
        self.results = results
        self.count = batch * length
        self.lanes = machine().lanes

    def each(self, body: Callable[[Any, int], None]) -> None:
        """Call `body(place, width)` for all elements of the channel; places count from the array's start."""
        f = self.f
        whole = self.length // self.lanes * self.lanes
        with f.loop(0, self.batch) as n:
            start = (n * self.channels + self.number) * self.length
            with f.loop(start, start + whole, self.lanes) as j:
                body(j, self.lanes)
            with f.loop(start + whole, start + self.length) as j:
                body(j, 1)

    def sum(self, term: Callable[[Any, int], Value]) -> Value:
        """Added up sample by sample, so that long sums lose little."""
        f = self.f
        total = f.variable(f.zeros(F32))
        whole = self.length // (2 * self.lanes) * (2 * self.lanes)
        with f.loop(0, self.batch) as n:
            start = (n * self.channels + self.number) * self.length
            several = [f.variable(f.zeros(F32, self.lanes)) for _ in range(2)]
            single = f.variable(f.zeros(F32))
            with f.loop(start, start + whole, 2 * self.lanes) as j:
                for part, place in enumerate(several):
                    place.add(term(j + part * self.lanes, self.lanes))
            with f.loop(start + whole, start + self.length) as j:
                single.add(term(j, 1))
            total.add(f.total(several[0].get() + several[1].get()) + single.get())
        return total.get()

    def load(self, place: Value, j: Any, width: int) -> Value:
        return self.f.load(F32, place, j, width)

    def store(self, value: Value, place: Value, j: Any) -> None:
        self.f.store(value, place, j)

    def wide(self, value: Value, width: int) -> Value:
        return value.spread(width)


def channel_kernel(name: str, kinds: str, results: str, body: Callable[[Channel], None],
                   fallback: Callable[..., Any]) -> Callable[..., Any]:
    pool()
    address = address_of(f"channels {name} {kinds} {results}",
                         lambda module, symbol: _write(module, symbol, kinds, results, body))
    return python_function(name, address, (fallback, fallback))


def _write(module: Any, name: str, kinds: str, results: str, body: Callable[[Channel], None]) -> None:
    f = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = f.arguments
    count = len(kinds)
    outs = [f.load(POINTER, slots, count + i) for i in range(len(results))]
    batch, channels, length = (f.load(I64, slots, count + len(results) + i) for i in range(3))
    with f.loop(low, high) as number:
        arguments = [f.load(F64, slots, i).to(F32) if kind == "s" else
                     f.load(F32, f.load(POINTER, slots, i), number) if kind == "c" else f.load(POINTER, slots, i)
                     for i, kind in enumerate(kinds)]
        places = [f.pointer(F32, out, number) if kind == "c" else out for kind, out in zip(results, outs, strict=True)]
        body(Channel(f, batch, channels, length, number, arguments, places))
    f.b.ret_void()

    entry = Entry(module, name, count)
    e = entry.f
    values: list[Value] = []
    first = None
    for i, kind in enumerate(kinds):
        if kind == "s":
            values.append(entry.number(entry.argument(i)))
            continue
        array = entry.array(entry.argument(i), "f4")
        if first is None:
            first = array
            entry.require_shape(first.ndim.to(I64) > 2)
            n = first.size()
            entry.require_shape(n > 0)
            rows, wanted = e.load(I64, first.shape, 0), e.load(I64, first.shape, 1)
        elif kind == "x":
            entry.same_shape(first, array)
        else:
            entry.require_shape(array.size().equals(wanted))
        values.append(array.data)
    assert first is not None
    made = [entry.new_array("f4", first.ndim, first.shape) if kind == "y" else
            entry.new_array("f4", e.constant(1, I32), entry.slots([wanted])) for kind in results]
    task_slots = entry.slots([*values, *[data_of(e, array) for array in made], rows, wanted, n // (rows * wanted)])
    alone_below = e.choose(n < ALONE_BELOW, wanted + 1, e.integer(2))
    entry.run(f.function, task_slots, wanted, alone_below, 1)
    entry.give_all(entry.slots(made), e.integer(len(made)))
