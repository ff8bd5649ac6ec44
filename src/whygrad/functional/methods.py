"""Hangs the operations onto Tensor: operators are one-liners, methods are the functions of `whygrad.functional`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygrad.base.on_demand import on_demand
from whygrad.core.tensor import Tensor
from whygrad.functional.operators import OPERATORS
from whygrad.functional.run import METHODS, register

if TYPE_CHECKING:
    from whygrad.why.answers import Explanation


def why(self: Tensor, *, loss: Tensor | None = None) -> Explanation:
    """Explain this tensor's gradient: why it is there or not, which line is the cause, and what to do."""
    return on_demand.explain(self, loss=loss)


register("why", why, function=False)


def install() -> None:
    for name, function in OPERATORS.items():
        setattr(Tensor, name, function)
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
