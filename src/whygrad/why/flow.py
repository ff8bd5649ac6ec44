"""What one backward did to the gradient on its way: kept by the watch, read when a gradient is zero or not finite."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.autograd.node import Node, row_node

_whygrad_internal_ = True

# Rows whose derivative can be exactly zero at some values.
FLAT = {
    "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "logsigmoid", "threshold",
    "hardtanh", "hardsigmoid", "hardswish", "sigmoid", "tanh", "erf", "softmax", "log_softmax", "clamp", "clamp_min", "clamp_max",
    "clamp_tensors", "maximum", "minimum", "max", "min", "amax", "amin", "round", "floor", "ceil", "trunc", "sign", "sgn",
}


def state(g: Any) -> str:
    """ "none", "zero", "bad" (nan or infinite) or "fine"."""
    if g is None:
        return "none"
    if isinstance(g, list):
        states = {state(x) for x in g}
        return next((s for s in ("bad", "fine", "zero") if s in states), "none")
    array = np.asarray(getattr(g, "_array", g))
    if array.dtype.kind not in "fc":
        return "fine"
    if not np.isfinite(array).all():
        return "bad"
    return "fine" if array.any() or not array.size else "zero"


class Step(NamedTuple):
    """One node of one backward: the state of the gradient that came in, and of those that went out."""

    node: Node
    edges: tuple[Any, ...]
    came: str
    left: tuple[str, ...]


class Turn(NamedTuple):
    """Where a gradient turned: the node, and which of its arguments received the turned gradient."""

    node: Node
    position: int


def where_it_turned(steps: list[Step], leaf: Any, into: str) -> Turn | None:
    """The node nearest to the root at which the gradient that reached `leaf` became zero (or "bad")."""
    # What leads to the leaf with a gradient in that state, from the leaf towards the root.
    behind = {leaf}
    found = None
    for step in reversed(steps):
        for position, (edge, left) in enumerate(zip(step.edges, step.left, strict=False)):
            if left != into or edge is None or not _is_among(edge, behind):
                continue
            if step.came == into:
                behind.add(step.node)
            elif step.node.visible:
                found = Turn(step.node, position)
    return found


def _is_among(edge: Any, targets: set[Any]) -> bool:
    return edge in targets


def row_name(node: Node) -> str:
    layout = getattr(type(node), "layout", None)
    name: str = layout.row.name if layout is not None else type(node).__name__.partition("Backward")[0]
    return name


def input_of(node: Node, position: int) -> Any:
    """The node or leaf that an argument came from."""
    return row_node(node.edges[position])[0]
