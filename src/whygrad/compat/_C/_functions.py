"""torch._C._functions: nodes that can be inserted explicitly, as torch's gradcheck and tests do."""

from __future__ import annotations

from typing import Any

from whygrad.autograd._functions import UndefinedGrad
from whygrad.core.node import AccumulateGrad, Node, port_of
from whygrad.core.tensor import source, wrap
from whygrad.functional.error_node import Error

__all__ = ["AccumulateGrad", "DelayedError", "UndefinedGrad"]


class DelayedError(Node):
    """`DelayedError(text, n)(*tensors)`: the same values; a backward through them raises `text`."""

    __slots__ = ("count", "text")

    def __init__(self, text: str, count: int) -> None:
        self.text, self.count = text, count

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        edges = tuple([source(t) for t in tensors])
        several = len(tensors) > 1
        shapes = [(t._array.shape, t._array.dtype) for t in tensors] if several else None
        error = Error(self.text, edges, shapes)
        results = []
        for i, t in enumerate(tensors):
            result = wrap(t._array)
            result._lazy_version = t._version_counter
            if any(edge is not None for edge in edges):
                result._node = port_of(error, i) if several else error
            results.append(result)
        return tuple(results) if several else results[0]
