"""gather, scatter and scatter_add along an axis.

An array is read as (outer, n, inner), where `n` is the axis. A unit is an outer index and a range of inner ones: elements that
are written to the same place belong to the same unit, where they are processed in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import Entry, contiguous, is_contiguous, maker, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import SERIAL, Plan, Task, kernel_of_units
from whygrad.kernels.values import F32, I64, POINTER, VOID, Function, Value

INT64 = np.dtype(np.int64)
SERIAL_BELOW = 16384
# Fewer elements are NumPy's.
MIN_SIZE = 1
# Elements of a unit, about.
UNIT = 4096


class ElementsPlan(Plan):
    # steps: ranges of the axis, for each outer number; step: their length; blocks: ranges of inner numbers, for each of
    # those; count: of numbers along the axis, in the index; size: of the axis itself; pitch: from one number of the axis to
    # the next, in the array: it may have more inner ones than the index; apart: from one element of the source to the next: 0
    # if they are all the same
    numbers = "units units_serial steps step blocks block count size inner pitch apart"


@lru_cache(maxsize=256)
def _plan(outer: int, count: int, size: int, inner: int, pitch: int, apart: int, ordered: bool) -> Any:
    """If they are `ordered`, the axis is not cut."""
    block = inner if ordered and inner * count <= UNIT else min(inner, max(16, UNIT // max(count, 1) if ordered else UNIT))
    step = count if ordered else max(1, min(count, UNIT // block))
    blocks, steps = -(-inner // block), -(-count // step)
    units = outer * steps * blocks
    serial = SERIAL if outer * count * inner < SERIAL_BELOW else 0
    return ElementsPlan.of(units=units, units_serial=serial, steps=steps, step=step, blocks=blocks, block=block,
                        count=count, size=size, inner=inner, pitch=pitch, apart=apart)


def _each_element(f: Task, index: Value, missing: Value, body: Callable[[Value, Value], None]) -> None:
    """`body(place in the index, place in the array)`; `missing` becomes 1 if there is a number that the axis does not have."""
    steps, step, blocks, block, count, size, inner, pitch = f.fields("steps step blocks block count size inner pitch")
    with f.loop(f.low, f.high) as unit:
        outer = unit // (steps * blocks)
        rest = unit % (steps * blocks)
        first, begin = rest // blocks * step, rest % blocks * block
        stop, end = f.smaller(first + step, count), f.smaller(begin + block, inner)
        base = outer * size * pitch
        def element(place: Value, base: Value) -> None:
            number = f.load(I64, index, place)
            there = number.below(size)
            with f.either(there, likely=True) as (found, lost):
                with found:
                    body(place, base + number * pitch)
                with lost:
                    f.store(f.integer(1), missing)

        with f.either(inner.equals(1)) as (last, other):
            with last, f.loop(outer * count + first, outer * count + stop) as place:
                element(place, base)
            with other, f.loop(first, stop) as j, f.loop(begin, end) as i:
                element((outer * count + j) * inner + i, base + i)


@kernel_of_units("take_elements", "fiif", ElementsPlan)
def _take(f: Task) -> None:
    """run(plan, x, index, missing, result)"""
    x, index, missing, result = (f.array(i) for i in range(4))
    _each_element(f, index, missing, lambda place, there: f.store(f.load(F32, x, there), result, place))


COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
}


@kernel_of_units("put_elements", "fiif", ElementsPlan)
def _put(f: Task, how: str) -> None:
    """run(plan, source, index, missing, target)"""
    source, index, missing, target = (f.array(i) for i in range(4))
    apart = f.field("apart")

    def put(place: Value, there: Value) -> None:
        f.store(COMBINE[how](f.load(F32, target, there), f.load(F32, source, place * apart)), target, there)

    _each_element(f, index, missing, put)


def _sizes(x: Any, index: Any, axis: int) -> tuple[int, int, int, int, int] | None:
    """(outer, numbers along the axis, size of the axis, inner, pitch); None if there are no axes, or the others differ.

    On the first axis, and on the first one after the axis of the numbers, the index may be shorter: what it leaves out lies
    at the end.
    """
    own, wanted = x.shape, index.shape
    if not own or not wanted:
        return None
    if own[:axis] != wanted[:axis] or own[axis + 1:] != wanted[axis + 1:]:
        if len(own) != len(wanted) or own[1:axis] != wanted[1:axis] or own[axis + 2:] != wanted[axis + 2:]:
            return None
        if any(m > n for i, (m, n) in enumerate(zip(wanted, own, strict=True)) if i != axis):
            return None
    return math.prod(wanted[:axis]), wanted[axis], own[axis], math.prod(wanted[axis + 1:]), math.prod(own[axis + 1:])


@maker
def gather(x: Any, index: Any, *, axis: int) -> Any:
    if index.size < MIN_SIZE or x.dtype is not FLOAT32 or index.dtype is not INT64 or not is_contiguous(x):
        return None
    sizes = _sizes(x, index, axis)
    if sizes is None:
        return None
    result, missing = np.empty(index.shape, FLOAT32), np.zeros(1, INT64)
    _take()(_plan(*sizes, 1, False), x, contiguous(index), missing, result)
    return None if missing[0] else result


def put(x: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """Write elements of `source`, or a number, into `x`; False if this is not for a kernel."""
    if x.dtype is not FLOAT32 or index.dtype is not INT64 or index.size < MIN_SIZE or not x.flags.carray:
        return False
    sizes = _sizes(x, index, axis)
    if sizes is None:
        return False
    apart = 1
    if not isinstance(source, np.ndarray):
        source, apart = np.full(1, source, FLOAT32), 0
    elif source.shape != index.shape or source.dtype is not FLOAT32 or np.may_share_memory(source, x):
        return False
    elif not any(source.strides):  # the gradient of a sum
        source, apart = source.reshape(-1)[:1].copy(), 0
    missing = np.zeros(1, INT64)
    _put(how)(_plan(*sizes, apart, True), contiguous(source), contiguous(index), missing, x)
    if missing[0]:  # the index was in order, and was changed by another thread since
        raise IndexError("index out of range in self")
    return True


@cache
def within() -> Callable[..., bool]:
    """within(index, size): are all numbers of an array at least 0, and below `size`?"""

    def numpy(index: Any, size: int) -> bool:
        return bool(not index.size or (index.min() >= 0 and index.max() < size))

    return python_function("within", address_of("numbers within", _write_within), (numpy, numpy))


def _write_within(module: Any, name: str) -> None:
    f = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = f.arguments
    index, size = f.load(POINTER, slots, 0), f.load(I64, slots, 1)
    lanes = host().lanes
    whole = low + (high - low) // lanes * lanes
    # The sign of either tells: the number is below zero, or too large.
    several, single = f.variable(f.zeros(I64, lanes)), f.variable(f.zeros(I64))
    for variable, first, stop, width in ((several, low, whole, lanes), (single, whole, high, 1)):
        with f.loop(first, stop, width) as i:
            number = f.load(I64, index, i, width)
            variable.set(variable.get() | number | ((size - 1).spread(width) - number))
    with f.when(f.any(several.get() < 0) | (single.get() < 0)):
        f.store(f.integer(1), slots, 2)
    f.give()
    entry = Entry(module, name, 2)
    given = entry.array(entry.argument(0), "i8")
    words = entry.slots([given.data, entry.number(entry.argument(1)).to(I64), entry.f.integer(0)])
    entry.run(f.function, words, given.size(), SERIAL_BELOW, UNIT)
    inside = entry.f.load(I64, words, 2).equals(0)
    answer = entry.f.choose(inside, *[entry.object(f"_Py_{word}Struct") for word in ("True", "False")])
    entry.f.call("Py_IncRef", VOID, answer)
    entry.give(answer)
