"""When a row becomes machine code: after it was called often, on large arrays, or if its kernel lies in the cache on disk.

Until then a slot replaces the function, counts the calls and runs NumPy. The compiled function then replaces the slot in
every scope that holds it, so there is no further indirection. A script of a few small operations never loads the compiler.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from whygrad.backends.half_precision import is_bfloat16
from whygrad.base.forking import hold_while_forking
from whygrad.kernels.registry import load, make

# WHYGRAD_KERNELS=always compiles at the first call, for tests.
ALWAYS = os.environ.get("WHYGRAD_KERNELS") == "always"
# A function is compiled after HOT calls, or when an argument has LARGE elements.
HOT = 0 if ALWAYS else 300
LARGE = 0 if ALWAYS else 8192
# Calls after which a slot looks into the cache again. Loading a kernel takes about 0.04 ms, and saves some 5 µs a call.
LOOK_INTERVAL = 8
# Calls of all slots before the first kernel is looked for, which takes some 10 ms more: imports, threads, the allocator.
START_AFTER = 2000
# Specializations of one function; calls with further statics stay with NumPy.
MAX_SPECIALIZATIONS = 256

# The dtypes that every formula is compiled for (float32, float16, bfloat16), as NumPy's characters.
COMPILED_DTYPES = frozenset("feE")

counts = {"native": 0, "numpy": 0}
not_compiled: set[str] = set()
# Held while code is compiled or loaded. autograd/accumulation.py takes its own lock first and then this one; so does forking.
compiling = threading.RLock()
hold_while_forking(compiling)
_unavailable: str | None = None
_calls = 0  # of all slots, in steps of LOOK_INTERVAL

# References to a gradient while its rule runs, if all of them are the engine's; 0 if that is not known.
walk_references = 0


class NotCached(Exception):
    """A kernel would have to be compiled, and was only to be loaded."""


class Unavailable(Exception):
    """Why kernels cannot be used here."""


only_cached = False  # must kernels be in the cache?


@contextlib.contextmanager
def loading_only() -> Iterator[None]:
    """In this block, code that is not in the cache raises NotCached."""
    global only_cached
    with compiling:
        before, only_cached = only_cached, True
        try:
            yield
        finally:
            only_cached = before


class JitSlot:
    """Replaces a function in the scopes that hold it, until there is a kernel."""

    def __init__(self, name: str, numpy: Callable[..., Any]) -> None:
        self.name = name
        self.numpy = numpy
        self.calls = 0
        self.not_cached = False  # looked for once, and not found
        self.bindings: list[tuple[dict[Any, Any], Any]] = []

    def bind(self, scope: dict[Any, Any], key: Any) -> None:
        scope[key] = self
        self.bindings.append((scope, key))

    def rebind(self, function: Callable[..., Any]) -> None:
        for scope, key in self.bindings:
            scope[key] = function

    def _shall_look(self) -> bool:
        """Is it worth looking for the kernel in the cache? Asked once in LOOK_INTERVAL calls."""
        global _calls
        _calls += LOOK_INTERVAL
        return not self.not_cached and (_unavailable == "" or (_calls >= START_AFTER and _can_start()))


class JitKernel(JitSlot):
    """A row whose kernel is written by hand (see registry.py)."""

    def __call__(self, *args: Any, **statics: Any) -> Any:
        self.calls += 1
        if self.calls <= HOT:
            for x in args:
                if getattr(x, "size", 0) >= LARGE:
                    break
            else:
                if self.calls % LOOK_INTERVAL or not self._shall_look():
                    return self.numpy(*args, **statics)
                return self._from_cache(args, statics)
        function = self.numpy
        if usable():
            with compiling:
                function = make(self.name, self.numpy)
        self.rebind(function)
        return function(*args, **statics)

    def _from_cache(self, args: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        """Kernels are loaded when they run, so this is a trial run."""
        try:
            with loading_only():
                function = make(self.name, self.numpy)
                result = function(*args, **statics)
        except NotCached:
            self.not_cached = True
            return self.numpy(*args, **statics)
        self.rebind(function)
        return result


class JitElementwise(JitSlot):
    """An elementwise function that will be compiled. `trace(symbols)` gives its formula.

    Statics are part of a formula, so each choice of them has a slot of its own, a specialization.
    """

    def __init__(self, name: str, numpy: Callable[..., Any], trace: Callable[..., Any], into: bool = False,
                 is_rule: bool = False, may_overwrite: bool = False, is_pass: bool = False) -> None:
        super().__init__(name, numpy)
        self.trace = trace
        # Both are several kernels of torch's, each of which rounds float16 and bfloat16.
        self.is_rule = is_rule
        self.is_pass = is_pass
        self.may_overwrite = may_overwrite  # only the engine's walk holds the first argument, and does not read it again
        self.into = into  # the last argument is the array to write to
        # Compiled functions by kinds and dtype of the arguments, and by those that are neither arrays nor numbers.
        self.made: dict[Any, Callable[..., Any]] = {}
        self.bound_dtype = ""  # of the compiled function that replaced this slot
        self.specializations: dict[Any, Any] = {}
        self.parent: JitElementwise | None = None  # the unspecialized slot

    def __call__(self, *args: Any, **statics: Any) -> Any:
        if statics:
            return self._specialized(statics)(*args)
        self.calls += 1
        if self.calls <= HOT and not _is_large(args):
            if self.calls % LOOK_INTERVAL or not self._shall_look():
                return self.numpy(*args)
            with loading_only():
                return self._compiled_for(args, None)
        return self._compiled_for(args, None)

    def _specialized(self, statics: dict[str, Any]) -> Callable[..., Any]:
        key = *statics.items(), *map(type, statics.values())  # 1 == 1.0 == 1 + 0j
        try:
            if 0.0 in statics.values():
                key = *key, *map(str, statics.values())  # 0.0 == -0.0
            found: Callable[..., Any] | None = self.specializations.get(key)
        except (TypeError, ValueError):  # an array among the statics
            return partial(self.numpy, **statics)
        if found is None:
            numpy = partial(self.numpy, **statics)
            if len(self.specializations) == MAX_SPECIALIZATIONS:
                return numpy
            found = JitElementwise(self.name, numpy, partial(self.trace, **statics), self.into, self.is_rule,
                                   self.may_overwrite, self.is_pass)
            found.parent = self
            found.bind(self.specializations, key)
        return found

    def _compiled_for(self, args: tuple[Any, ...], declined: Callable[..., Any] | None) -> Any:
        """Run the function that is compiled for such arguments, unless it is the one that has declined them."""
        kinds, code = kinds_of(args[:-1] if self.into else args)
        if "a" in kinds and code in ("f4", "f8"):
            kinds = kinds.replace("s", "a")  # the same code takes a number or an array
        constants = tuple([x for x, kind in zip(args, kinds, strict=False) if kind == "c"])
        key = kinds, code, constants
        found = self.made.get(key)
        if found is None:
            try:
                with compiling:
                    found = self.made.get(key)
                    if found is None:
                        found = self.made[key] = self._make(kinds, code, constants)
            except NotCached:
                self.not_cached = True
                return self.numpy(*args)
        if found is declined:
            return self.numpy(*args)
        if constants:
            args = (*[x for x, kind in zip(args, kinds, strict=False) if kind != "c"], *args[len(kinds):])
        return found(*args)

    def _wait(self, *args: Any, **statics: Any) -> Any:
        """Replaces the slot while every dtype seen so far is left to NumPy, such as float64 for tanh."""
        if statics:
            return self._specialized(statics)(*args)
        for x in args:
            if type(x) is np.ndarray and x.dtype.char in COMPILED_DTYPES:
                return self._compiled_for(args, None)
        return self.numpy(*args)

    def _make(self, kinds: str, code: str, constants: tuple[Any, ...]) -> Callable[..., Any]:
        # The first compiled function replaces the slot, and one for float32 replaces that of another dtype.
        first = not constants and self.bound_dtype != "f4" and (not self.bound_dtype or code == "f4")
        numpy = _given(self.numpy, kinds, constants) if constants else self.numpy
        compiled: Callable[..., Any] | None = None
        hopeless, gives_back = not usable(), False

        def other_kind(*args: Any, **statics: Any) -> Any:
            """For arguments that the compiled function declines; in the end NumPy's."""
            return self._specialized(statics)(*args) if statics else self._compiled_for(args, compiled)

        # With float16 and bfloat16, some of torch's kernels round a number to them and others do not; only the NumPy
        # functions know which. Passes do not round it.
        known = "?" not in kinds and ("s" not in kinds or code not in ("f2", "b2") or self.is_pass)
        if known and not hopeless:
            compiled, reason = load("pointwise").compile_traced(
                self.name, _given(self.trace, kinds, constants), kinds.replace("c", ""), (other_kind if first else numpy, numpy),
                code, rounds=self.is_rule or self.is_pass, into=self.into,
                references=walk_references if self.may_overwrite else 0)
            hopeless, gives_back = reason in ("no formula", "an argument"), reason == "an argument"
        counts["numpy" if compiled is None else "native"] += 1
        if hopeless:
            not_compiled.add(self.name)
        if first and (compiled is not None or not self.bound_dtype):
            self.bound_dtype = code if compiled is not None else ""
            self.rebind(compiled or (self.numpy if hopeless else self._wait))
        parent = self.parent or self
        if hopeless and not gives_back and not self.made and len(parent.specializations) == (self.parent is not None):
            parent.rebind(parent.numpy)  # what has no formula for the first statics has none for others
        return compiled or numpy


