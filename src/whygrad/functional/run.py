"""How every torch-named function ends: promote the arguments, apply the row, honour `out=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from whygrad._apply import apply, compiled
from whygrad._inplace import copy_, fill_, run_inplace, with_out, zero_
from whygrad.ops.table import TABLE
from whygrad.promotion import promote

_whygrad_internal_ = True

F = TypeVar("F", bound=Callable[..., Any])

# What belongs on the Tensor class and into the torch namespace: filled by `public`.
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


def public(*, method: bool = True, function: bool = True, name: str | None = None) -> Callable[[F], F]:
    """Put a function into the torch namespace and, with its first argument as `self`, onto Tensor."""

    def register(f: F) -> F:
        public_name = name or f.__name__
        if function:
            FUNCTIONS[public_name] = f
        if method:
            METHODS[public_name] = f
        return f

    return register


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

__all__ = ["FUNCTIONS", "METHODS", "public", "rows", "run", "run_inplace", "with_out"]
