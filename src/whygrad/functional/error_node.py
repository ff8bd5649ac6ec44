"""The node of a result that cannot be differentiated: backward raises when it reaches it."""

from __future__ import annotations

from typing import Any

from whygrad.base import errors
from whygrad.core.node import Node, next_sequence_number
from whygrad.why import record as why


class Error(Node):
    """Raises where there is no derivative, such as a second one of a Function that has only the first."""

    __slots__ = ("ports", "text")

    ports: dict[int, Any]

    def __init__(self, text: str, edges: tuple[Any, ...], shapes: list[Any] | None) -> None:
        self.edges = edges
        self.saved = ()
        self.text = text
        self.shapes = shapes
        self.ports = {}
        self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        raise errors.noted(RuntimeError(self.text), "once_differentiable", self.site)

    graph = raw


class ToCopyBackward0(Error):
    """Of a copy on the meta device, where gradients have no values."""

    __slots__ = ()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        raise NotImplementedError(self.text)

    graph = raw