def _is_large(args: tuple[Any, ...]) -> bool:
    """Is one of the first two arguments large, or the shape they broadcast to?"""
    first = getattr(args[0], "size", 1)
    if first >= LARGE:
        return True
    if len(args) == 1:
        return False
    second = getattr(args[1], "size", 1)
    if second >= LARGE:
        return True
    if first * second < LARGE or args[0].shape == args[1].shape:
        return False
    try:
        return np.broadcast(args[0], args[1]).size >= LARGE
    except ValueError:  # raised again, in the words of NumPy, when they are computed
        return False


def _given(function: Callable[..., Any], kinds: str, constants: tuple[Any, ...]) -> Callable[..., Any]:
    """`function` with its constant arguments filled in."""

    def given(*args: Any) -> Any:
        rest, fixed = iter(args), iter(constants)
        return function(*[next(fixed) if kind == "c" else next(rest) for kind in kinds], *rest)  # and the array to write to

    return given


CODES = {"f": "f4", "d": "f8", "e": "f2", "?": "m"}


def kinds_of(args: tuple[Any, ...]) -> tuple[str, str]:
    """A letter for each argument, and the dtype that the arrays share.

    "a" an array, "m" a boolean array, "s" a number, "n" None, "c" another constant, "?" a type without kernels.
    """
    kinds, codes = "", set()
    for x in args:
        if type(x) is np.ndarray:
            code = CODES.get(x.dtype.char) or ("b2" if is_bfloat16(x) else "?")
            kinds += "m" if code == "m" else "?" if code == "?" else "a"
            if code != "m":
                codes.add(code)
        else:
            kind = type(x)
            kinds += "s" if kind is float or kind is int else "n" if x is None else "c" if kind is str or kind is bool else "?"
    if len(codes) > 1:
        kinds = "?" * len(args)  # no row: these are promoted before
    return kinds, codes.pop() if len(codes) == 1 and "?" not in codes else "f4"


def _can_start() -> bool:
    """Start kernels if that needs no compiler."""
    global _calls
    if _unavailable is None:
        with contextlib.suppress(Unavailable):
            if load("code").is_cached("allocator"):  # which is compiled when kernels are started, after everything else
                return usable()
        _calls = -sys.maxsize  # no further attempt
    return False


def usable() -> bool:
    """Can kernels be compiled here? If not, a warning says why, once."""
    global _unavailable
    if _unavailable is None:
        try:
            load("pool").pool()  # compiles the first functions
            _unavailable = ""
        except Unavailable as reason:
            _unavailable = str(reason)
            warnings.warn(f"whygrad runs on NumPy alone: {reason}. Set WHYGRAD_KERNELS=0 if that is wanted.", RuntimeWarning,
                          stacklevel=2)
        except Exception as error:
            _unavailable = f"{type(error).__name__}: {error}"
            warnings.warn(f"whygrad runs on NumPy alone: LLVM could not be set up ({_unavailable})", RuntimeWarning, stacklevel=2)
    return not _unavailable


def unavailable() -> str | None:
    """Why there are no kernels; "" if there are, None if that is not known yet."""
    return _unavailable
