"""Hangs the operations onto Tensor: operators are one-liners, methods are the functions of `whygrad.functional`."""

from __future__ import annotations

from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.linalg import matmul
from whygrad.functional.operators import OPERATORS as ARITHMETIC
from whygrad.functional.run import METHODS, under_name


def __matmul__(self: Tensor, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def __rmatmul__(self: Tensor, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


def why(self: Tensor, *, loss: Tensor | None = None) -> Any:
    """Explain this tensor's gradient: why it is there or not, which line is the cause, and what to do."""
    from whygrad.why.explain import explain

    return explain(self, loss=loss)


METHODS["why"] = why

OPERATORS: dict[str, Any] = {**ARITHMETIC, "__matmul__": __matmul__, "__rmatmul__": __rmatmul__}


def install() -> None:
    for name, function in OPERATORS.items():
        setattr(Tensor, name, function)
    for name, function in METHODS.items():
        setattr(Tensor, name, under_name(function, f"Tensor.{name}"))
