"""When a row becomes machine code: after it was called often, or on large arrays.

Until then a `JitElementwise` counts the calls and runs NumPy. Once it is hot, the compiled function replaces it in every scope
that holds it, so there is no further indirection. A script of a few small operations never loads the compiler.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from whygrad.backends.half_precision import is_bfloat16
from whygrad.base.forking import hold_while_forking
from whygrad.kernels.registry import SLOW_IN_NUMPY

# WHYGRAD_KERNELS=always compiles at the first call, for tests.
ALWAYS = os.environ.get("WHYGRAD_KERNELS") == "always"
HOT = 0 if ALWAYS else 300
LARGE = 0 if ALWAYS else 8192
# Of a function with more choices of statics than this, the others stay with NumPy.
MOST_STATICS = 256

# The dtypes that every formula is compiled for (float32, float16, bfloat16), as NumPy's characters.
FOR_KERNELS = frozenset("feE")

counts = {"native": 0, "numpy": 0}
not_compiled: set[str] = set()
# One at a time; whoever deposits a gradient (deposits.py) may ask for it, so forking asks for that one's lock first.
compiling = threading.RLock()
hold_while_forking(compiling)
_unavailable: str | None = None

# How many references to a gradient there are while its rule runs, if they are all the engine's; 0 if that cannot be told.
walk_references = 0


class JitSlot:
    """Stands in the places of a function until it is hot."""

    def __init__(self, name: str, numpy: Callable[..., Any]) -> None:
        self.name = name
        self.numpy = numpy
        self.calls = 0
        self.places: list[tuple[dict[Any, Any], Any]] = []

    def put(self, scope: dict[Any, Any], key: Any) -> None:
        scope[key] = self
        self.places.append((scope, key))

    def replace(self, function: Callable[..., Any]) -> None:
        for scope, place in self.places:
            scope[place] = function


class JitKernel(JitSlot):
    """A row whose kernel is written by hand (see words.py)."""

    def __call__(self, *args: Any, **statics: Any) -> Any:
        self.calls += 1
        if self.calls <= min(HOT, SLOW_IN_NUMPY.get(self.name, HOT)) and all(np.size(x) < LARGE for x in args):
            return self.numpy(*args, **statics)
        function = self.numpy
        if usable():
            from whygrad.kernels.registry import make

            with compiling:
                function = make(self.name, self.numpy)
        self.replace(function)
        return function(*args, **statics)


class JitElementwise(JitSlot):
    """An elementwise function that will be compiled. `trace(symbols)` gives its formula; `numpy` is what it does until then.

    Statics are part of a formula, so for each choice of them another one stands in our place.
    """

    def __init__(self, name: str, numpy: Callable[..., Any], trace: Callable[..., Any], into: bool = False,
                 is_rule: bool = False, last: bool = False, is_pass: bool = False) -> None:
        super().__init__(name, numpy)
        self.trace = trace
        # Both are several kernels of torch's, each of which rounds float16 and bfloat16.
        self.is_rule = is_rule
        self.is_pass = is_pass
        self.last = last  # nobody but the engine's walk has its first argument, which is not read again
        self.into = into  # the last argument is the array to write to
        # By kinds and dtype of the arguments, and by those that are neither arrays nor numbers.
        self.made: dict[Any, Callable[..., Any]] = {}
        # The dtype of the one that took our place.
        self.placed = ""
        # What stands for us beside some statics.
        self.beside: dict[Any, Any] = {}
        self.whole: JitElementwise | None = None  # for whom we stand

    def __call__(self, *args: Any, **statics: Any) -> Any:
        if statics:
            return self._beside(statics)(*args)
        self.calls += 1
        if self.calls <= HOT and not _is_large(args[:2]):
            return self.numpy(*args)
        return self._compiled_for(args, None)

    def _beside(self, statics: dict[str, Any]) -> Callable[..., Any]:
        key = *statics.items(), *map(type, statics.values())  # 1 == 1.0 == 1 + 0j
        try:
            if 0.0 in statics.values():
                key = *key, *map(str, statics.values())  # 0.0 == -0.0
            found: Callable[..., Any] | None = self.beside.get(key)
        except (TypeError, ValueError):  # an array among the statics
            return partial(self.numpy, **statics)
        if found is None:
            numpy = partial(self.numpy, **statics)
            if len(self.beside) == MOST_STATICS:
                return numpy  # they are always new
            found = JitElementwise(self.name, numpy, partial(self.trace, **statics), self.into, self.is_rule, self.last,
                                   self.is_pass)
            found.whole = self
            found.put(self.beside, key)
        return found

    def _compiled_for(self, args: tuple[Any, ...], declined: Callable[..., Any] | None) -> Any:
        """By the function that is made for such arguments, unless it is the one that has declined them."""
        kinds, code = kinds_of(args[:-1] if self.into else args)
        if "a" in kinds and code in ("f4", "f8"):
            kinds = kinds.replace("s", "a")  # a number may stand for an array
        constants = tuple([x for x, kind in zip(args, kinds, strict=False) if kind == "c"])
        key = kinds, code, constants
        found = self.made.get(key)
        if found is None:
            with compiling:
                found = self.made.get(key)
                if found is None:
                    found = self.made[key] = self._make(kinds, code, constants)
        if found is declined:
            return self.numpy(*args)
        if constants:
            args = (*[x for x, kind in zip(args, kinds, strict=False) if kind != "c"], *args[len(kinds):])
        return found(*args)

    def _waiting(self, *args: Any, **statics: Any) -> Any:
        """In our place while only dtypes were seen that are NumPy's, such as float64 for a tanh."""
        if statics:
            return self._beside(statics)(*args)
        for x in args:
            if type(x) is np.ndarray and x.dtype.char in FOR_KERNELS:
                return self._compiled_for(args, None)
        return self.numpy(*args)

    def _make(self, kinds: str, code: str, constants: tuple[Any, ...]) -> Callable[..., Any]:
        # The first one takes our place, and float32 the place of others.
        first = not constants and self.placed != "f4" and (not self.placed or code == "f4")
        numpy = _given(self.numpy, kinds, constants) if constants else self.numpy
        compiled: Callable[..., Any] | None = None
        hopeless, gives_back = not usable(), False

        def other_kind(*args: Any, **statics: Any) -> Any:
            """What the compiled function was not made for; in the end it is NumPy's."""
            return self._beside(statics)(*args) if statics else self._compiled_for(args, compiled)

        # Beside float16 and bfloat16, some of torch's kernels round a number to them, others do not: NumPy's way knows which.
        # Those that make up a pass do not.
        known = "?" not in kinds and ("s" not in kinds or code not in ("f2", "b2") or self.is_pass)
        if known and not hopeless:
            from whygrad.kernels.pointwise import SHORT, compile_formula, inputs
            from whygrad.kernels.trace import Untraceable, trace

            variable = kinds.replace("c", "")
            hopeless = True
            with contextlib.suppress(Untraceable):
                rounds = SHORT.get(code) if self.is_rule or self.is_pass else None
                formula = trace(_given(self.trace, kinds, constants), *inputs(variable), rounds=rounds)
                gives_back = formula.word == "input" and not self.into
                if gives_back:
                    raise Untraceable("it gives its argument back, which costs nothing")
                hopeless = False
                compiled = compile_formula(self.name, formula, variable, (other_kind if first else numpy, numpy), code, self.into,
                                           walk_references if self.last else 0)
        counts["numpy" if compiled is None else "native"] += 1
        if hopeless:
            not_compiled.add(self.name)
        if first and (compiled is not None or not self.placed):
            self.placed = code if compiled is not None else ""
            self.replace(compiled or (self.numpy if hopeless else self._waiting))
        whole = self.whole or self
        if hopeless and not gives_back and not self.made and len(whole.beside) == (self.whole is not None):
            whole.replace(whole.numpy)  # what has no formula for the first statics has none for others
        return compiled or numpy


