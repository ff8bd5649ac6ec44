"""One formula for many sets of arrays, written over in place: an optimizer's step for all its parameters in one call.

The sets are treated as if they lay one behind the other, some at a time, and threads share them out by elements, so many
small parameters are no more trouble than a large one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels import host
from whygrad.kernels.calls import Array, Entry, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.elementwise import FILLED, MOST, RUN, STEPS, fill
from whygrad.kernels.values import F32, I1, I32, I64, POINTER, VOID, Function, Value

# Parameters of the entry. WRITTEN has a bit for each array of a set that is written.
FORMULA, ARRAYS, NUMBERS, WRITTEN, SERIAL_BELOW = range(5)
# Sets that are shared out together, and what is noted of each: where it begins among all, its elements, and its arrays.
TOGETHER = 32
BEGIN, LENGTH, PLACES = range(3)
SET = PLACES + MOST
# What the task is given: the formula, the numbers of sets and arrays, the slots of the formula, the sets.
TASK_FORMULA, TASK_SETS, TASK_ARRAYS, TASK_SLOTS, TASK_TABLE = range(5)


def _none_changed(*args: Any) -> int:
    return 0


def update_function(formula: int, arrays: int, numbers: int, written: set[int], serial_below: int) -> Callable[..., Any]:
    """A Python function of a tuple with `arrays` arrays for each set, one set after the other, and of numbers.

    It gives the number of sets that it has changed: the next one is not of float32 arrays of one size that lie in one piece.
    """

    parameters = [formula, arrays, numbers, sum(1 << i for i in written), serial_below]
    return python_function("update", address_of("update", _write_entry), (_none_changed, _none_changed), parameters)


def _write_entry(module: Any, name: str) -> None:
    task = _write_task(module, f"{name}_task")
    entry = Entry(module, name, None)
    f = entry.f
    arrays, numbers = entry.parameter(ARRAYS), entry.parameter(NUMBERS)
    entry.require(entry.count.equals(numbers + 1))
    given = entry.argument(0)
    entry.require(entry.same(f.load(POINTER, given, host.TYPE // 8), "PyTuple_Type"))
    sets = f.load(I64, given, 2) // arrays
    slots, pieces, table, job = f.frame(I64, RUN), f.frame(I64, MOST * FILLED // 2), f.frame(I64, TOGETHER * SET), f.frame(I64, 8)
    with f.loop(0, numbers) as i:
        piece = f.pointer(F32, pieces, i * FILLED)
        fill(f, entry.number(entry.argument(i + 1)).to(F32), piece)
        f.store(piece, slots, arrays + i)
        f.store(f.integer(0), slots, arrays + i + STEPS)
    for place, value in ((TASK_FORMULA, entry.parameter(FORMULA, POINTER)), (TASK_ARRAYS, arrays), (TASK_SLOTS, slots),
                         (TASK_TABLE, table)):
        f.store(value, job, place)
    waiting, total = f.variable(f.integer(0)), f.variable(f.integer(0))

    def run_those_waiting() -> None:
        f.store(waiting.get(), job, TASK_SETS)
        entry.run(task, job, total.get(), entry.parameter(SERIAL_BELOW), FILLED)
        waiting.set(f.integer(0))
        total.set(f.integer(0))

    done, going = f.variable(f.integer(0)), f.variable(f.integer(1))
    with f.repeat_while(lambda: going.get().differs(0) & (done.get() < sets)):
        items = f.pointer(I64, given, done.get() * arrays + host.TUPLE_ITEMS // 8)
        with f.either(_suits(entry, items, arrays)) as (suits, differs):
            with suits:
                first = Array(f, f.load(POINTER, items))
                with f.when(waiting.get().equals(TOGETHER) | _overlaps(f, table, waiting.get(), items, arrays)):
                    run_those_waiting()
                here = f.pointer(I64, table, waiting.get() * SET)
                length = first.size()
                f.store(total.get(), here, BEGIN)
                f.store(length, here, LENGTH)
                with f.loop(0, arrays) as k:
                    f.store(f.load(I64, f.load(POINTER, items, k), host.DATA // 8), here, k + PLACES)
                total.add((length + (FILLED - 1)) // FILLED * FILLED)
                waiting.add(f.integer(1))
                done.add(f.integer(1))
            with differs:
                going.set(f.integer(0))
    run_those_waiting()
    entry.give(f.call("PyLong_FromLongLong", POINTER, done.get()))


def _suits(entry: Entry, items: Value, arrays: Value) -> Value:
    """Are these arrays of float32, of one size, in one piece, and writeable where they are written?"""
    f = entry.f
    good, size = f.variable(f.constant(1, I1)), f.variable(f.integer(-1))
    with f.loop(0, arrays) as k:
        item = f.load(POINTER, items, k)
        is_array = (entry.same(f.load(POINTER, item, host.TYPE // 8), "numpy_array_type")
                    & entry.same(f.load(POINTER, item, host.DTYPE // 8), "numpy_dtype_f4"))
        good.set(good.get() & is_array)
        with f.when(is_array):
            is_written = (entry.parameter(WRITTEN) >> k) & 1
            wanted = f.choose(is_written.differs(0), f.constant(host.CONTIGUOUS_AND_ALIGNED | host.WRITEABLE, I32),
                              f.constant(host.CONTIGUOUS_AND_ALIGNED, I32))
            elements = Array(f, item).size()
            good.set(good.get() & (f.load(I32, item, host.FLAGS // 4) & wanted).equals(wanted)
                     & (size.get().equals(elements) | k.equals(0)))
            size.set(elements)
    return good.get()


def _overlaps(f: Function, table: Value, count: Value, items: Value, arrays: Value) -> Value:
    """Does a set share memory with one that waits? Then it has to wait for that one's end."""
    size = Array(f, f.load(POINTER, items)).size() * 4
    found = f.variable(f.constant(0, I1))
    with f.loop(0, count) as i:
        here = f.pointer(I64, table, i * SET)
        waiting_size = f.load(I64, here, LENGTH) * 4
        with f.loop(0, arrays) as k, f.loop(0, arrays) as j:
            start, place = f.load(I64, f.load(POINTER, items, k), host.DATA // 8), f.load(I64, here, j + PLACES)
            found.set(found.get() | ((place < start + size) & (start < place + waiting_size)))
    return found.get()


def _write_task(module: Any, name: str) -> Any:
    """task(job, low, high): the elements from low to high of all sets that wait."""
    f = Function(module, name, VOID, [POINTER, I64, I64], internal=True)
    job, low, high = f.arguments
    formula = f.load(POINTER, job, TASK_FORMULA)
    arrays, common, table = f.load(I64, job, TASK_ARRAYS), f.load(POINTER, job, TASK_SLOTS), f.load(POINTER, job, TASK_TABLE)
    slots = f.frame(I64, RUN)
    with f.loop(0, RUN) as i:
        f.store(f.load(I64, common, i), slots, i)
    with f.loop(0, arrays) as k:
        f.store(f.integer(-1), slots, k + STEPS)
    with f.loop(0, f.load(I64, job, TASK_SETS)) as i:
        here = f.pointer(I64, table, i * SET)
        begin, length = f.load(I64, here, BEGIN), f.load(I64, here, LENGTH)
        first, last = f.larger(low - begin, 0), f.smaller(high - begin, length)
        with f.when(first < last):
            with f.loop(0, arrays) as k:
                f.store(f.load(I64, here, k + PLACES), slots, k)
            f.call_task(formula, slots, first, last)
    f.give()
    return f.function


