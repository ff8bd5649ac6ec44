"""Nodes of the graph, and those that no row has: at the end of the graph, and for one of several outputs.

Inside the graph complex gradients travel conjugated: then the plain rule `g * f'(x)` is right for real and complex
numbers alike, and only the borders (roots, leaves, hooks) conjugate to give torch's convention.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any, ClassVar

import numpy as np

from whygrad.core.registered import registered
from whygrad.why.record import Causes, Site

next_sequence_number = itertools.count().__next__
LAST = 2**64 - 1  # torch's number for nodes that run as soon as they can

class NodeInterface:
    """What torch's users see of a node: `t.grad_fn` is one. A custom Function shows its ctx instead of its node.

    Its methods are in autograd/node_methods.py.
    """

    __slots__ = ()

    name: Any
    metadata: dict[Any, Any]

    def _itself(self) -> Node:
        """The node in the graph."""
        raise NotImplementedError


class Node(NodeInterface):
    """One application of a row: where the gradients of its arguments go, and what its rules need.

    `edges`   for each array argument another node, or None; a leaf's is its `AccumulateGrad`
    `saved`   the values the rules named, each followed by its `Version` and the value of that; None once they were freed
    `static`  shapes and options the rules named
    `shapes`  the arguments' shapes if they were broadcast; for a node of several outputs, (shape, dtype) of each
    `cuts`    the causes of the arguments that have no history, if there are any
    `extra`   hooks and other rare things (see `NodeExtra`), or None
    """

    __slots__ = ("__weakref__", "cuts", "edges", "extra", "freed", "lasti", "output", "saved", "seq", "shapes",
                 "site_code", "static")

    # What users see in `next_functions`: invisible nodes are skipped.
    visible: ClassVar[bool] = True
    # True if `pending` holds a list, one gradient for each output.
    several: ClassVar[bool] = False
    # True if the node wants to run even when no gradient reached it.
    takes_none: ClassVar[bool] = False
    # The tensor whose gradient an AccumulateGrad accumulates.
    leaf: Any = None
    # True if the gradient may be sparse.
    takes_sparse: ClassVar[bool] = False

    # Set on the classes that are made from rows, see core/record.py.
    layout: ClassVar[Any]

    edges: tuple[Any, ...]
    saved: Any
    static: tuple[Any, ...]
    shapes: Any
    cuts: tuple[Causes, ...] | None
    extra: NodeExtra | None
    seq: int
    # Where in the user's source the node was made, and the backward that freed its saved values.
    site_code: Any
    lasti: int
    freed: Any
    # (shape, dtype) of the result, once its `grad_fn` was read.
    output: tuple[tuple[int, ...], np.dtype]

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients of the arguments, on bare arrays. An edge that is None needs none."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same on Tensors, recorded for a further derivative."""
        raise NotImplementedError(f"{type(self).__name__} has no recorded derivative")

    def __lt__(self, other: Node) -> bool:
        # The engine orders nodes by sequence number; users can make two of them equal.
        return id(self) < id(other)

    @property
    def site(self) -> Site:
        return self.site_code, self.lasti

    def _itself(self) -> Node:
        return self

    def shown(self) -> NodeInterface:
        """What `grad_fn` gives for this node."""
        return self

    def output_count(self) -> int:
        return len(self.shapes) if type(self.shapes) is list else 1

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


class NodeExtra:
    """What only a few nodes have."""

    __slots__ = ("detached", "metadata", "post_hooks", "pre_hooks", "retained", "tensor_hooks")

    def __init__(self) -> None:
        # Hooks are dicts id -> function, in order of registration. Tensor hooks see one output's gradient; those of a leaf
        # are kept in its `Meta`, which outlives the node.
        self.tensor_hooks: dict[int, Any] = {}
        self.pre_hooks: dict[int, Any] = {}
        self.post_hooks: dict[int, Any] = {}
        # Weak reference to a non-leaf tensor that called retain_grad().
        self.retained: Any = None
        # The user's dict; anomaly mode keeps the forward traceback there.
        self.metadata: dict[Any, Any] | None = None
        # True if the tensor that this node computed was taken out of the graph by detach_().
        self.detached = False


def extra(node: Node) -> NodeExtra:
    if node.extra is None:
        node.extra = NodeExtra()
    return node.extra


class Port(Node):
    """One output of a node that has several: gathers that output's gradient, then hands it over."""

    __slots__ = ("index",)
    visible = False

    def __init__(self, node: Node, index: int) -> None:
        self.edges = (node,)
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = node.site_code, node.lasti
        self.index = index

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return ({self.index: g},)

    graph = raw


class DeadEnd(Node):
    """Takes a gradient that has nowhere to go: users see None at the end of the edge."""

    __slots__ = ()
    visible = False
    edges = saved = ()
    shapes = cuts = site_code = None
    lasti = 0

    def __init__(self) -> None:
        self.extra = None
        self.seq = LAST

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()

    graph = raw


class AccumulateGrad(Node):
    """Where the edges to a leaf lead: adds the gradient to its `.grad` (see autograd/accumulation.py).

    It keeps the leaf alive. The leaf refers to it weakly (`Meta.accumulator`), so it lives as long as a graph leads to it.
    """

    __slots__ = ("leaf",)
    takes_sparse = True
    edges = saved = ()
    shapes = cuts = site_code = None
    lasti = 0

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        registered.accumulation.accumulate(self, g)
        return ()

    graph = raw


def row_node(edge: Any) -> tuple[Any, int]:
    """What a user may see at the end of an edge: (node or None, output number)."""
    number = 0
    while edge is not None and not edge.visible:
        if isinstance(edge, Port):
            number = edge.index
        edge = edge.edges[0] if edge.edges else None
    return edge, number


def port_of(node: Node, index: int) -> Port:
    """The one port for an output of a node that has several."""
    found = node.ports.get(index)  # type: ignore[attr-defined]
    port = None if found is None else found()
    if port is None:
        port = Port(node, index)
        node.ports[index] = weakref.ref(port)  # type: ignore[attr-defined]
    return port


def shown(end: Node | None) -> NodeInterface | None:
    """What `grad_fn` gives for the end of an edge (see `row_node`)."""
    return None if end is None else end.shown()


def leaf_or_node(target: Any) -> Any:
    """A target as explanations have it: the leaf itself, which lives on when its AccumulateGrad has gone with the graph."""
    return target.leaf if type(target) is AccumulateGrad else target
