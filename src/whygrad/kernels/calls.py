"""Python callables made of machine code: they check their arguments, allocate and compute, or call the NumPy function.

A call goes straight from the interpreter into the code (METH_FASTCALL), without ctypes. What the code was not made for
(another dtype, strides, broadcasting, a keyword) is handed on unchanged, so the callable always gives what NumPy gives.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

from whygrad.kernels import host
from whygrad.kernels.values import ELEMENT, F64, I32, I64, POINTER, VOID, Function, Value

METH_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02
TASK = [POINTER, I64, I64]  # task(slots, low, high)


class _MethodDefinition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype, _new_function.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]


# By name of the function: the calls that ran compiled, and those that went on to a fallback. Written by the code itself.
counters: dict[str, Any] = {}


def _nothing(*args: Any) -> None:
    return None


def python_function(name: str, address: int, fallback: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
                    parameters: Sequence[int] = ()) -> Callable[..., Any]:
    """`fallback` is what to call for other kinds of arguments, and for other shapes; without it, the function gives None then.
    `parameters` are numbers for the entry."""
    definition = _MethodDefinition(name.encode(), address, METH_FASTCALL_WITH_KEYWORDS, None)
    counter = counters.get(name)
    if counter is None:
        counter = counters[name] = (ctypes.c_int64 * 2)()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(counter))
    # Functions look at their definition and their counter as long as they live, which may be longer than this module.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    known = struct.pack(f"{1 + len(parameters)}q", ctypes.addressof(counter), *parameters)
    function: Callable[..., Any] = _new_function(ctypes.addressof(definition), (*(fallback or (_nothing, _nothing)), known), None)
    return function


class Entry:
    """The function that Python calls: object *entry((fallbacks, parameters), arguments, count, keyword names)."""

    def __init__(self, module: Any, name: str, count: int | None) -> None:
        """`count` of arguments; None if it is in the parameters."""
        self.f = f = Function(module, name, POINTER, [POINTER, POINTER, I64, POINTER])
        known, self.arguments, self.count, self.keywords = f.arguments
        self._parameters = f.load(POINTER, known, host.TUPLE_ITEMS // 8 + 2)
        self._other_kind, self._other_shape = (self._exit(known, i) for i in range(2))
        if count is not None:
            self.require(self.count.equals(count))
        self.require(self.is_null(self.keywords))

    def pointer_to_parameters(self) -> Value:
        return self.f.pointer(I64, self._parameters, host.BYTES_DATA // 8 + 1)

    def parameter(self, place: int | Value, element: Any = I64) -> Value:
        """One of the numbers that `python_function` was given."""
        return self.f.load(element, self._parameters, place + (host.BYTES_DATA // 8 + 1))

    def _exit(self, fallbacks: Value, number: int) -> Any:
        f = self.f
        block, here = f.b.append_block(), f.b.block
        f.b.continue_in(block)
        self._count(1)
        fallback = f.load(POINTER, fallbacks, host.TUPLE_ITEMS // 8 + number)
        f.give(f.call("PyObject_Vectorcall", POINTER, fallback, self.arguments, self.count, self.keywords))
        f.b.continue_in(here)
        return block

    def _count(self, which: int) -> None:
        for counted in (self.object("whygrad_counted"), self.parameter(-1, POINTER)):
            self.f.store(self.f.load(I64, counted, which) + 1, counted, which)

    def require(self, condition: Value) -> None:
        """Go on only if arguments are of the right kind."""
        self._go_on_if(condition, self._other_kind)

    def require_shape(self, condition: Value) -> None:
        """Go on only if shapes and strides are the right ones."""
        self._go_on_if(condition, self._other_shape)

    def _go_on_if(self, condition: Value, otherwise: Any) -> None:
        block = self.f.b.append_block()
        self.f.b.branch_if(condition.v, block, otherwise)
        self.f.b.continue_in(block)

    def argument(self, i: int | Value) -> Value:
        return self.f.load(POINTER, self.arguments, i)

    def is_null(self, a: Value) -> Value:
        return a.equals(self.f.null)

    def same(self, a: Value, symbol: str) -> Value:
        """Is `a` the address of this object?"""
        return a.equals(self.object(symbol))

    def object(self, symbol: str) -> Value:
        return self.f.symbol(symbol)

    def array(self, value: Value, code: str, writeable: bool = False, contiguous: bool = True) -> Array:
        """Require an ndarray of this dtype, in one piece if its strides are not the caller's business."""
        f = self.f
        self.require(self.same(f.load(POINTER, value, host.TYPE // 8), "numpy_array_type"))
        self.require(self.same(f.load(POINTER, value, host.DTYPE // 8), f"numpy_dtype_{code}".replace("?", "bool")))
        wanted = (host.CONTIGUOUS_AND_ALIGNED if contiguous else 0) | (host.WRITEABLE if writeable else 0)
        if wanted:
            flags = f.load(I32, value, host.FLAGS // 4)
            self.require_shape((flags & wanted).equals(wanted))
        return Array(f, value)

    def number(self, value: Value) -> Value:
        """Require a Python float or an int that is one exactly; gives a double."""
        f = self.f
        kind = f.load(POINTER, value, host.TYPE // 8)
        is_float, is_int = self.same(kind, "PyFloat_Type"), self.same(kind, "PyLong_Type")
        self.require(is_float | is_int)
        result = f.variable(f.constant(0.0, F64))
        with f.either(is_float) as (floating, integer):
            with floating:
                result.set(f.load(F64, value, 2))
            with integer:
                overflow = f.variable(f.constant(0, I32))
                whole = f.call("PyLong_AsLongLongAndOverflow", I64, value, Value(f, overflow.place))
                result.set(f.choose(overflow.get().equals(0), whole.to(F64), f.constant(float("nan"), F64)))
        self.require(result.get().equals(result.get()) | is_float)
        return result.get()

    def same_shape(self, a: Array, b: Array) -> None:
        f = self.f
        self.require_shape(a.ndim.equals(b.ndim))
        differs = f.variable(f.constant(0, I64))
        with f.loop(0, a.ndim.to(I64)) as axis:
            differs.set(differs.get() | (f.load(I64, a.shape, axis) ^ f.load(I64, b.shape, axis)))
        self.require_shape(differs.get().equals(0))

    def new_array(self, dtype: str | Value, ndim: Value, shape: Value, strides: Value | None = None) -> Value:
        """A fresh ndarray; on failure NumPy's error is passed on. Strides must make it dense."""
        f = self.f
        if isinstance(dtype, str):
            dtype = self.object(f"numpy_dtype_{dtype}".replace("?", "bool"))
        f.call("Py_IncRef", VOID, dtype)  # the new array takes a reference
        made = f.call("numpy_new_from_descr", POINTER, self.object("numpy_array_type"), dtype, ndim, shape,
                      f.null if strides is None else strides, f.null, f.constant(0, I32), f.null)
        with f.when(self.is_null(made), likely=False):
            f.give(f.null)
        return made

    def slots(self, values: list[Value]) -> Value:
        """The arguments of a task, in the frame."""
        f = self.f
        place = f.frame(I64, len(values), 0)
        for i, value in enumerate(values):
            f.store(value, place, i)
        return place

    def run(self, task: Any, slots: Value, n: Value, serial_below: int | Value, grain: int) -> None:
        """Do range(n), with all threads and without Python's lock if it is much. `task`: a function, its name, or its address."""
        f = self.f
        if isinstance(task, str):
            task = f.module.declare(task, VOID, TASK)
        address = task if isinstance(task, Value) else Value(f, task)
        with f.either(n < n.like(serial_below)) as (little, much):
            with little:
                f.call_task(address, slots, f.integer(0), n)
            with much:
                state = f.call("PyEval_SaveThread", POINTER)
                f.call("whygrad_run_parallel", VOID, address, slots, n, f.integer(grain), f.integer(0))
                f.call("PyEval_RestoreThread", VOID, state)

    def give(self, result: Value) -> None:
        self._count(0)
        self.f.give(result)

    def give_all(self, results: list[Value]) -> None:
        """One result as it is, several as a tuple, which takes the references to them."""
        self.give_those(self.slots(results), self.f.integer(len(results)))

    def give_those(self, results: Value, count: Value) -> None:
        """The same, if they lie in memory."""
        f = self.f
        with f.when(count.equals(1)):
            self.give(f.load(POINTER, results))
        together = f.call("PyTuple_New", POINTER, count)
        with f.when(self.is_null(together), likely=False):
            f.give(f.null)
        with f.loop(0, count) as i:
            f.call("PyTuple_SetItem", I32, together, i, f.load(POINTER, results, i))
        self.give(together)


class Array:
    """What is read of an ndarray argument."""

    def __init__(self, f: Function, value: Value) -> None:
        self.f = f
        self.value = value
        self.data = f.load(POINTER, value, host.DATA // 8)
        self.ndim = f.load(I32, value, host.NDIM // 4)
        self.shape = f.load(POINTER, value, host.SHAPE // 8)

    def size(self) -> Value:
        f = self.f
        n = f.variable(f.integer(1))
        with f.loop(0, self.ndim.to(I64)) as axis:
            n.set(n.get() * f.load(I64, self.shape, axis))
        return n.get()


def data_of(f: Function, array: Value) -> Value:
    return f.load(POINTER, array, host.DATA // 8)


def is_contiguous(x: Any) -> bool:
    """For code that does not look at strides."""
    flags = x.flags
    return bool(flags.c_contiguous and flags.aligned)


def contiguous(x: Any) -> Any:
    return x if is_contiguous(x) else x.copy("C")


def maker(run: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The maker of a row's kernel (see registry.py): `run`, and the NumPy function for arguments of which it gives None."""

    def make(numpy: Callable[..., Any]) -> Callable[..., Any]:
        def row(*args: Any, **statics: Any) -> Any:
            found = run(*args, **statics)
            return declined(numpy, *args, **statics) if found is None else found

        return row

    return make


def declined(numpy: Callable[..., Any], *arrays: Any, **statics: Any) -> Any:
    """The NumPy function, where a kernel's Python part finds that it is not for these arguments."""
    host.counted[1] += 1
    return numpy(*arrays, **statics)


__all__ = ["ELEMENT", "Array", "Entry", "contiguous", "data_of", "declined", "is_contiguous", "maker", "python_function"]
