"""The node of a compiled function in the graph: its whole backward is one program."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.autograd.calls import grad
from whygrad.base import errors
from whygrad.compilation.again import again
from whygrad.core.node import Node
from whygrad.core.registered import registered


class CompiledFunctionBackward(Node):
    """The saved values are (arrays, their versions, the tensors the function got)."""

    __slots__ = ("compiled", "ports")
    several = True
    compiled: Any
    ports: dict[int, Any]

    def _saved(self) -> Any:
        if self.saved is None:
            raise errors.graph_freed(self)
        arrays, counters, tensors = self.saved
        for array, (counter, version) in zip(arrays, counters, strict=True):
            if counter is not None and counter.value != version and int(counter.value) != int(version):
                raise registered.errors.stale_value(self, array, counter, version, None, 0)
        return arrays, tensors

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        arrays, _ = self._saved()
        given = [np.zeros(*self.shapes[i]) if x is None else x for i, x in enumerate(g)]
        found = iter(self.compiled.backward(*given, *arrays))
        return tuple([next(found) if reached else None for reached in self.compiled.reached])

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same on Tensors: the forward is recorded now, row by row, and differentiated."""
        arrays, tensors = self._saved()
        inputs, outputs = again(self.compiled, tensors, arrays)
        pairs = [(out, x) for out, x in zip(outputs, g, strict=True) if x is not None]
        return tuple(grad([out for out, _ in pairs], inputs, [x for _, x in pairs], create_graph=True, allow_unused=True))
