"""Kernels: rows as machine code, through LLVM.

The same rows that NumPy runs are read with symbols and compiled into one pass over memory (trace.py, pointwise.py). It
happens when a row is hot (warm.py), so importing this package costs nothing. `WHYGRAD_KERNELS=0` switches it off.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

from whygrad.kernels import jit as warm_module
from whygrad.kernels.jit import JitElementwise, JitKernel, JitSlot, counts, not_compiled, unavailable
from whygrad.kernels.registry import KERNELS
from whygrad.ops.table import Row

__all__ = ["JitSlot", "add_rows", "address", "drawing", "empty_cache", "enabled", "fill", "is_hot", "make_step", "memory_stats",
           "put_elements", "stats", "tell_references", "warm", "warm_into", "warm_write", "within", "word"]

MEMORY = ("kept_bytes", "most_bytes", "reused", "fresh")  # what memory_stats tells

DATA = 16  # bytes from the start of an array to the address of its elements (see host.py)
enabled = os.environ.get("WHYGRAD_KERNELS", "1").lower() not in ("0", "off", "false", "no")


def word(name: str, numpy: Callable[..., Any], scope: dict[str, Any]) -> Any:
    """What stands for NumPy's function of a row in a vocabulary: itself, or a place for its kernel."""
    if enabled and name in KERNELS:
        JitKernel(name, numpy).put(scope, name)
        return scope[name]
    return numpy


def warm(name: str, numpy: Callable[..., Any], function: Callable[..., Any], takes_vocabulary: bool = True,
         last: bool = False, is_pass: bool = False) -> JitElementwise:
    """Stands for `numpy` until `function`, a forward or a rule, is compiled. The `last` rule of a gradient may overwrite it.

    `is_pass`: one of the functions that rows have for `in_one_pass`.
    """

    def traced(*symbols: Any, **statics: Any) -> Any:
        from whygrad.kernels.trace import as_traced, vocabulary

        return as_traced(function)(vocabulary, *symbols, **statics) if takes_vocabulary else function(*symbols, **statics)

    return JitElementwise(name, numpy, traced, is_rule=name.startswith("d_"), is_pass=is_pass, last=last)


def tell_references(count: int) -> None:
    """How many references to a gradient the engine's walk has while a rule runs."""
    warm_module.walk_references = count


def warm_write(row: Row, numpy: Callable[..., Any]) -> JitElementwise:
    """Stands for the forward of an elementwise row that writes into its last argument. Statics come after the inputs: a
    number among them may be another one in every call."""

    def traced(*symbols: Any) -> Any:
        from whygrad.kernels.trace import as_traced, vocabulary

        count = len(row.inputs)
        return as_traced(row.forward)(vocabulary, *symbols[:count], **dict(zip(row.statics, symbols[count:], strict=True)))

    return JitElementwise(f"{row.name}_into", numpy, traced, into=True)


def warm_into(word: str, numpy: Callable[..., Any]) -> JitElementwise:
    """Stands for a ufunc that writes into its last argument."""

    def traced(*symbols: Any) -> Any:
        from whygrad.kernels.trace import apply

        return apply(word, *symbols)

    return JitElementwise(f"{word}_into", numpy, traced, into=True)


_asked = 0


def is_hot(size: int) -> bool:
    """For those who ask each time: shall an operation on so many elements be compiled?"""
    global _asked
    _asked += 1
    return (size >= warm_module.LARGE or _asked > warm_module.HOT) and warm_module.usable()


def make_step(update: Callable[..., None], numbers: dict[str, Any], count: int, *, pure: bool) -> Any:
    """The step of an optimizer as a kernel (see steps.py), or None."""
    from whygrad.kernels.steps import make_step as make

    return make(update, numbers, count, pure=pure)


def add_rows(target: Any, index: Any, rows: Any) -> bool:
    """`target[index[i]] += rows[i]` for all i, if that is much and of the kind kernels are for; else False."""
    if not enabled or target.dtype != "f4" or not is_hot(rows.size):
        return False
    from whygrad.kernels.indexing import add_rows

    return add_rows(rows, index, target.shape, into=target) is not None


def put_elements(target: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """Elements of `source` written (or "add"ed ...) where `index` says along an axis, if that is much; else False."""
    if not enabled or target.dtype != "f4" or not is_hot(index.size):
        return False
    from whygrad.kernels.gather_scatter import put

    return put(target, index, source, axis, how)


def within(index: Any, size: int) -> bool:
    """Are all numbers at least 0, and below `size`?"""
    global _within
    if _within is None:
        if not enabled or not is_hot(index.size):
            return bool(index.min() >= 0 and index.max() < size)
        from whygrad.kernels import gather_scatter as elements

        _within = elements.within()
    return _within(index, size)


_within: Callable[..., bool] | None = None


# Bytes from which on an array is filled by all threads.
FILLED_TOGETHER = 1 << 18


def fill(x: Any, value: Any) -> None:
    """`x.fill(value)`, by a kernel if it is much."""
    if x.nbytes < FILLED_TOGETHER or not enabled or not x.flags.carray or not warm_module.usable():
        x.fill(value)
        return
    from whygrad.kernels.fills import fill

    fill(x, value)


def address(x: Any) -> int:
    """Where an array's first element is."""
    if unavailable() == "":  # then it is known how arrays lie in memory, and a look costs a tenth
        return int(ctypes.c_int64.from_address(id(x) + DATA).value)
    found: int = x.__array_interface__["data"][0]
    return found


def drawing(name: str, count: int) -> Callable[..., Any] | None:
    """What draws so many random numbers (see random.py), if it shall be a kernel."""
    found = _drawing.get(name)
    if found is None and enabled and is_hot(count):
        from whygrad.kernels import random

        if random.state_is_known():
            made = {"normals": random.normals, "swaps": random.swaps}.get(name)
            found = _drawing[name] = made() if made else random.drawing(name)
    return found


_drawing: dict[str, Callable[..., Any]] = {}


def memory_stats() -> dict[str, int]:
    """The allocator behind NumPy's arrays: bytes it keeps, the most it would keep, and how many blocks were kept ones or fresh.

    All is 0 until kernels are in use.
    """
    memory = sys.modules.get("whygrad.kernels.memory")
    return dict.fromkeys(MEMORY, 0) if memory is None else memory.memory_stats()


def empty_cache() -> None:
    """Give the memory back that the allocator keeps."""
    memory = sys.modules.get("whygrad.kernels.memory")
    if memory is not None:
        memory.empty_cache()


def stats() -> dict[str, Any]:
    """How many functions were compiled, loaded from the cache, or stayed with NumPy, and how often each way was taken.

    `by_name` tells it of each function: calls that ran as machine code, and calls that were handed on to NumPy (or to
    another kernel). `not_compiled` are those that cannot be written as one pass, and are NumPy's.
    """
    result: dict[str, Any] = {"enabled": enabled, "functions": dict(counts), "not_compiled": sorted(not_compiled),
                              "calls": {"native": 0, "numpy": 0}, "by_name": {}}
    reason = unavailable()
    if reason == "":
        from whygrad.kernels import calls, code, host

        result |= code.counts | {"calls": {"native": host.counted[0], "numpy": host.counted[1]}}
        result["by_name"] = {name: {"native": native, "numpy": numpy} for name, (native, numpy) in sorted(calls.counters.items())}
    elif reason:
        result["unavailable"] = reason
    return result
