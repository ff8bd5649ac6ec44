"""Where compiled kernels plug in. Nobody imports whygrad.kernels: it registers here, and until then everything is NumPy's.

The functions below are the NumPy versions; `register` replaces them by the provider's of the same name. Call them as
attributes of this module, not by imported names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

enabled = False

# Calls of binding functions before it was known whether there is a provider; None afterwards.
_early: list[tuple[str, tuple[Any, ...], dict[str, Any]]] | None = []


def register(provider: Any) -> None:
    """Use the functions of `provider` from now on, also for what was bound before. None: there is no provider."""
    global enabled, _early
    early, _early = _early or [], None
    if provider is None:
        return
    enabled = True
    for name in HOOKS:
        globals()[name] = getattr(provider, name)
    for name, args, named in early:
        globals()[name](*args, **named)


def _remember(name: str, *args: Any, **named: Any) -> None:
    if _early is not None:
        _early.append((name, args, named))


# Binding: `scope[key]` is a NumPy function until there is a kernel for it, which then takes its place.

def bind_row(name: str, numpy: Callable[..., Any], scope: dict[str, Any]) -> Any:
    """A row of the vocabulary whose kernel is written by hand, if there is one; gives what stands in the scope."""
    _remember("bind_row", name, numpy, scope)
    scope[name] = numpy
    return numpy


def bind_elementwise(scope: dict[Any, Any], key: Any, name: str, numpy: Callable[..., Any], function: Callable[..., Any], *,
                     takes_vocabulary: bool = True, may_overwrite: bool = False, is_pass: bool = False) -> None:
    """An elementwise forward or rule. `numpy` is what it does, `function` (of the vocabulary, if it takes one) what is traced.

    `may_overwrite`: only the engine's walk holds the first argument, and does not read it again. `is_pass`: one of the
    functions that rows pass to `in_one_pass`.
    """
    _remember("bind_elementwise", scope, key, name, numpy, function, takes_vocabulary=takes_vocabulary,
              may_overwrite=may_overwrite, is_pass=is_pass)
    scope[key] = numpy


def bind_row_write(scope: dict[Any, Any], key: Any, row: Any, numpy: Callable[..., Any]) -> None:
    """The forward of an elementwise row that writes into its last argument; statics come after the inputs."""
    _remember("bind_row_write", scope, key, row, numpy)
    scope[key] = numpy


def bind_ufunc_write(scope: dict[Any, Any], key: Any, word: str, numpy: Callable[..., Any]) -> None:
    """A ufunc that writes into its last argument."""
    _remember("bind_ufunc_write", scope, key, word, numpy)
    scope[key] = numpy


def bind_again(scope: dict[Any, Any], key: Any, function: Callable[..., Any]) -> bool:
    """Bind in another scope what a function above has bound. False if it is a NumPy function, and stays one."""
    scope[key] = function
    return False


def tell_references(count: int) -> None:
    """References to a gradient that the engine's walk holds while a rule runs."""
    _remember("tell_references", count)


# Functions with a kernel for large arrays.

def address(x: Any) -> int:
    """Where an array's first element is."""
    found: int = x.__array_interface__["data"][0]
    return found


def within(index: Any, size: int) -> bool:
    """Are all numbers at least 0, and below `size`?"""
    return bool(index.min() >= 0 and index.max() < size)


def add_rows(target: Any, index: Any, rows: Any) -> bool:
    """`target[index[i]] += rows[i]` for all i; False if no kernel has done it."""
    return False


def put_elements(target: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """Elements of `source` written (or "add"ed ...) where `index` says along an axis; False if no kernel has done it."""
    return False


def drawing(name: str, count: int) -> Callable[..., Any] | None:
    """A kernel that draws `count` random numbers, or None."""
    return None


def make_step(update: Callable[..., None], numbers: dict[str, Any], count: int, size: int, *, pure: bool) -> Any:
    """The step of an optimizer as a kernel, or None. `count` arrays for each parameter, `size` elements in all."""
    return None


HOOKS = ("bind_row", "bind_elementwise", "bind_row_write", "bind_ufunc_write", "bind_again", "tell_references",
         "address", "within", "add_rows", "put_elements", "drawing", "make_step")