def _is_large(args: tuple[Any, ...]) -> bool:
    """Whether one of them is, or what they broadcast to."""
    sizes = [np.size(x) for x in args]
    if max(sizes) >= LARGE:
        return True
    if len(args) == 1 or sizes[0] * sizes[1] < LARGE or np.shape(args[0]) == np.shape(args[1]):
        return False
    try:
        return np.broadcast(*args).size >= LARGE
    except ValueError:  # NumPy will say so
        return False


def _given(function: Callable[..., Any], kinds: str, constants: tuple[Any, ...]) -> Callable[..., Any]:
    """`function` with its constant arguments filled in."""

    def given(*args: Any) -> Any:
        rest, fixed = iter(args), iter(constants)
        return function(*[next(fixed) if kind == "c" else next(rest) for kind in kinds], *rest)  # and the array to write to

    return given


CODES = {"f": "f4", "d": "f8", "e": "f2", "?": "m"}


def kinds_of(args: tuple[Any, ...]) -> tuple[str, str]:
    """A letter for each argument, and the dtype they share.

    "a" an array, "m" a boolean one, "s" a number, "n" None, "c" another constant, "?" what kernels do not know.
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
        kinds = "?" * len(args)  # promotion is done before a row runs, so this is no row's business
    return kinds, codes.pop() if len(codes) == 1 and "?" not in codes else "f4"


def usable() -> bool:
    """Can kernels be compiled here? If not, say why, once."""
    global _unavailable
    if _unavailable is None:
        from whygrad.kernels.host import Unavailable, host

        try:
            host()
            from whygrad.kernels.pool import pool

            pool()  # compiles the first functions
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
    """Why there are no kernels; "" if there are, None if nobody has asked yet."""
    return _unavailable
