"""A node that returns undefined gradients, as torch's gradcheck inserts it."""

from __future__ import annotations

from typing import Any

from whygrad.core.node import Node, next_sequence_number
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.why import record as why


class UndefinedGradBackward(Node):
    """Returns undefined gradients, whatever it receives."""

    __slots__ = ()

    def __init__(self, edge: Any) -> None:
        self.edges = (edge,)
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (None,)

    graph = raw


class UndefinedGrad:
    """`UndefinedGrad()(t)`: the values of `t`, for which backward returns an undefined gradient."""

    def __call__(self, tensor: Tensor) -> Tensor:
        result = wrap(tensor._array.copy())
        edge = source(tensor)
        if edge is not None:
            result._node = UndefinedGradBackward(edge)
        return result
