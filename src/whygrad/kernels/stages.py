"""Kernels that are more than one loop: stages that follow each other, each cut into units for all threads.

What a stage does is laid down in a `Plan`, in the end an array of int64: first numbers with names, then tables. So one
compiled function serves all shapes, and what belongs to a shape is worked out once, in Python. A stage's result must not
depend on which thread does which unit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from llvmlite import ir

from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.pool import THREADS, pool
from whygrad.kernels.values import F32, I1, I64, POINTER, VOID, Function, Value

_whygrad_internal_ = True

# Before the arrays, a task's arguments are: which parts of the workspace are in use (a bit for each), and the plan.
IN_USE, PLAN, ARRAYS = 0, 1, 2
# `alone_below`, to have everything done by one thread.
ALONE = 1 << 40


@dataclass(kw_only=True)
class Plan:
    each: int = 0  # floats of workspace that each thread needs
    shared: int = 0  # and those that all share

    @classmethod
    def names(cls) -> list[str]:
        return [field.name for field in fields(cls)]

    def array(self, **tables: Sequence[int]) -> Any:
        """`tables` by the names of the fields that say where in the plan they begin."""
        numbers: dict[str, int] = dict(vars(self))
        rest: list[int] = []
        for name, table in tables.items():
            numbers[name] = len(numbers) + len(rest)
            rest += table
        return np.array([*numbers.values(), *rest], np.int64)


class Task(Function):
    """A stage being written, by the names of its plan: it does the units from `low` up to `high`."""

    def __init__(self, module: Any, name: str, plan: type[Plan]) -> None:
        super().__init__(module, name, VOID, [POINTER, I64, I64], internal=True)
        self.slots, self.low, self.high = self.arguments
        self.places = {field: i for i, field in enumerate(plan.names())}
        self.plan = self.load(POINTER, self.slots, PLAN)
        self._read: dict[str, Value] = {}
        self._part: Any = None

    def field(self, name: str) -> Value:
        """A number of the plan."""
        found = self._read.get(name)
        if found is None:
            with self.b.goto_entry_block():  # known everywhere
                found = self._read[name] = self.load(I64, self.plan, self.places[name])
        return found

    def fields(self, names: str) -> list[Value]:
        return [self.field(name) for name in names.split()]

    def table(self, name: str) -> Value:
        """The address of a table, of which a field says where in the plan it begins."""
        return self.pointer(I64, self.plan, self.field(name))

    def array(self, number: int) -> Value:
        return self.load(POINTER, self.slots, ARRAYS + number)

    def workspace(self, number: int) -> Value:
        """A part of the workspace (array `number`) for this call alone: the first that is not in use.

        A thread may be given several pieces of a stage one after the other, but no more calls run at a time than there are
        threads, so there are enough parts.
        """
        claim, claimed = self.function.append_basic_block("claim"), self.function.append_basic_block("claimed")
        place = self._in_use()
        self.b.branch(claim)
        self.b.position_at_end(claim)
        old = Value(self, self.b.load_atomic(place, "monotonic", 8))
        self._part = (old ^ -1) & (old + 1)  # the lowest bit that is not set
        taken = self.b.extract_value(self.b.cmpxchg(place, old.v, (old | self._part).v, "acquire"), 1)
        self.b.cbranch(taken, claimed, claim)
        self.b.position_at_end(claimed)
        mine = self.call("llvm.cttz.i64", I64, self._part, ir.Constant(I1, 1))
        return self.pointer(F32, self.array(number), self.field("shared") + mine * self.field("each"))

    def _in_use(self) -> Any:
        return self.b.bitcast(self.pointer(I64, self.slots, IN_USE).v, I64.as_pointer())

    def end(self) -> None:
        if self._part is not None:
            self.b.atomic_rmw("and", self._in_use(), (self._part ^ -1).v, "release")
        self.b.ret_void()


class Stage:
    """A task and the names of the fields that say how many units it has, and below how many one thread does them."""

    def __init__(self, task: Task, units: str, alone_below: str) -> None:
        self.task = task
        self.units = task.places[units]
        self.alone_below = task.places[alone_below]


def staged(name: str, key: str, arrays: str, write: Callable[[Any, str], list[Stage]]) -> Callable[..., Any]:
    """A callable run(plan, *arrays) that does the stages which `write(module, name)` gives, and returns its last array.

    `arrays` has a letter for each: "f" float32, "v" the same with any strides, "i" int64, "o" float32 or None, "w" the
    workspace.
    """

    def build(module: Any, symbol: str) -> None:
        _write_entry(module, symbol, arrays, write(module, symbol))

    def refuse(*args: Any) -> Any:
        raise TypeError(f"internal error: {name} was not made for {[getattr(x, 'dtype', x) for x in args]}")

    from whygrad.kernels.calls import python_function

    pool()
    return python_function(name, address_of(f"staged {key}", build), (refuse, refuse))


def _write_entry(module: Any, name: str, arrays: str, stages: list[Stage]) -> None:
    from whygrad.kernels.calls import NULL, Entry

    entry = Entry(module, name, 1 + len(arrays))
    f = entry.f
    plan = entry.array(entry.argument(0), "i8").data
    values = [f.integer(0), plan]
    enough = f.constant(1, I1)
    for number, letter in enumerate(arrays, 1):
        argument = entry.argument(number)
        if letter == "o":
            given = f.variable(Value(f, NULL))
            with f.b.if_then(f.b.not_(entry.same(argument, "_Py_NoneStruct").v)):
                given.set(entry.array(argument, "f4").data)
            values.append(given.get())
            continue
        array = entry.array(argument, "i8" if letter == "i" else "f4", in_one_piece=letter != "v")
        values.append(array.data)
        if letter == "w":
            # Another thread may have changed the number of threads since the workspace was made.
            threads = f.load(I64, entry.object("whygrad_pool"), THREADS // 8)
            enough = threads * f.load(I64, plan, 0) + f.load(I64, plan, 1) <= array.size()
    slots = entry.slots(values)
    for stage in stages:
        f.store(f.integer(0), slots, IN_USE)
        units, alone_below = (f.load(I64, plan, place) for place in (stage.units, stage.alone_below))
        entry.run(stage.task.function, slots, units, f.choose(enough, alone_below, ALONE), 1)
    result = entry.argument(len(arrays))
    f.call("Py_IncRef", VOID, result)
    entry.give(result)


_local = threading.local()


def workspace(plan: Any) -> Any:
    """Memory for a kernel's own use, as its plan wants it. It is this (Python) thread's until the next call."""
    size = plan.item(1) + plan.item(0) * pool().threads()
    found = getattr(_local, "memory", None)
    if found is None or found.size < size:
        fresh = np.empty(size + host().lanes, np.float32)
        skip = -fresh.ctypes.data % (4 * host().lanes) // 4
        found = _local.memory = fresh[skip:skip + size]
    return found
