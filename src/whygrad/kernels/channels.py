"""Kernels that go channel by channel over arrays of shape (batch, channels, ...): each channel is one thread's work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.kernels.calls import Array, Entry
from whygrad.kernels.host import host as machine
from whygrad.kernels.rowwise import ARGUMENTS, MOST, RESULTS, TASK, kernel_of, new_results, read_arguments
from whygrad.kernels.values import F32, F64, I64, POINTER, VOID, Function, Value, Variable

SERIAL_BELOW = 16384


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


@cache
def channel_kernel(name: str, kinds: str, results: str, body: Callable[[Channel], None]) -> Callable[..., Any]:
    """A function of the arguments of `kinds`. None if it is not for them."""
    return kernel_of("channels", name, kinds, results,
                     lambda module, symbol: _write_task(module, symbol, kinds, results, body), _write_entry)


def _write_task(module: Any, name: str, kinds: str, results: str, body: Callable[[Channel], None]) -> None:
    f = Function(module, name, VOID, [POINTER, I64, I64])
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
    f.give()


def _write_entry(module: Any, name: str) -> None:
    """The entry of all of them. Its parameters are those of rowwise.py."""
    entry = Entry(module, name, None)
    f = entry.f
    count, results = entry.parameter(ARGUMENTS), entry.parameter(RESULTS)
    entry.require(entry.count.equals(count))
    slots = f.frame(I64, MOST + 3)

    def check(array: Array, kind: Value, first: Variable) -> None:
        with f.either(entry.is_null(first.get())) as (is_first, is_next):
            with is_first:
                entry.require_shape(array.ndim.to(I64) > 2)
                first.set(array.value)
            with is_next, f.either(kind.equals(ord("x"))) as (alike, by_channel):
                with alike:
                    entry.same_shape(Array(f, first.get()), array)
                with by_channel:
                    entry.require_shape(array.size().equals(f.load(I64, Array(f, first.get()).shape, 1)))

    like = read_arguments(entry, slots, check)
    n = like.size()
    entry.require_shape(n > 0)
    batch, channels = f.load(I64, like.shape, 0), f.load(I64, like.shape, 1)
    made = new_results(entry, like, channels, slots)
    for place, value in enumerate((batch, channels, n // (batch * channels))):
        f.store(value, slots, count + results + place)
    entry.run(entry.parameter(TASK, POINTER), slots, channels, f.choose(n < SERIAL_BELOW, channels + 1, f.integer(2)), 1)
    entry.give_those(made, results)
