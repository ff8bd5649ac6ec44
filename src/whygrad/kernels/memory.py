"""A caching allocator behind NumPy's arrays (NEP 49).

Fresh pages cost more than the arithmetic on them: memory that arrays give back is kept, by size, and handed out again.
Only memory of arrays that no longer exist is reused, so nobody sees another's numbers. What is kept is bounded.
"""

from __future__ import annotations

import _tracemalloc
import ctypes
import os
import sys
from functools import cache
from typing import Any

from whygrad.kernels import MEMORY
from whygrad.kernels.code import address_beside, address_of
from whygrad.kernels.host import SET_HANDLER, numpy_functions
from whygrad.kernels.linker import symbols
from whygrad.kernels.memory_code import CLASSES, HITS, KEPT, LISTS, LOCK, MISSES, MOST, write_all

state = (ctypes.c_int64 * (LISTS + CLASSES))()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(state))  # arrays are freed after this module when the process ends


class _Functions(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), ("malloc", ctypes.c_void_p), ("calloc", ctypes.c_void_p),
                ("realloc", ctypes.c_void_p), ("free", ctypes.c_void_p)]


class _Handler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("functions", _Functions)]


@cache
def _capsule() -> Any:
    symbols["whygrad_heap"] = ctypes.addressof(state)
    malloc = address_of("allocator", write_all)
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
    """In a forked child: the thread that held the lock does not exist there."""
    state[LOCK] = 0


def install() -> bool:
    """Use it for the arrays that this thread makes from now on. Not while tracemalloc is on."""
    if sys.platform != "linux" or _tracemalloc.is_tracing() or os.environ.get("WHYGRAD_ALLOCATOR") == "0":
        return False
    capsule = _capsule()[0]
    _empty()
    # An eighth of the machine's memory, at most 2 GiB.
    state[MOST] = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8, 2 << 30)
    ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_functions()[SET_HANDLER])(capsule)
    return True


def empty_cache() -> None:
    """Give what is kept back to the system."""
    if state[MOST]:
        _empty()()


def memory_stats() -> dict[str, int]:
    return dict(zip(MEMORY, [state[place] for place in (KEPT, MOST, HITS, MISSES)], strict=True))
