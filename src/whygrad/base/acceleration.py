"""The hooks of compiled kernels. No other package imports whygrad.kernels: it registers here, and until then NumPy computes.

The functions below are the NumPy versions; `register` replaces them with the provider's functions of the same names. Call
them as attributes of this module: a name imported earlier would stay bound to the NumPy version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

enabled = False

# Calls of binding functions made before `register`, which replays them; None afterwards.
_early: list[tuple[str, tuple[Any, ...], dict[str, Any]]] | None = []


def register(provider: Any) -> None:
    """Use the functions of `provider` from now on, and bind again all that was bound before. None: there is no provider."""
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


# Binding: `scope[key]` is a NumPy function until a kernel for it has been compiled and replaces it.

def bind_row(name: str, numpy: Callable[..., Any], scope: dict[str, Any]) -> Any:
    """Bind a row of the vocabulary, whose kernel, if any, is written by hand; returns the function now in the scope."""
    _remember("bind_row", name, numpy, scope)
    scope[name] = numpy
    return numpy


def bind_elementwise(scope: dict[Any, Any], key: Any, name: str, numpy: Callable[..., Any], function: Callable[..., Any], *,
                     takes_vocabulary: bool = True, may_overwrite: bool = False, is_pass: bool = False,
                     is_hot: bool = False) -> None:
    """Bind an elementwise forward or rule: `numpy` computes it, `function` is traced to make the kernel.

    `takes_vocabulary`: the first parameter of `function` is the vocabulary. `may_overwrite`: only the engine's walk holds
    the first argument, and does not read it again. `is_pass`: the function is one that rows give to `in_one_pass`. `is_hot`: it
    is going to be called often, so that it is compiled at its first call.
    """
    _remember("bind_elementwise", scope, key, name, numpy, function, takes_vocabulary=takes_vocabulary,
              may_overwrite=may_overwrite, is_pass=is_pass, is_hot=is_hot)
    scope[key] = numpy


def bind_row_write(scope: dict[Any, Any], key: Any, row: Any, numpy: Callable[..., Any]) -> None:
    """Bind the forward of an elementwise row that writes into its last argument; statics come after the inputs."""
    _remember("bind_row_write", scope, key, row, numpy)
    scope[key] = numpy


def bind_ufunc_write(scope: dict[Any, Any], key: Any, word: str, numpy: Callable[..., Any]) -> None:
    """Bind a ufunc that writes into its last argument."""
    _remember("bind_ufunc_write", scope, key, word, numpy)
    scope[key] = numpy


def bind_again(scope: dict[Any, Any], key: Any, function: Callable[..., Any]) -> bool:
    """Bind, in another scope, a function that was bound by one of the above. False if no kernel can ever replace it."""
    scope[key] = function
    return False


def pass_of(function: Callable[..., Any], kinds: str) -> str:
    """Whether `function(vocabulary, *arrays)` can become one kernel: "elementwise", a "total" of all elements, or ""; or the
    number of the argument that it gives back. There is a letter for each array, "a", or "m" if it is boolean."""
    return ""


def tell_references(count: int) -> None:
    """Set the number of references to a gradient that the engine's walk itself holds while a rule runs."""
    _remember("tell_references", count)


# Functions that have a kernel for large arrays.

def address(x: Any) -> int:
    """The memory address of an array's first element."""
    found: int = x.__array_interface__["data"][0]
    return found


def within(index: Any, size: int) -> bool:
    """Whether 0 <= i < size for every i in `index`."""
    return bool(index.min() >= 0 and index.max() < size)


def add_rows(target: Any, index: Any, rows: Any) -> bool:
    """`target[index[i]] += rows[i]` for all i; False if no kernel has done it."""
    return False


def put_elements(target: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """Scatter `source` into `target` along an axis, by `how` ("set", "add", "multiply"); False if no kernel has done it."""
    return False


def drawing(name: str, count: int) -> Callable[..., Any] | None:
    """A kernel that draws `count` random numbers, or None."""
    return None


def make_step(update: Callable[..., None], numbers: dict[str, Any], count: int, size: int, *, pure: bool) -> Any:
    """A kernel for one step of an optimizer, or None. `count`: arrays per parameter; `size`: elements in total."""
    return None


HOOKS = ("bind_row", "bind_elementwise", "bind_row_write", "bind_ufunc_write", "bind_again", "tell_references",
         "pass_of", "address", "within", "add_rows", "put_elements", "drawing", "make_step")
