"""Why a gradient became zero in a node: found by running the node's rule again while its saved values are alive."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor
from whygrad.why.gradient_flow import BackwardStep, row_name, saved_values


def zero_reasons(node: Node, g: Any, edges: tuple[Any, ...], left: tuple[str, ...]) -> tuple[str, ...]:
    """For each argument: "cancels" (nonzero contributions sum to zero), "underflow", "ignored", or ""."""
    if all_targets_ignored(node):
        return ("ignored",) * len(left)
    if has_uniform_weights(node, g):
        return ("cancels",) * len(left)
    if "zero" not in left:
        return ()
    if getattr(type(node), "layout", None) is None or type(g) is not np.ndarray or g.dtype.kind != "f":
        return ()
    try:
        # A rule is linear in g: contributions that cancel no longer do so if g's elements are weighted at random.
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


def has_uniform_weights(node: Node, g: Any) -> bool:
    """True if the loss weighs all outputs of a softmax equally: the gradient is then zero up to rounding."""
    axis = static_arguments(node).get("axis") if row_name(node) == "softmax" and isinstance(g, np.ndarray) and g.size else None
    if axis is None or g.size == np.ptp(g, axis=axis).size:  # the axis has one element
        return False
    return not np.ptp(g, axis=axis).any()


def all_targets_ignored(node: Node) -> bool:
    """True if every target of an nll_loss is its ignore_index."""
    if row_name(node) != "nll_loss":
        return False
    target, statics = saved_values(node).get("target"), static_arguments(node)
    return isinstance(target, np.ndarray) and target.size > 0 and bool((target == statics.get("ignore_index")).all())


def static_arguments(node: Node) -> dict[str, Any]:
    """The static arguments that a row's node was recorded with, by name."""
    layout = getattr(type(node), "layout", None)
    return {} if layout is None else dict(zip(layout.static, node.static or (), strict=False))


def is_linear(node: Node) -> bool:
    """True if the node's gradient does not depend on the values of its inputs."""
    layout = getattr(type(node), "layout", None)
    if layout is None:
        return False
    inputs = {name for name, edge in zip(layout.row.inputs, node.edges, strict=False) if edge is not None}
    return any(inputs <= set(group) for group in layout.row.linear)


def nodes_between(steps: list[BackwardStep], first: Any) -> set[Any]:
    """The nodes on the way of the gradient from the root to a node or leaf, without its end."""
    found = {first}
    for step in reversed(steps):
        if any(row_node(edge)[0] in found for edge in step.edges if edge is not None):
            found.add(step.node)
    return {node for node in found - {first} if not isinstance(node, Tensor) and node.visible}
