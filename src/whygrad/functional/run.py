"""How every torch-named function ends: promote the arguments, apply the row, honour `out=`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from whygrad.base import door
from whygrad.base.door import Spec
from whygrad.core.modes import grad_state, process_state
from whygrad.core.record import apply, compiled
from whygrad.functional.inplace import write
from whygrad.functional.promotion import promote
from whygrad.functional.writes import copy_, fill_, module_load, with_out, zero_
from whygrad.ops.table import TABLE

F = TypeVar("F", bound=Callable[..., Any])

# What belongs on the Tensor class and into the torch namespace: filled by `register`.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


def register(name: str, f: Callable[..., Any], *, function: bool = True, method: bool = True, autocast: Any = None,
             short: Callable[[Spec], Any] | None = None, short_method: Callable[[Spec], Any] | None = None) -> Any:
    """Put a function behind the door: as torch.<name>, and, with its first argument as `self`, as Tensor.<name>."""
    if f.__doc__ is None and name.endswith("_"):
        f.__doc__ = f"In-place version of `{name[:-1]}`."
    if method:
        METHODS[name] = door.function(f"Tensor.{name}", f, autocast, short_method or short)
    if function:
        f = FUNCTIONS[name] = door.function(f"torch.{name}", f, autocast, short)
    return f


def public(*, method: bool = True, function: bool = True, name: str | None = None, doc: str | None = None,
           space: str = "torch", autocast: Any = None, short: Callable[[Spec], Any] | None = None) -> Callable[[F], F]:
    """Declare a function of the torch namespace that is a method of Tensor too, or a function of another `space` of torch's.

    With `doc`, it is a generated function, to which the name and the docstring are given.
    """

    def declare(f: F) -> F:
        public_name = name or f.__name__
        for g in () if doc is None else (f, inspect.unwrap(f)):  # Python's own errors name the innermost function
            g.__name__ = g.__qualname__ = public_name
            g.__doc__ = doc
        if space != "torch":
            return door.function(f"{space}.{public_name}", f, autocast, short)  # type: ignore[no-any-return]
        return register(public_name, f, function=function, method=method, autocast=autocast, short=short)  # type: ignore[no-any-return]

    return declare


def private(*, autocast: Any) -> Callable[[F], F]:
    """Declare a part of public functions that autocast must see."""
    return lambda f: door.function(f"whygrad.{f.__name__}", f, autocast)


nn_function = functools.partial(public, space="torch.nn.functional")
linalg_function = functools.partial(public, space="torch.linalg")
fft_function = functools.partial(public, space="torch.fft")
special_function = functools.partial(public, space="torch.special")


def made_under_transforms(how: str) -> Callable[[F], F]:
    """For functions that make tensors without applying a row: a vmap calls them as autograd/batching/factories.py says."""

    def decorate(f: F) -> F:
        @functools.wraps(f)
        def made(*args: Any, **kwargs: Any) -> Any:
            if process_state.any_mode_active and grad_state.levels:
                for level in grad_state.levels:
                    if level.is_batch:
                        return level.make(how, f, args, kwargs)
            return f(*args, **kwargs)

        return made  # type: ignore[return-value]

    return decorate


def run(row_name: str, *inputs: Any, **statics: Any) -> Any:
    """Promote and apply a broadcasting row."""
    return apply(TABLE[row_name], *promote(row_name, *inputs), **statics)


class _Rows:
    """`rows.gather(x, index, axis=0)`: a row applied to Tensors of one dtype, compiled when first used."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        row = TABLE[name]
        found = self.__dict__[name] = compiled(row, "v" if row.variadic else "t" * len(row.inputs))
        return found


rows = _Rows()

for _writer in (copy_, fill_, zero_, module_load):
    register(_writer.__name__, _writer, function=False)

__all__ = ["FUNCTIONS", "METHODS", "public", "rows", "run", "with_out", "write"]


def lazily_compiled(name: str, kinds: str, namespace: dict[str, Any] | None = None,
                    variable: str = "", *, at_door: bool = False) -> Callable[..., Any]:
    """The function that applies a row to arguments of these kinds (see `compiled`).

    If it is kept as a global `variable` (`_name` if not given) of `namespace`, the first call puts the compiled
    function there, and no later call comes through here.
    """
    function: Callable[..., Any] | None = None

    def apply_row(*inputs: Any, **statics: Any) -> Any:
        nonlocal function
        if function is None:
            function = compiled(TABLE[name], kinds, at_door=at_door)
            if namespace is not None:
                namespace[variable or f"_{name}"] = function
        return function(*inputs, **statics)

    return apply_row
