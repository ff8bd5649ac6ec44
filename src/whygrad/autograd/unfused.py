"""A linear layer is one row here and two nodes in torch. Whoever looks at its graph sees the two.

The node is taken apart when its `next_functions` are first asked for: AddmmBackward0 for (bias, x, weight.t()) with a
TBackward0 before the weight, or MmBackward0 if there is no bias. Gradients stay the same.
"""

from __future__ import annotations

from typing import Any

from whygrad.core.modes import grad_state
from whygrad.core.node import Node
from whygrad.core.record import specialization_of
from whygrad.ops.table import TABLE


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
