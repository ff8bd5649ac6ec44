"""The Mersenne twister's words, and what `_rng` makes of them, as machine code that works on NumPy's own generator.

A generator's state is 624 words and the number of those that were used (`bits.ctypes.state_address`). Whoever draws, NumPy
or a kernel, leaves it as the other would have. Kernels that draw keep Python's lock: the words of a stream have an order.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whygrad.base.cephes import COSINE, LOGARITHM, SINE
from whygrad.kernels.calls import Entry, python_function
from whygrad.kernels.code import address_of, function_for_all
from whygrad.kernels.host import host
from whygrad.kernels.values import F32, F64, I8, I32, I64, POINTER, VOID, Function, Value, vector

KERNELS, SHIFT = 624, 397
# Elements below which one thread is quicker than two.
SERIAL_BELOW = 8192
BLOCK = 16

# What is made of words: `make(f, words, numbers)` gives elements; the first of `numbers` tells where they begin, and so on.
Maker = Callable[[Function, Value, list[Value]], Value]


def _signed(word: int) -> int:
    return word - (1 << 32) if word >> 31 else word


def _tempered(x: Value) -> Value:
    x = x ^ x.shifted_right(11)
    x = x ^ ((x << 7) & _signed(0x9D2C5680))
    x = x ^ ((x << 15) & _signed(0xEFC60000))
    return x ^ x.shifted_right(18)


def _write_renewal(module: Any, name: str) -> None:
    """void renew(state): the next 624 words, each made of itself, the following one and the one 397 places on."""
    f = Function(module, name, VOID, [POINTER])
    (state,) = f.arguments
    lanes = host().lanes

    def renewed(place: Value, following: Value, other: Value, width: int) -> None:
        mixed = (f.load(I32, state, place, width) & _signed(0x80000000)) | (f.load(I32, state, following, width) & 0x7FFFFFFF)
        word = f.load(I32, state, other, width) ^ mixed.shifted_right(1) ^ (-(mixed & 1) & _signed(0x9908B0DF))
        f.store(word, state, place)

    def span(start: int, stop: int, away: int) -> None:
        whole = start + (stop - start) // lanes * lanes
        with f.loop(start, whole, lanes) as i:
            renewed(i, i + 1, i + away, lanes)
        with f.loop(whole, stop) as i:
            renewed(i, i + 1, i + away, 1)

    span(0, KERNELS - SHIFT, SHIFT)
    span(KERNELS - SHIFT, KERNELS - 1, SHIFT - KERNELS)
    renewed(f.integer(KERNELS - 1), f.integer(0), f.integer(SHIFT - 1), 1)
    f.give()


def _write_draws(module: Any, name: str, make: Maker, pairs: bool, renew: str) -> Any:
    """void draw(state, out, n, numbers): elements of one word each, or of two."""
    f = Function(module, f"{name}_draw", VOID, [POINTER, POINTER, I64, POINTER], internal=True)
    state, out, n, numbers = f.arguments
    lanes = host().lanes
    together = lanes // 2 if pairs else lanes
    used, done = f.variable(f.load(I32, state, KERNELS).to(I64)), f.variable(f.integer(0))
    given = [f.load(F64, numbers, i) for i in range(3)]

    def at(words: Value, place: Value, width: int) -> None:
        words = _tempered(words)
        if pairs:
            joined = Value(f, f.b.cast("bitcast", words.v, vector(I64, width)))
            words = (joined << 32) | joined.shifted_right(32)  # the first word is the high half
        made = make(f, words, given)
        f.store(made, out, place)

    each = 2 if pairs else 1
    with f.repeat_while(lambda: done.get() < n):
        with f.when(used.get() >= KERNELS):
            f.call(renew, VOID, state)
            used.set(f.integer(0))
        start, first = used.get(), done.get()
        count = f.smaller(n - first, (KERNELS - start) // each)
        whole = count // together * together
        with f.loop(0, whole, together, running=True) as i:
            at(f.load(I32, state, start + i * each, together * each), first + i, together)
        with f.loop(whole, count) as i:
            at(f.load(I32, state, start + i * each, each), first + i, 1)
        used.set(start + count * each)
        done.set(first + count)
        if pairs:
            with f.when(used.get().equals(KERNELS - 1) & (done.get() < n)):  # one half before, one after the renewal
                high = f.load(I32, state, KERNELS - 1)
                f.call(renew, VOID, state)
                both = f.with_lane(high.spread(2), 1, f.load(I32, state, 0))
                at(both, done.get(), 1)
                used.set(f.integer(1))
                done.set(done.get() + 1)
    f.store(used.get().to(I32), state, KERNELS)
    f.give()
    return f.function


def _within(f: Function, unit: Value, low: Value, high: Value) -> Value:
    """From low up to high, which rounding may reach: torch gives the other end then."""
    value = f.fma(unit, high - low, low)
    return f.choose(value.equals(high), low, value)


def _singles(f: Function, words: Value, numbers: list[Value]) -> Value:
    low, high = (number.to(F32).spread(words.lanes) for number in numbers[:2])
    return _within(f, (words & 0xFFFFFF).to(F32) * 2.0 ** -24, low, high)


def _doubles(f: Function, words: Value, numbers: list[Value]) -> Value:
    low, high = (number.spread(words.lanes) for number in numbers[:2])
    return _within(f, (words & (2 ** 53 - 1)).to(F64) * 2.0 ** -53, low, high)


def _is_below(f: Function, words: Value, numbers: list[Value]) -> Value:
    return (words & (2 ** 53 - 1)) < numbers[0].to(I64).spread(words.lanes)


def _hits(f: Function, words: Value, numbers: list[Value]) -> Value:
    return f.choose(_is_below(f, words, numbers), numbers[1].to(F32).spread(words.lanes), f.zeros(F32, words.lanes))


def _masks(f: Function, words: Value, numbers: list[Value]) -> Value:
    return _is_below(f, words, numbers).to(I8)


def _words(f: Function, words: Value, numbers: list[Value]) -> Value:
    return words.cast("zext", I64)


def _integers(f: Function, words: Value, numbers: list[Value]) -> Value:
    """The remainder of dividing by the span, by way of a quotient that is right or off by one."""
    lanes = words.lanes
    low, span = numbers[0].to(I64).spread(lanes), numbers[1].to(I64).spread(lanes)
    wide = _words(f, words, numbers)
    quotient = (wide.to(F64) * numbers[2].spread(lanes)).to(I64)
    rest = wide - quotient * span
    rest = f.choose(rest < 0, rest + span, f.choose(rest >= span, rest - span, rest))
    return rest + low


# name -> (dtype of the result, whether an element takes two words, its maker)
DRAWS: dict[str, tuple[str, bool, Maker]] = {
    "singles": ("f4", False, _singles),  # low, high
    "doubles": ("f8", True, _doubles),  # low, high
    "hits": ("f4", True, _hits),  # of 2**53 the ones that hit, and what stands for a hit
    "masks": ("?", True, _masks),
    "integers": ("i8", False, _integers),  # low, span, 1 / span
    "words": ("i8", False, _words),
}


@cache
def drawing(name: str) -> Callable[..., Any]:
    """draw(address of a state, out, three numbers) fills an array."""
    code, pairs, make = DRAWS[name]
    renew = function_for_all("draw: renew", _write_renewal)

    def build(module: Any, symbol: str) -> None:
        draw = _write_draws(module, symbol, make, pairs, renew)
        entry = Entry(module, symbol, 5)
        f = entry.f
        state = entry.number(entry.argument(0)).to(I64).cast("inttoptr", POINTER)
        out = entry.array(entry.argument(1), code, writeable=True)
        numbers = entry.slots([entry.number(entry.argument(2 + i)) for i in range(3)])
        f.b.call(draw, [x.v for x in (state, out.data, out.size(), numbers)])
        _give_nothing(entry)

    return python_function(name, address_of(f"draw {name}", build), (_refuse, _refuse))


def _give_nothing(entry: Entry) -> None:
    nothing = entry.object("_Py_NoneStruct")
    entry.f.call("Py_IncRef", VOID, nothing)
    entry.give(nothing)


def _refuse(*args: Any) -> Any:
    raise TypeError(f"internal error: not made for {[getattr(x, 'dtype', x) for x in args]}")


# Logarithm, sine and cosine as torch's vector code has them (Cephes'): see `log_single` and `sincos_single` in box_muller.py.

def _log(f: Function, x: Value, coefficients: list[float]) -> Value:
    bits = x.bits_as(I32)
    fraction = ((bits & 0x007FFFFF) | 0x3F000000).bits_as(F32)
    low = fraction < math.sqrt(0.5)
    e = (bits.shifted_right(23) - 126).to(F32) - f.choose(low, x.like(1.0), x.like(0.0))
    x = f.choose(low, fraction + fraction, fraction) - 1.0
    square = x * x
    y = f.fma(f.polynomial(x, coefficients) * x, square, e * -2.12194440e-4)
    return x + (y - square * 0.5) + e * 0.693359375


def _sine_and_cosine(f: Function, x: Value, of_sine: list[float], of_cosine: list[float]) -> tuple[Value, Value]:
    octant = ((x * (4 / math.pi)).to(I32) + 1) & -2
    y = octant.to(F32)
    x = x + y * -0.78515625 + y * -2.4187564849853515625e-4
    x = f.fma(y, -3.77489497744594108e-8, x)
    square = x * x
    near_one = f.fma(f.polynomial(square, of_cosine) * square, square, square * -0.5) + 1.0
    near_zero = f.fma(f.polynomial(square, of_sine) * square, x, x)
    upright = (octant & 2).equals(0)
    sine, cosine = f.choose(upright, near_zero, near_one), f.choose(upright, near_one, near_zero)
    signs = (octant & 4) << 29, ((octant + 2) & 4) << 29
    return (sine.bits_as(I32) ^ signs[0]).bits_as(F32), (cosine.bits_as(I32) ^ signs[1]).bits_as(F32)


@cache
def normals() -> Callable[..., Any]:
    """run(units, mean, std): blocks of 16 uniform numbers become normal ones, eight radii and eight angles."""
    def build(module: Any, symbol: str) -> None:
        f = Function(module, f"{symbol}_task", VOID, [POINTER, I64, I64], internal=True)
        slots, low, high = f.arguments
        half = BLOCK // 2
        units = f.load(POINTER, slots, 0)
        mean, std = (f.load(F64, slots, i).to(F32).spread(half) for i in (1, 2))
        with f.loop(low, high) as block:
            place = f.pointer(F32, units, block * BLOCK)
            logarithm = _log(f, 1.0 - f.load(F32, place, 0, half), list(LOGARITHM))
            radius = f.intrinsic("sqrt", logarithm * -2.0)
            turned = _sine_and_cosine(f, f.load(F32, place, half, half) * (2 * math.pi), list(SINE), list(COSINE))
            for i, value in enumerate(reversed(turned)):
                f.store(f.fma(radius * value, std, mean), place, i * half)
        f.give()
        entry = Entry(module, symbol, 3)
        array = entry.array(entry.argument(0), "f4", writeable=True)
        numbers = [entry.number(entry.argument(i)) for i in (1, 2)]
        entry.run(f.function, entry.slots([array.data, *numbers]), array.size() // BLOCK, SERIAL_BELOW // BLOCK, 4)
        _give_nothing(entry)

    return python_function("normals", address_of("normals", build), (_refuse, _refuse))


@cache
def swaps() -> Callable[..., Any]:
    """run(places, words): swap each place i with i + word % (n - i)."""

    def build(module: Any, symbol: str) -> None:
        entry = Entry(module, symbol, 2)
        f = entry.f
        places, words = (entry.array(entry.argument(i), "i8", writeable=i == 0) for i in range(2))
        n, count = places.size(), words.size()
        entry.require_shape(count < n)
        with f.loop(0, count) as i:
            other = i + f.load(I64, words.data, i) % (n - i)
            here, there = f.load(I64, places.data, i), f.load(I64, places.data, other)
            f.store(there, places.data, i)
            f.store(here, places.data, other)
        _give_nothing(entry)

    return python_function("swaps", address_of("swaps", build), (_refuse, _refuse))


@cache
def state_is_known() -> bool:
    """Does a generator's state lie in memory as kernels expect it?"""
    bits = np.random.MT19937(1)
    bits.random_raw(3)
    words = (ctypes.c_uint32 * (KERNELS + 1)).from_address(bits.ctypes.state_address)
    state: Any = bits.state["state"]
    return list(words) == [*state["key"].tolist(), state["pos"]]
