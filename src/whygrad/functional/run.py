"""How every torch-named function ends: promote the arguments, apply the row, honour `out=`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

from whygrad.core.modes import grad_state, process_state
from whygrad.core.record import apply, compiled
from whygrad.functional.inplace import write
from whygrad.functional.promotion import promote
from whygrad.functional.writes import copy_, fill_, with_out, zero_
from whygrad.ops.table import TABLE

F = TypeVar("F", bound=Callable[..., Any])

# What belongs on the Tensor class and into the torch namespace: filled by `public`.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


def _with_code(function: FunctionType, code: CodeType, name: str) -> FunctionType:
    """A copy that differs in its code."""
    copy = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    copy.__kwdefaults__, copy.__doc__, copy.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    copy.__annotations__, copy.__qualname__ = function.__annotations__, copy.__name__
    copy.__dict__.update(function.__dict__)
    return copy


def under_name(function: Callable[..., Any], full_name: str) -> Callable[..., Any]:
    """The same function with code of its own, whose name ("Tensor.add", "torch.subtract") errors can find in the stack."""
    if not isinstance(function, FunctionType) or full_name == f"torch.{function.__code__.co_qualname}":
        return function
    code = function.__code__.replace(co_name=function.__name__, co_qualname=full_name)
    return _with_code(function, code, full_name.rpartition(".")[2])


def with_named_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a function: torch calls `input` what is `self` in a method."""
    if not isinstance(function, FunctionType) or function.__code__.co_varnames[:1] != ("self",):
        return function
    code = function.__code__
    inner = tuple(["input" if name == "self" else name for name in code.co_cellvars])
    return _with_code(function, code.replace(co_varnames=("input", *code.co_varnames[1:]), co_cellvars=inner), function.__name__)


def public(*, method: bool = True, function: bool = True, name: str | None = None) -> Callable[[F], F]:
    """Put a function into the torch namespace and, with its first argument as `self`, onto Tensor."""

    def register(f: F) -> F:
        public_name = name or f.__name__
        if function:
            FUNCTIONS[public_name] = under_name(f, f"torch.{public_name}")
        if method:
            METHODS[public_name] = f
        return f

    return register


def made_under_transforms(how: str) -> Callable[[F], F]:
    """For functions that make tensors without applying a row: under vmap they are called as func/making.py says."""

    def decorate(f: F) -> F:
        @functools.wraps(f)
        def made(*args: Any, **kwargs: Any) -> Any:
            if process_state.any_mode_active and grad_state.levels:
                from whygrad.func.vmap_factories import WAYS
                return WAYS[how](f, args, kwargs)
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

for _writer in (copy_, fill_, zero_):
    METHODS[_writer.__name__] = _writer

__all__ = ["FUNCTIONS", "METHODS", "public", "rows", "run", "with_out", "write"]
