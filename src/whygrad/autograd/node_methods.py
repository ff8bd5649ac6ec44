"""What torch's users can do with a node. The methods are hung onto the classes of core/node.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.calls import call_node
from whygrad.autograd.hooks import register
from whygrad.autograd.saved_names import saved_attribute, saved_attributes
from whygrad.base.devices import CPU
from whygrad.base.dtypes import FROM_NUMPY
from whygrad.core.modes import grad_state
from whygrad.core.node import AccumulateGrad, Node, NodeInterface, extra, row_node, shown
from whygrad.core.record import specialization_of
from whygrad.ops.table import TABLE

# torch generates most nodes from its table; the others show their C++ name.
_WRITTEN_BY_HAND = {"AccumulateGrad", "CopyBackwards", "CopySlices", "Error"}


class InterfaceMethods:
    """These become attributes of NodeInterface."""

    def name(self: Any) -> str:
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _WRITTEN_BY_HAND else name

    @property
    def next_functions(self: Any) -> tuple[tuple[Any, int], ...]:
        """Where the gradients go: (node, which of its outputs) for each argument; (None, 0) for one without history."""
        node = self._itself()
        layout: Any = getattr(type(node), "layout", None)
        if layout is not None and layout.row.name == "linear":
                take_apart(node)
        return tuple([_shown_end(edge) for edge in node.edges])

    @property
    def metadata(self: Any) -> dict[Any, Any]:
        more = extra(self._itself())
        if more.metadata is None:
            more.metadata = {}
        return more.metadata

    @property
    def requires_grad(self: Any) -> bool:
        return True

    @property
    def _input_metadata(self: Any) -> tuple[OutputMetadata, ...]:
        node = self._itself()
        if type(node.shapes) is list:
            return tuple([OutputMetadata(shape, dtype) for shape, dtype in node.shapes])
        if not hasattr(node, "output"):
            raise NotImplementedError(f"{self.name()}._input_metadata: the shape of this node's output is not kept; it "
                                      "is known of a node that was looked at as `tensor.grad_fn`")
        return (OutputMetadata(*node.output),)

    def _sequence_nr(self: Any) -> int:
        return int(self._itself().seq)

    def _set_sequence_nr(self: Any, number: int) -> None:
        self._itself().seq = number

    def register_hook(self: Any, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; it may give other grad_inputs."""
        return register(extra(self._itself()).post_hooks, fn)

    def register_prehook(self: Any, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_outputs)` before this node runs; it may give other grad_outputs."""
        return register(extra(self._itself()).pre_hooks, fn)


class NodeMethods:
    """These become attributes of Node."""

    def __call__(self: Any, *gradients: Any, **keywords: Any) -> Any:
        """Run the node alone: from the gradients of its outputs to those of its arguments."""
        if keywords:
            raise TypeError("keyword arguments are not supported")
        return call_node(self, gradients)

    def __getattr__(self: Any, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
                return saved_attribute(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self: Any) -> list[str]:
        return sorted({*object.__dir__(self), *saved_attributes(self)})


def _shown_end(edge: Node | None) -> tuple[NodeInterface | None, int]:
    end, number = row_node(edge)
    return shown(end), number


class AccumulateGradMethods:
    """These become attributes of AccumulateGrad."""

    @property
    def variable(self: Any) -> Any:
        return self.leaf

    @property
    def _input_metadata(self: Any) -> tuple[OutputMetadata, ...]:
        array = self.leaf._array
        return (OutputMetadata(array.shape, array.dtype),)


class OutputMetadata:
    """Shape and dtype of one output of a node."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = list(shape)
        self.dtype = FROM_NUMPY[dtype]

    @property
    def device(self) -> Any:
        return CPU


for _target, _methods in ((NodeInterface, InterfaceMethods), (Node, NodeMethods), (AccumulateGrad, AccumulateGradMethods)):
    for _name, _member in vars(_methods).items():
        if _name not in ("__module__", "__doc__", "__dict__", "__weakref__"):
            setattr(_target, _name, _member)


def take_apart(node: Node) -> None:
    layout = type(node).layout
    # A backward that is under way has counted the node as it is; saved values behind hooks stay where they are.
    if grad_state.running is not None or not (node.saved is None or type(node.saved) is tuple):
        return
    x_edge, weight_edge, bias_edge = node.edges
    values = {name: node.saved[3 * k:3 * k + 3] for k, name in enumerate(layout.saved)} if node.saved else {}
    weight, *version = values.get("weight", (None, None, None))
    known: dict[str, Any] = {"a": values.get("x"), "b": (None if weight is None else weight.T, *version), "alpha": 1, "beta": 1}
    edges: tuple[Any, ...]
    order: tuple[int, ...]
    if layout.kinds[2] == "t":
        row, edges, order = TABLE["addmm"], (bias_edge, x_edge, _transposed(node, weight_edge)), (2, 0, 1)
        known["c_shape"] = node.static[layout.static.index("bias_shape")]
    else:
        row, edges, order = TABLE["mm"], (x_edge, _transposed(node, weight_edge)), (0, 1)
    target = specialization_of(row, "t" * len(edges))
    if node.saved:
        node.saved = tuple([part for name in target.saved for part in known[name]])
    node.static = tuple([known[name] for name in target.static])
    node.edges = edges
    node.cuts = None if node.cuts is None else tuple([node.cuts[i] for i in order])
    node.__class__ = target.node_class(type(node).__name__)


def _transposed(node: Node, edge: Any) -> Node | None:
    """The node of `weight.t()`, made a moment before `node`."""
    if edge is None:
        return None
    layout = specialization_of(TABLE["t"], "t")
    made: Node = object.__new__(layout.node_class(layout.node_name({})))
    made.edges = (edge,)
    made.saved = made.static = ()
    made.shapes = made.cuts = made.extra = None
    made.seq = node.seq - 0.5  # type: ignore[assignment]
    made.site_code, made.lasti = node.site
    return made
