"""Single elements by their numbers along an axis: gather, and the adjoint.

An array is read as (outer, n, inner), where `n` is the axis. Whoever has time takes an outer number and a range of inner
ones: two that are written to the same place belong to the same unit, where they come in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import declined, in_one_piece, is_in_one_piece
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import ALONE, Plan, Stage, Task, staged
from whygrad.kernels.values import F32, I64, Value

_whygrad_internal_ = True

INT64 = np.dtype(np.int64)
ALONE_BELOW = 16384
# Fewer elements are NumPy's.
WORTH_IT = 16
# A unit is about so many elements.
UNIT = 4096


@dataclass(kw_only=True)
class ElementsPlan(Plan):
    units: int
    units_alone: int
    steps: int  # ranges of the axis, for each outer number
    step: int  # their length
    blocks: int  # ranges of inner numbers, for each of those
    block: int
    count: int  # of numbers along the axis, in the index
    size: int  # of the axis itself
    inner: int
    apart: int  # from one element of the source to the next: 0 if they are all the same


@lru_cache(maxsize=256)
def _plan(outer: int, count: int, size: int, inner: int, apart: int, ordered: bool) -> Any:
    """If they are `ordered`, the axis is not cut."""
    block = inner if ordered and inner * count <= UNIT else min(inner, max(16, UNIT // max(count, 1) if ordered else UNIT))
    step = count if ordered else max(1, min(count, UNIT // block))
    blocks, steps = -(-inner // block), -(-count // step)
    units = outer * steps * blocks
    alone = ALONE if outer * count * inner < ALONE_BELOW else 0
    return ElementsPlan(units=units, units_alone=alone, steps=steps, step=step, blocks=blocks, block=block,
                        count=count, size=size, inner=inner, apart=apart).array()


def _each_element(f: Task, index: Value, missing: Value, body: Callable[[Value, Value], None]) -> None:
    """`body(place in the index, place in the array)`; `missing` becomes 1 if there is a number that the axis does not have."""
    steps, step, blocks, block, count, size, inner = f.fields("steps step blocks block count size inner")
    with f.loop(f.low, f.high) as unit:
        outer = unit // (steps * blocks)
        rest = unit % (steps * blocks)
        first, begin = rest // blocks * step, rest % blocks * block
        stop, end = f.smaller(first + step, count), f.smaller(begin + block, inner)
        base = outer * size * inner
        def element(place: Value, base: Value) -> None:
            number = f.load(I64, index, place)
            there = Value(f, f.b.icmp_unsigned("<", number.v, size.v))
            with f.b.if_else(there.v, likely=True) as (found, lost):
                with found:
                    body(place, base + number * inner)
                with lost:
                    f.store(f.integer(1), missing)

        with f.b.if_else(inner.equals(1).v) as (last, other):
            with last, f.loop(outer * count + first, outer * count + stop) as place:
                element(place, base)
            with other, f.loop(first, stop) as j, f.loop(begin, end) as i:
                element((outer * count + j) * inner + i, base + i)
    f.end()


@cache
def _take() -> Callable[..., Any]:
    """run(plan, x, index, missing, result)"""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", ElementsPlan)
        x, index, missing, result = (f.array(i) for i in range(4))
        _each_element(f, index, missing, lambda place, there: f.store(f.load(F32, x, there), result, place))
        return [Stage(f, "units", "units_alone")]

    return staged("take_elements", "take elements", "fiif", write)


COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "set": lambda old, new: new,
    "add": lambda old, new: old + new,
    "multiply": lambda old, new: old * new,
}


@cache
def _put(how: str) -> Callable[..., Any]:
    """run(plan, source, index, missing, target)"""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", ElementsPlan)
        source, index, missing, target = (f.array(i) for i in range(4))
        apart = f.field("apart")

        def put(place: Value, there: Value) -> None:
            f.store(COMBINE[how](f.load(F32, target, there), f.load(F32, source, place * apart)), target, there)

        _each_element(f, index, missing, put)
        return [Stage(f, "units", "units_alone")]

    return staged("put_elements", f"put elements {how}", "fiif", write)


def _sizes(x: Any, index: Any, axis: int) -> tuple[int, int, int, int] | None:
    """(outer, numbers along the axis, size of the axis, inner); None if the other axes differ."""
    own, wanted = x.shape, index.shape
    if len(own) != len(wanted) or own[:axis] != wanted[:axis] or own[axis + 1:] != wanted[axis + 1:]:
        return None
    return math.prod(own[:axis]), wanted[axis], own[axis], math.prod(own[axis + 1:])


def gather(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def gather(x: Any, index: Any, *, axis: int) -> Any:
        if index.size >= WORTH_IT and x.dtype is FLOAT32 and index.dtype is INT64 and is_in_one_piece(x):
            sizes = _sizes(x, index, axis)
            if sizes is not None:
                result, missing = np.empty(index.shape, FLOAT32), np.zeros(1, INT64)
                _take()(_plan(*sizes, 1, False), x, in_one_piece(index), missing, result)
                if not missing[0]:
                    return result
        return declined(numpy, x, index, axis=axis)

    return gather


def put(x: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """Write elements of `source`, or a number, into `x`; False if this is not for a kernel."""
    if x.dtype is not FLOAT32 or index.dtype is not INT64 or index.size < WORTH_IT or not x.flags.carray:
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
    _put(how)(_plan(*sizes, apart, True), in_one_piece(source), in_one_piece(index), missing, x)
    if missing[0]:  # the index was in order, and somebody has changed it since
        raise IndexError("index out of range in self")
    return True


@cache
def _outside() -> Callable[..., Any]:
    """run(plan, index, missing): `missing` becomes 1 if a number is not below the size."""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", ElementsPlan)
        index, missing = f.array(0), f.array(1)
        count, step, size = f.fields("count step size")
        lanes = host().lanes
        with f.loop(f.low, f.high) as unit:
            first = unit * step
            stop = f.smaller(first + step, count)
            whole = first + (stop - first) // lanes * lanes
            # The sign of either tells: the number is below zero, or too large.
            several, single = f.variable(f.zeros(I64, lanes)), f.variable(f.zeros(I64))
            for variable, low, high, width in ((several, first, whole, lanes), (single, whole, stop, 1)):
                with f.loop(low, high, width) as i:
                    number = f.load(I64, index, i, width)
                    variable.set(variable.get() | number | ((size - 1).spread(width) - number))
            with f.when(f.any(several.get() < 0) | (single.get() < 0)):
                f.store(f.integer(1), missing)
        f.end()
        return [Stage(f, "units", "units_alone")]

    return staged("numbers_outside", "numbers outside", "ii", write)


def within(index: Any, size: int) -> bool:
    """Are all numbers at least 0, and below `size`?"""
    if index.dtype is not INT64:
        return bool(index.min() >= 0 and index.max() < size)
    missing = np.zeros(1, INT64)
    _outside()(_plan(1, index.size, size, 1, 1, False), in_one_piece(index), missing)
    return not missing[0]
