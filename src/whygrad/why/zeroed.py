"""Why a node made zero of a gradient that was not: tried out while it still has its saved values."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor
from whygrad.why.flow import Step, row_name, saved_values


def how_zeroed(node: Node, g: Any, edges: tuple[Any, ...], left: tuple[str, ...]) -> tuple[str, ...]:
    """For each argument: "cancels" (every contribution is there, their sum is zero), "underflow", "ignored", or ""."""
    if all_ignored(node):
        return ("ignored",) * len(left)
    if counts_all_alike(node, g):
        return ("cancels",) * len(left)
    if "zero" not in left:
        return ()
    if getattr(type(node), "layout", None) is None or type(g) is not np.ndarray or g.dtype.kind != "f":
        return ()
    try:
        # A rule is linear in g: with other weights for the same elements, what only cancels does so no longer.
        weights = np.asarray(np.random.default_rng(0).uniform(0.5, 1.5, g.shape), g.dtype)
        weighted = node.raw(g * weights, edges)
        wide = _in_double(node, g, edges) if g.dtype == np.float32 else ()
    except Exception:  # a rule that cannot be run a second time
        return ()
    return tuple(["" if state != "zero" else "cancels" if _is_there(weighted, i) else "underflow" if _is_there(wide, i) else ""
                  for i, state in enumerate(left)])


def _is_there(grads: tuple[Any, ...], position: int) -> bool:
    return position < len(grads) and isinstance(grads[position], np.ndarray) and bool(grads[position].any())


def _in_double(node: Node, g: np.ndarray, edges: tuple[Any, ...]) -> tuple[Any, ...]:
    saved = node.saved
    if type(saved) is not tuple:
        return ()
    wide = [x.astype(np.float64) if i % 3 == 0 and isinstance(x, np.ndarray) and x.dtype == np.float32 else x
            for i, x in enumerate(saved)]
    try:
        node.saved = tuple(wide)
        return node.raw(g.astype(np.float64), edges)
    finally:
        node.saved = saved


def counts_all_alike(node: Node, g: Any) -> bool:
    """All outputs of a softmax weigh the same in the loss: what goes back is zero, but for rounding."""
    axis = static_of(node).get("axis") if row_name(node) == "softmax" and isinstance(g, np.ndarray) and g.size else None
    if axis is None or g.size == np.ptp(g, axis=axis).size:  # (of one element there is nothing to weigh)
        return False
    return not np.ptp(g, axis=axis).any()


def all_ignored(node: Node) -> bool:
    """Every target of a loss over classes is the one to be ignored."""
    if row_name(node) != "nll_loss":
        return False
    target, statics = saved_values(node).get("target"), static_of(node)
    return isinstance(target, np.ndarray) and target.size > 0 and bool((target == statics.get("ignore_index")).all())


def static_of(node: Node) -> dict[str, Any]:
    """The options that a row's node was recorded with, by name."""
    layout = getattr(type(node), "layout", None)
    return {} if layout is None else dict(zip(layout.static, node.static or (), strict=False))


def is_linear(node: Node) -> bool:
    """What flows back through it does not depend on the values of what it was computed from."""
    layout = getattr(type(node), "layout", None)
    if layout is None:
        return False
    inputs = {name for name, edge in zip(layout.row.inputs, node.edges, strict=False) if edge is not None}
    return any(inputs <= set(group) for group in layout.row.linear)


def between(steps: list[Step], first: Any) -> set[Any]:
    """The nodes that a gradient passed from the root to a node or leaf."""
    found = {first}
    for step in reversed(steps):
        if any(row_node(edge)[0] in found for edge in step.edges if edge is not None):
            found.add(step.node)
    return {node for node in found - {first} if not isinstance(node, Tensor) and node.visible}
