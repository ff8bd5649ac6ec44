"""Kernels of several stages, each cut into units for all threads.

The numbers that depend on a shape are computed once, in Python, as a `Plan`: an array of int64 with named numbers first, then
tables. So one compiled function serves all shapes. A stage's result must not depend on which thread does which unit.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import TASK, Array, Entry, data_of, python_function
from whygrad.kernels.code import address_of, function_for_all
from whygrad.kernels.host import host
from whygrad.kernels.ir import number
from whygrad.kernels.pool import pool
from whygrad.kernels.values import F32, I1, I64, POINTER, VOID, Function, Value

# Before the arrays, a task's arguments are: which parts of the workspace are in use (a bit for each), and the plan.
IN_USE, PLAN, ARRAYS = 0, 1, 2
# A value of `serial_below` for which one thread does everything.
SERIAL = 1 << 40


class Plan:
    """A subclass has the `names` of its base first, then those of its own `numbers`: of numbers, and of tables."""

    numbers = ""
    names: tuple[str, ...] = ("each", "shared")  # floats of workspace that each thread needs, and that all share

    def __init_subclass__(cls) -> None:
        cls.names = (*cls.names, *cls.numbers.split())

    @classmethod
    def of(cls, **given: int | Sequence[int]) -> Any:
        """The plan with these numbers. The number of a table is its place in the plan."""
        given = {"each": 0, "shared": 0, **given}
        assert given.keys() == set(cls.names)
        numbers: list[int] = []
        tables: list[int] = []
        for name in cls.names:
            value = given[name]
            if isinstance(value, (list, tuple)):
                numbers.append(len(cls.names) + len(tables))
                tables += value
            else:
                numbers.append(value)  # type: ignore[arg-type]
        return np.array(numbers + tables, np.int64)


class OfPlan(Function):
    """A function being written that reads a plan, by the names of its fields."""

    def __init__(self, module: Any, name: str, kinds: list[Any], plan: type[Plan], *, internal: bool = False) -> None:
        super().__init__(module, name, VOID, kinds, internal=internal)
        self.plan_names = plan.names
        self.plan = self._plan()
        self._read: dict[str, Value] = {}

    def _plan(self) -> Value:
        return self.arguments[0]

    def field(self, name: str) -> Value:
        found = self._read.get(name)
        if found is None:
            with self.b.entry_block():  # known everywhere
                found = self._read[name] = self.load(I64, self.plan, self.plan_names.index(name))
        return found

    def fields(self, names: str) -> list[Value]:
        return [self.field(name) for name in names.split()]

    def table(self, name: str) -> Value:
        """The address of a table, of which a field says where in the plan it begins."""
        return self.pointer(I64, self.plan, self.field(name))

    def do(self, function: str, *arguments: Any) -> None:
        """Call a function without a result. Its arguments may be Python's integers."""
        self.call(function, VOID, *[self.integer(x) if isinstance(x, int) else x for x in arguments])


class Task(OfPlan):
    """A stage being written: it does the units from `low` up to `high`."""

    def __init__(self, module: Any, name: str, plan: type[Plan], *, internal: bool = True) -> None:
        super().__init__(module, name, [POINTER, I64, I64], plan, internal=internal)
        self.slots, self.low, self.high = self.arguments
        self._part: Any = None

    def _plan(self) -> Value:
        return self.load(POINTER, self.arguments[0], PLAN)

    def array(self, number: int) -> Value:
        return self.load(POINTER, self.slots, ARRAYS + number)

    def workspace(self, number: int) -> Value:
        """A part of the workspace (array `number`) for this call alone: the first that is not in use.

        A thread may be given several pieces of a stage one after the other, but no more calls run at a time than there are
        threads, so there are enough parts; unless threads were added since the workspace was made, which wait then.
        """
        claim, claimed = self.b.append_block(), self.b.append_block()
        place = self._in_use()
        self.b.branch(claim)
        self.b.continue_in(claim)
        old = Value(self, self.b.load_atomic(I64, place, "monotonic"))
        self._part = (old ^ -1) & (old + 1)  # the lowest bit that is not set
        taken = Value(self, self.b.exchange_if(place, old.v, (old | self._part).v, "acquire"))
        self.b.branch_if((taken & self._part.differs(0)).v, claimed, claim)
        self.b.continue_in(claimed)
        mine = self.call("llvm.cttz.i64", I64, self._part, self.constant(1, I1))
        return self.pointer(F32, self.array(number), self.field("shared") + mine * self.field("each"))

    def _in_use(self) -> Any:
        return self.pointer(I64, self.slots, IN_USE).v

    def end(self) -> None:
        if self._part is not None:
            self.b.change_atomic("and", self._in_use(), (self._part ^ -1).v, "release")
        self.give()


Writer = Callable[[Task], None]


class Elsewhere:
    """A stage that is compiled by itself: several kernels have it, or all in one would take long."""

    def __init__(self, key: str, plan: type[Plan], write: Writer) -> None:
        self.name = function_for_all(f"stage {key}", lambda module, name: _write_task(module, name, plan, write, internal=False))


