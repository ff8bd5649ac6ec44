"""A caching allocator behind NumPy's arrays (NEP 49).

Fresh pages cost more than the arithmetic on them: memory that arrays give back is kept, by size, and handed out again.
Only memory of arrays that no longer exist is reused, so nobody sees another's numbers. A block has a line of 64 bytes in
front, with its size class; blocks of several megabytes ask for huge pages. What is kept is bounded.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tracemalloc
from functools import cache
from typing import Any

from whygrad.kernels.code import address_beside, address_of
from whygrad.kernels.host import SET_HANDLER, numpy_functions

_whygrad_internal_ = True

# The allocator's own memory, in units of 8 bytes: a lock, bytes kept, the most to keep, hits, misses, then the lists.
LOCK, KEPT, MOST, HITS, MISSES, LISTS = range(6)
CLASSES = 544
LINE = 64
HUGE = 4 << 20

state = (ctypes.c_int64 * (LISTS + CLASSES))()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(state))  # arrays are freed after this module when the process ends


def _write(module: Any, name: str) -> None:
    """One object with all functions. `name` is malloc; the others are called after it."""
    from llvmlite import ir

    from whygrad.kernels.values import I8, I32, I64, POINTER, VOID, Function, Value

    heap = ir.GlobalVariable(module, I8, "whygrad_heap")
    null = ir.Constant(POINTER, None)

    def kept(f: Function) -> Value:
        return Value(f, heap)

    def locked(f: Function) -> Any:
        """Spin until the lock is ours; gives what unlocks it."""
        lock = f.b.bitcast(kept(f).v, I32.as_pointer())
        wait, taken = f.function.append_basic_block("wait"), f.function.append_basic_block("taken")
        f.b.branch(wait)
        f.b.position_at_end(wait)
        old = f.b.atomic_rmw("xchg", lock, ir.Constant(I32, 1), "acquire")
        f.b.cbranch(f.b.icmp_signed("==", old, ir.Constant(I32, 0)), taken, wait)
        f.b.position_at_end(taken)
        return lambda: f.b.store_atomic(ir.Constant(I32, 0), lock, "release", 4)

    def size_class(f: Function, size: Value) -> tuple[Value, Value]:
        """Four classes for each power of two: the number of the class, and its size."""
        last = f.choose(size < LINE, size.like(LINE), size) - 1
        power = 63 - f.call("llvm.ctlz.i64", I64, last, ir.Constant(ir.IntType(1), 0))
        shift = power - 2
        quarters = Value(f, f.b.lshr(last.v, shift.v)) + 1
        return power * 8 + quarters, quarters << shift

    def add(f: Function, what: int, amount: Any) -> None:
        f.store(f.load(I64, kept(f), what) + amount, kept(f), what)

    f = Function(module, name, POINTER, [POINTER, I64])
    _, size = f.arguments
    number, rounded = size_class(f, size)
    unlock = locked(f)
    first = f.load(POINTER, kept(f), number + LISTS)
    fresh, again = f.function.append_basic_block("fresh"), f.function.append_basic_block("again")
    f.b.cbranch(f.b.icmp_unsigned("==", first.v, null), fresh, again)
    f.b.position_at_end(again)
    f.store(f.load(POINTER, first), kept(f), number + LISTS)
    add(f, KEPT, -rounded)
    add(f, HITS, 1)
    unlock()
    f.b.ret(first.v)
    f.b.position_at_end(fresh)
    add(f, MISSES, 1)
    unlock()
    made_at = f.variable(Value(f, null))
    is_huge = rounded >= HUGE
    failed = f.call("posix_memalign", I32, Value(f, made_at.place), f.choose(is_huge, f.integer(2 << 20), f.integer(LINE)),
                    rounded + LINE)
    with f.b.if_then(f.b.icmp_signed("!=", failed.v, ir.Constant(I32, 0)), likely=False):
        f.b.ret(null)
    with f.when(is_huge):
        f.call("madvise", I32, made_at.get(), rounded + LINE, f.constant(14, I32))  # MADV_HUGEPAGE
    f.store(number, made_at.get())
    f.b.ret(f.pointer(I8, made_at.get(), LINE).v)
    allocate = f.function

    f = Function(module, f"{name}_free", VOID, [POINTER, POINTER, I64])
    _, block, _ = f.arguments
    with f.b.if_then(f.b.icmp_unsigned("==", block.v, null), likely=False):
        f.b.ret_void()
    front = f.pointer(I8, block, -LINE)
    number = f.load(I64, front)
    shift = Value(f, f.b.lshr((number - 5).v, ir.Constant(I64, 3))) - 2
    rounded = (number - (shift + 2) * 8) << shift
    unlock = locked(f)
    full = f.load(I64, kept(f), KEPT) + rounded > f.load(I64, kept(f), MOST)
    keep, give_back = f.function.append_basic_block("keep"), f.function.append_basic_block("give_back")
    f.b.cbranch(full.v, give_back, keep)
    f.b.position_at_end(keep)
    f.store(f.load(POINTER, kept(f), number + LISTS), block)
    f.store(block, kept(f), number + LISTS)
    add(f, KEPT, rounded)
    unlock()
    f.b.ret_void()
    f.b.position_at_end(give_back)
    unlock()
    f.call("free", VOID, front)
    f.b.ret_void()

    f = Function(module, f"{name}_calloc", POINTER, [POINTER, I64, I64])
    context, count, size = f.arguments
    made = Value(f, f.b.call(allocate, [context.v, (count * size).v]))
    with f.b.if_then(f.b.icmp_unsigned("!=", made.v, null)):
        f.call("memset", POINTER, made, f.constant(0, I32), count * size)
    f.b.ret(made.v)

    f = Function(module, f"{name}_realloc", POINTER, [POINTER, POINTER, I64])
    context, block, size = f.arguments
    made = Value(f, f.b.call(allocate, [context.v, size.v]))
    both = f.b.and_(f.b.icmp_unsigned("!=", made.v, null), f.b.icmp_unsigned("!=", block.v, null))
    with f.b.if_then(both):
        number = f.load(I64, f.pointer(I8, block, -LINE))
        shift = Value(f, f.b.lshr((number - 5).v, ir.Constant(I64, 3))) - 2
        old = (number - (shift + 2) * 8) << shift
        f.call("memcpy", POINTER, made, block, f.choose(old < size, old, size))
        f.call(f"{name}_free", VOID, context, block, f.integer(0))
    f.b.ret(made.v)

    f = Function(module, f"{name}_empty", VOID, [])
    unlock = locked(f)
    with f.loop(LISTS, LISTS + CLASSES) as place:
        head = f.variable(f.load(POINTER, kept(f), place))
        f.store(Value(f, null), kept(f), place)
        with f.repeat_while(lambda: Value(f, f.b.icmp_unsigned("!=", head.get().v, null))):
            following = f.load(POINTER, head.get())
            f.call("free", VOID, f.pointer(I8, head.get(), -LINE))
            head.set(following)
    f.store(f.integer(0), kept(f), KEPT)
    unlock()
    f.b.ret_void()


class _Functions(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), ("malloc", ctypes.c_void_p), ("calloc", ctypes.c_void_p),
                ("realloc", ctypes.c_void_p), ("free", ctypes.c_void_p)]


class _Handler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("functions", _Functions)]


@cache
def _capsule() -> Any:
    from llvmlite import binding

    binding.add_symbol("whygrad_heap", ctypes.addressof(state))
    malloc = address_of("allocator", _write)
    functions = _Functions(None, malloc, *[address_beside("allocator", suffix) for suffix in ("_calloc", "_realloc", "_free")])
    handler = _Handler(b"whygrad", 1, functions)
    name = ctypes.create_string_buffer(b"mem_handler")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(handler), ctypes.addressof(name), None)
    for needed in (state, handler, name, capsule):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(needed))  # arrays are freed until the very end of the process
    return capsule, handler, name


@cache
def _empty() -> Any:
    """The function that gives everything back, to be called with Python's lock held: it takes the allocator's own."""
    os.register_at_fork(after_in_child=_unlock)
    return ctypes.PYFUNCTYPE(None)(address_beside("allocator", "_empty"))


def _unlock() -> None:
    """In a forked child: whoever held the lock is not there."""
    state[LOCK] = 0


def install() -> bool:
    """Use it for the arrays that this thread makes from now on. Not while somebody traces allocations."""
    if sys.platform != "linux" or tracemalloc.is_tracing() or os.environ.get("WHYGRAD_ALLOCATOR") == "0":
        return False
    capsule = _capsule()[0]
    _empty()
    state[MOST] = _most()
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_functions()[SET_HANDLER])(capsule)
    return True


def _most() -> int:
    """An eighth of the machine's memory, at most 2 GiB."""
    return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8, 2 << 30)


def empty_cache() -> None:
    """Give what is kept back to the system."""
    if state[MOST]:
        _empty()()


def memory_stats() -> dict[str, int]:
    return {"kept_bytes": state[KEPT], "most_bytes": state[MOST], "reused": state[HITS], "fresh": state[MISSES]}
