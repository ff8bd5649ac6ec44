"""torch.jit._get_trace_graph: the calls that a module makes, as a graph with the names of torch's ops.

Counters of operations (fvcore, torchprofile) read it. Unlike torch's tracer this one takes sizes for constants: there are neither
`aten::size` nor calculations with sizes in the graph.
"""

from __future__ import annotations

import threading
from typing import Any

from whygrad.base import door
from whygrad.base.door import Next, Spec
from whygrad.base.pytree import tree_leaves
from whygrad.compat.tracing.forms import is_one_op, op_of
from whygrad.compat.tracing.graph import Graph, Node, Value
from whygrad.core.tensor import Tensor, wrap
from whygrad.nn.module import Module

__all__ = ["Graph", "Node", "Tracer", "Value", "get_trace_graph", "running"]

# Calls that pass a tensor on, and are no step of the graph.
_NO_STEPS = frozenset({"torch.tensor", "torch.as_tensor", "Tensor.requires_grad_", "Tensor.grad.__get__", "Tensor.detach_",
                       "Tensor.retain_grad", "Tensor.as_subclass"})
# Ops whose result is one list.
_LISTS = frozenset({f"aten::{name}" for name in ("broadcast_tensors", "chunk", "meshgrid", "split", "split_with_sizes",
                                                 "tensor_split", "unbind")})
_state = threading.local()


def running() -> Tracer | None:
    """torch._C._get_tracing_state: the tracer that is at work in this thread."""
    return getattr(_state, "tracer", None)


class Tracer:
    """Records calls of functions that torch has in C++, those inside of its Python functions too. A handler of the door."""

    place = "profiler"

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._scopes: list[str] = []
        self._is_inside = False
        # By the id of the tensor, which is kept so that no other one gets it.
        self._values: dict[int, tuple[Tensor, Value]] = {}

    def push_scope(self, name: str) -> None:
        """From now on nodes are of this module, inside of the one before; its hooks say so."""
        self._scopes.append(name)

    def pop_scope(self) -> None:
        self._scopes.pop()

    def wants(self, spec: Spec) -> bool:
        return spec.name.startswith(("torch.", "Tensor.")) and spec.name not in _NO_STEPS

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        if self._is_inside or running() is not self:
            return next(args, kwargs)
        known = len(self.nodes)
        self._is_inside = is_one_op(spec.name)
        try:
            result = next(args, kwargs)
        finally:
            self._is_inside = False
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(self.nodes) > known or not any(isinstance(x, Tensor) for x in results):
            return result
        if spec.name == "Tensor.__getitem__":
            self._index(args[0], args[1], results[0])
        else:
            kind, given = op_of(spec, args, kwargs)
            self.node(f"aten::{kind}", given, results)
        return result

    def node(self, kind: str, given: list[Any], results: list[Any], attribute: Any = None) -> Node:
        """A node with these arguments and results, each a tensor, a list or a constant."""
        if kind in _LISTS:
            self.nodes.append(packed := Node(kind, [self.value(x) for x in given], [results], "/".join(self._scopes)))
            made = Node("prim::ListUnpack", list(packed.outputs()), results, "/".join(self._scopes))
        else:
            made = Node(kind, [self.value(x) for x in given], results, "/".join(self._scopes), attribute)
        for x, value in zip(results, made.outputs(), strict=True):
            if isinstance(x, Tensor):
                self._values[id(x)] = x, value
        if kind != "prim::Param":
            self.nodes.append(made)
        return made

    def value(self, x: Any) -> Value:
        if id(x) in self._values:
            return self._values[id(x)][1]
        if isinstance(x, (list, tuple)):
            return self.node("prim::ListConstruct", list(x), [x]).output()
        return self.node("prim::Constant", [], [x], attribute=x).output()

    def _index(self, x: Tensor, index: Any, result: Tensor) -> None:
        """One node for each integer, slice and None, and one for all tensors."""
        items = index if isinstance(index, tuple) else (index,)
        named = sum(item is not None and item is not Ellipsis for item in items)
        dim = 0
        tensors: list[Any] = []
        for item in items:
            if item is Ellipsis:
                dim += x._array.ndim - dim - named
                continue
            named -= item is not None
            if isinstance(item, slice):
                step = "slice", [dim, item.start or 0, item.stop, item.step or 1]
            elif item is None:
                step = "unsqueeze", [dim]
            elif isinstance(item, int) and not isinstance(item, bool):
                step = "select", [dim, item]
            else:
                tensors += [*[None] * (dim - len(tensors)), item]
                dim += 1
                continue
            viewed = wrap(x._array[(*[slice(None)] * dim, item)])
            self.node(f"aten::{step[0]}", [x, *step[1]], [viewed])
            x, dim = viewed, dim + (step[0] != "select")
        if tensors:
            self.node("aten::index", [x, tensors], [result])
        else:
            self._values[id(result)] = result, self.value(x)


def get_trace_graph(f: Any, args: Any = (), kwargs: Any = None, strict: bool = True, _force_outplace: bool = False,
                    return_inputs: bool = False, _return_inputs_states: bool = False) -> tuple[Any, ...]:
    """The graph of a call of a module, and the result; also the inputs on demand."""
    if not isinstance(f, Module):
        raise NotImplementedError("torch.jit._get_trace_graph is available in whygrad for modules")
    if _return_inputs_states:
        raise NotImplementedError("torch.jit._get_trace_graph(_return_inputs_states=True) is not available in whygrad")
    args = args if isinstance(args, tuple) else (args,)
    tracer = Tracer()
    given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    inputs = tracer.node("prim::Param", [], [*given, *dict.fromkeys(f.state_dict(keep_vars=True).values())])
    _state.tracer, outer = tracer, running()
    door.add(tracer)
    try:
        result = f(*args, **(kwargs or {}))
    finally:
        door.remove(tracer)
        _state.tracer = outer
    output = Node("prim::Return", [tracer.value(result)], [])
    graph = Graph(tracer.nodes, inputs, output)
    return (graph, result, args) if return_inputs else (graph, result)
