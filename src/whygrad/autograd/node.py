"""Nodes of the graph, and the invisible ones that route a gradient to one output or through a cast.

Inside the graph complex gradients travel conjugated: then the plain rule `g * f'(x)` is right for real and complex
numbers alike, and only the borders (roots, leaves, hooks) conjugate to give torch's convention.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from whygrad.why.record import Causes, Site

_whygrad_internal_ = True

next_sequence_number = itertools.count().__next__


class Node:
    """One application of a row: where the gradients of its arguments go, and what its rules need.

    `edges`   for each array argument another node, a leaf tensor, or None
    `saved`   the values the rules named, each followed by its version counter and version; None once they were freed
    `static`  shapes and options the rules named
    `shapes`  the arguments' shapes if they were broadcast; for a node of several outputs, (shape, dtype) of each
    `cuts`    the causes of the arguments that have no history, if there are any
    `extra`   hooks and other rare things (see `NodeExtra`), or None
    """

    __slots__ = ("__weakref__", "cuts", "edges", "extra", "freed", "lasti", "saved", "seq", "shapes", "site_code",
                 "static")

    # What users see in `next_functions`: invisible nodes are skipped.
    visible: ClassVar[bool] = True
    # True if `pending` holds a list, one gradient for each output.
    several: ClassVar[bool] = False
    # True if the node wants to run even when no gradient reached it.
    takes_none: ClassVar[bool] = False

    edges: tuple[Any, ...]
    saved: Any
    static: tuple[Any, ...]
    shapes: Any
    cuts: tuple[Causes, ...] | None
    extra: NodeExtra | None
    seq: int

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients of the arguments, on bare arrays. An edge that is None needs none."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same on Tensors, recorded for a further derivative."""
        raise NotImplementedError(f"{type(self).__name__} has no recorded derivative")

    @property
    def site(self) -> Site:
        return self.site_code, self.lasti


class NodeExtra:
    """What only a few nodes have."""

    __slots__ = ("metadata", "post_hooks", "pre_hooks", "retained", "tensor_hooks", "trace")

    def __init__(self) -> None:
        # Hooks are dicts id -> function, in order of registration. Tensor hooks see one output's gradient.
        self.tensor_hooks: dict[int, Any] = {}
        self.pre_hooks: dict[int, Any] = {}
        self.post_hooks: dict[int, Any] = {}
        # Weak reference to a non-leaf tensor that called retain_grad().
        self.retained: Any = None
        self.metadata: dict[Any, Any] | None = None
        # Forward traceback, kept in anomaly mode.
        self.trace: Any = None


def extra(node: Node) -> NodeExtra:
    if node.extra is None:
        node.extra = NodeExtra()
    return node.extra


def invisible(node: Node, edge: Any) -> None:
    """Fill the slots of a node that saves nothing."""
    node.edges = (edge,)
    node.saved = ()
    node.shapes = node.cuts = node.extra = None
    node.seq = next_sequence_number()
    node.site_code, node.lasti = edge.site if isinstance(edge, Node) else (None, 0)


class Port(Node):
    """One output of a node that has several: gathers that output's gradient, then hands it over."""

    __slots__ = ("index",)
    visible = False

    def __init__(self, node: Node, index: int) -> None:
        invisible(self, node)
        self.index = index

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        gradients: list[Any] = [None] * len(self.edges[0].shapes)
        gradients[self.index] = g
        return (gradients,)

    graph = raw


class Cast(Node):
    """Brings the gradient of a promoted argument back to the argument's own dtype."""

    __slots__ = ("dtype",)
    visible = False

    def __init__(self, edge: Any, dtype: np.dtype) -> None:
        invisible(self, edge)
        self.dtype = dtype

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (cast_array(g, self.dtype),)

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (g.to(self.dtype),)


def cast_array(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`astype` without NumPy's warning about a dropped imaginary part."""
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    return array.astype(dtype, copy=False)


def row_node(edge: Any) -> tuple[Any, int]:
    """What a user may see at the end of an edge: (node or leaf or None, output number)."""
    number = 0
    while isinstance(edge, Node) and not edge.visible:
        if isinstance(edge, Port):
            number = edge.index
        edge = edge.edges[0]
    return edge, number


class AccumulateGrad(Node):
    """Stands for a leaf in `next_functions`. In the graph itself, the edge is the leaf tensor."""

    __slots__ = ("variable",)

    def __init__(self, leaf: Any) -> None:
        self.variable = leaf
        self.edges = ()
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = 2**64 - 1
        self.site_code, self.lasti = None, 0
