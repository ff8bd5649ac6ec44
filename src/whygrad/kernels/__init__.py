"""Kernels: rows as machine code, through LLVM.

The same rows that NumPy runs are read with symbols and compiled into one pass over memory (trace.py, pointwise.py). It
happens when a row is hot (jit.py), so importing this package costs nothing. `WHYGRAD_KERNELS=0` switches it off. The rest of
whygrad does not import this package: its functions are registered with base/acceleration.py, which describes them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

from whygrad.base import acceleration
from whygrad.base.platforms import IS_WEBASSEMBLY
from whygrad.kernels import jit
from whygrad.kernels.jit import JitElementwise, JitKernel, JitSlot, counts, not_compiled, unavailable
from whygrad.kernels.registry import KERNELS, load
from whygrad.ops.table import Row

__all__ = ["empty_cache", "enabled", "memory_stats", "stats"]

MEMORY = ("kept_bytes", "most_bytes", "reused", "fresh")  # the keys of memory_stats

DATA = 16  # bytes from the start of an array to the address of its elements (see host.py)
enabled = os.environ.get("WHYGRAD_KERNELS", "1").lower() not in ("0", "off", "false", "no") and not IS_WEBASSEMBLY


def bind_row(name: str, numpy: Callable[..., Any], scope: dict[str, Any]) -> Any:
    if name in KERNELS:
        JitKernel(name, numpy).bind(scope, name)
    else:
        scope[name] = numpy
    return scope[name]


def bind_elementwise(scope: dict[Any, Any], key: Any, name: str, numpy: Callable[..., Any], function: Callable[..., Any], *,
                     takes_vocabulary: bool = True, may_overwrite: bool = False, is_pass: bool = False,
                     is_hot: bool = False) -> None:
    def traced(*symbols: Any, **statics: Any) -> Any:
        if not takes_vocabulary:
            return function(*symbols, **statics)
        tracing = load("trace")
        return tracing.as_traced(function)(tracing.vocabulary, *symbols, **statics)

    slot = JitElementwise(name, numpy, traced, is_rule=name.startswith("d_"), is_pass=is_pass, may_overwrite=may_overwrite)
    slot.calls = jit.HOT if is_hot else 0
    slot.bind(scope, key)


def pass_of(function: Callable[..., Any], kinds: str) -> str:
    tracing = load("trace")
    try:
        formula = tracing.trace(function, tracing.vocabulary, *tracing.inputs(kinds))
    except tracing.Untraceable:
        return ""
    return str(formula.args[0]) if formula.op in ("input", "mask") else "total" if formula.op in tracing.TOTALS else "elementwise"


def bind_row_write(scope: dict[Any, Any], key: Any, row: Row, numpy: Callable[..., Any]) -> None:
    def traced(*symbols: Any) -> Any:
        # Statics are inputs here: a number among them may be another one in every call.
        count, tracing = len(row.inputs), load("trace")
        statics = dict(zip(row.statics, symbols[count:], strict=True))
        return tracing.as_traced(row.forward)(tracing.vocabulary, *symbols[:count], **statics)

    JitElementwise(f"{row.name}_into", numpy, traced, into=True).bind(scope, key)


def bind_ufunc_write(scope: dict[Any, Any], key: Any, word: str, numpy: Callable[..., Any]) -> None:
    def traced(*symbols: Any) -> Any:
        return load("trace").vocabulary.apply(word, *symbols)

    JitElementwise(f"{word}_into", numpy, traced, into=True).bind(scope, key)


def bind_again(scope: dict[Any, Any], key: Any, function: Callable[..., Any]) -> bool:
    if isinstance(function, JitSlot):
        function.bind(scope, key)
        return True
    scope[key] = function
    return False


def tell_references(count: int) -> None:
    jit.walk_references = count


_asked = 0


def is_hot(size: int) -> bool:
    """For operations without a slot: shall one on `size` elements be compiled?"""
    global _asked
    _asked += 1
    return (size >= jit.LARGE or _asked > jit.HOT) and jit.usable()


def make_step(update: Callable[..., None], numbers: dict[str, Any], count: int, size: int, *, pure: bool) -> Any:
    key = update, count
    if is_hot(size):
        return load("steps").make_step(update, numbers, count, pure=pure)
    if unavailable() != "" or not pure or key in _steps_not_cached:
        return None
    with jit.loading_only():
        step = load("steps").make_step(update, numbers, count, pure=True)
    if step is None:
        _steps_not_cached.add(key)
    return step


_steps_not_cached: set[Any] = set()


def add_rows(target: Any, index: Any, rows: Any) -> bool:
    if target.dtype != "f4" or not is_hot(rows.size):
        return False
    return load("indexing").add_rows(rows, index, target.shape, into=target) is not None


def put_elements(target: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    if target.dtype != "f4" or not is_hot(index.size):
        return False
    done: bool = load("gather_scatter").put(target, index, source, axis, how)
    return done


def within(index: Any, size: int) -> bool:
    global _within
    if _within is None:
        if not is_hot(index.size):
            return bool(index.min() >= 0 and index.max() < size)
        _within = load("gather_scatter").within()
    return _within(index, size)


_within: Callable[..., bool] | None = None


def address(x: Any) -> int:
    if unavailable() == "":  # then the layout of arrays is verified, and reading the field takes a tenth of the time
        return int(ctypes.c_int64.from_address(id(x) + DATA).value)
    found: int = x.__array_interface__["data"][0]
    return found


def drawing(name: str, count: int) -> Callable[..., Any] | None:
    found = _drawing.get(name)
    if found is None and is_hot(count):
        random = load("random")
        if random.state_is_known():
            made = {"normals": random.normals, "swaps": random.swaps}.get(name)
            found = _drawing[name] = made() if made else random.drawing(name)
    return found


_drawing: dict[str, Callable[..., Any]] = {}


def memory_stats() -> dict[str, int]:
    """The allocator behind NumPy's arrays: bytes it keeps, the most it would keep, and how many blocks were reused or fresh.

    All are 0 until kernels are in use.
    """
    memory = sys.modules.get("whygrad.kernels.memory")
    return dict.fromkeys(MEMORY, 0) if memory is None else memory.memory_stats()


def empty_cache() -> None:
    """Give the memory that the allocator keeps back to the system."""
    memory = sys.modules.get("whygrad.kernels.memory")
    if memory is not None:
        memory.empty_cache()


def stats() -> dict[str, Any]:
    """How many functions were compiled, loaded from the cache, or stayed with NumPy, and the calls of each kind.

    `by_name`: for each function the calls that ran as machine code, and those that were handed on to NumPy (or to another
    kernel). `not_compiled`: functions that cannot be written as one pass, and are NumPy's.
    """
    result: dict[str, Any] = {"enabled": enabled, "functions": dict(counts), "not_compiled": sorted(not_compiled),
                              "calls": {"native": 0, "numpy": 0}, "by_name": {}}
    reason = unavailable()
    if reason == "":
        counted, counters = load("host").counted, load("calls").counters
        result |= load("code").counts | {"calls": {"native": counted[0], "numpy": counted[1]}}
        result["by_name"] = {name: {"native": native, "numpy": numpy} for name, (native, numpy) in sorted(counters.items())}
    elif reason:
        result["unavailable"] = reason
    return result


acceleration.register(sys.modules[__name__] if enabled else None)