def _write_task(module: Any, name: str, plan: type[Plan], write: Writer, *, internal: bool = True) -> Any:
    f = Task(module, name, plan, internal=internal)
    write(f)
    f.end()
    return f.function


class Part(OfPlan):
    """A piece of a task that is compiled by itself. `given` are its arguments, after the plan."""

    def __init__(self, module: Any, name: str, kinds: list[Any], plan: type[Plan]) -> None:
        super().__init__(module, name, [POINTER, *kinds], plan)
        self.given = self.arguments[1:]


def part(key: str, kinds: list[Any], plan: type[Plan]) -> Callable[[Callable[..., None]], Callable[..., str]]:
    """Decorate write(f, *options), which writes a `Part`: gives the function from the options to the name of the part. The plans
    of its callers begin with the fields of `plan`."""

    def decorate(write: Callable[..., None]) -> Callable[..., str]:
        def named(*options: Any) -> str:
            def build(module: Any, name: str) -> None:
                f = Part(module, name, kinds, plan)
                write(f, *options)
                f.give()

            return function_for_all(" ".join(["part", key, *map(str, options)]), build)

        return named

    return decorate


def kernel_of_units(name: str, arrays: str, plan: type[Plan], units: str = "units"
                    ) -> Callable[[Callable[..., None]], Callable[..., Callable[..., Any]]]:
    """Decorate write(f, *options), which writes the only stage of a kernel: gives the function from the options to the kernel."""
    return lambda write: cache(lambda *options: staged(" ".join([name, *map(str, options)]), arrays, plan,
                                                       **{units: lambda f: write(f, *options)}))  # type: ignore[arg-type]


def staged(name: str, arrays: str, plan: type[Plan], *, key: str = "", **stages: Writer | Elsewhere) -> Callable[..., Any]:
    """A callable run(plan, *arrays) that does one stage after the other, and returns its last array.

    `arrays` has a letter for each: "f" float32, "v" the same with any strides, "i" int64, "o" float32 or None, "w" the
    workspace. A stage is called like the number of its units in the plan; `..._serial` is the number below which one thread
    does them all. `key` says what is compiled, if `name` does not.
    """
    assert len(arrays) <= MOST

    def refuse(*args: Any) -> Any:
        raise TypeError(f"internal error: {name} was not made for {[getattr(x, 'dtype', x) for x in args]}")

    def write_table(module: Any, symbol: str) -> None:
        """table(): the address of the number of stages, followed by the task of each and two places in the plan."""
        items: list[Any] = [number(len(stages), I64)]
        for units, stage in stages.items():
            task = module.declare(stage.name, VOID, TASK) if isinstance(stage, Elsewhere) else \
                _write_task(module, f"{symbol}_{units}", plan, stage)
            items += [task, *[number(plan.names.index(field), I64) for field in (units, f"{units}_serial")]]
        Function(module, symbol, POINTER, []).give(module.table(f"{symbol}_table", items))

    table = address_of(f"staged {key or name}", write_table)
    parameters = [ctypes.CFUNCTYPE(ctypes.c_void_p)(table)(), len(arrays), *map(ord, arrays)]
    return python_function(name, address_of("stages", _write_entry), (refuse, refuse), parameters)


# Parameters of the entry (see calls.py): the table, the number of arrays, and the letter of each.
TABLE, COUNT, LETTERS = range(3)
MOST = 16


def _write_entry(module: Any, name: str) -> None:
    entry = Entry(module, name, None)
    f = entry.f
    count = entry.parameter(COUNT)
    entry.require(entry.count.equals(count + 1))
    slots = f.frame(I64, ARRAYS + MOST)
    plan = entry.array(entry.argument(0), "i8").data
    f.store(plan, slots, PLAN)
    in_use = f.variable(f.integer(0))
    with f.loop(0, count) as i:
        argument, letter = entry.argument(i + 1), entry.parameter(i + LETTERS)
        with f.either(letter.equals(ord("o")) & entry.same(argument, "_Py_NoneStruct")) as (nothing, array):
            with nothing:
                f.store(f.null, slots, i + ARRAYS)
            with array:
                with f.either(letter.equals(ord("i"))) as (integers, floats):
                    with integers:
                        entry.array(argument, "i8")
                    with floats, f.either(letter.equals(ord("v"))) as (with_strides, contiguous):
                        with with_strides:
                            entry.array(argument, "f4", contiguous=False)
                        with contiguous:
                            entry.array(argument, "f4")
                f.store(data_of(f, argument), slots, i + ARRAYS)
                with f.when(letter.equals(ord("w"))):
                    # What does not exist is in use. There may be more parts than bits.
                    each = f.larger(f.load(I64, plan, 0), 1)
                    parts = f.smaller((Array(f, argument).size() - f.load(I64, plan, 1)) // each, 63)
                    in_use.set(f.integer(-1) << parts)
    table = entry.parameter(TABLE, POINTER)
    with f.loop(0, f.load(I64, table)) as number:
        f.store(in_use.get(), slots, IN_USE)
        task = f.load(POINTER, table, number * 3 + 1)
        units, serial_below = (f.load(I64, plan, f.load(I64, table, number * 3 + place)) for place in (2, 3))
        entry.run(task, slots, units, serial_below, 1)
    result = entry.argument(count)
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
