"""Why a gradient became zero in a node: found by running the node's rule again while its saved values are alive."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.why.engine import Node, argument_names, end_of, is_tensor, options_of, row_of, run_again, run_in_double, saved_of
from whygrad.why.gradient_flow import BackwardStep, row_name


def zero_reasons(node: Node, g: Any, edges: tuple[Any, ...], left: tuple[str, ...]) -> tuple[str, ...]:
    """For each argument: "cancels" (nonzero contributions sum to zero), "underflow", "ignored", or ""."""
    if all_targets_ignored(node):
        return ("ignored",) * len(left)
    if has_uniform_weights(node, g):
        return ("cancels",) * len(left)
    if "zero" not in left:
        return ()
    if row_of(node) is None or type(g) is not np.ndarray or g.dtype.kind != "f":
        return ()
    try:
        # A rule is linear in g: contributions that cancel no longer do so if g's elements are weighted at random.
        weights = np.asarray(np.random.default_rng(0).uniform(0.5, 1.5, g.shape), g.dtype)
        weighted = run_again(node, g * weights, edges)
        wide = run_in_double(node, g, edges) if g.dtype == np.float32 else ()
    except Exception:  # a rule that cannot be run a second time
        return ()
    return tuple(["" if state != "zero" else "cancels" if _is_there(weighted, i) else "underflow" if _is_there(wide, i) else ""
                  for i, state in enumerate(left)])


def _is_there(grads: tuple[Any, ...], position: int) -> bool:
    return position < len(grads) and isinstance(grads[position], np.ndarray) and bool(grads[position].any())


def has_uniform_weights(node: Node, g: Any) -> bool:
    """True if the loss weighs all outputs of a softmax equally: the gradient is then zero up to rounding."""
    axis = options_of(node).get("axis") if row_name(node) == "softmax" and isinstance(g, np.ndarray) and g.size else None
    if axis is None or g.size == np.ptp(g, axis=axis).size:  # the axis has one element
        return False
    return not np.ptp(g, axis=axis).any()


def all_targets_ignored(node: Node) -> bool:
    """True if every target of an nll_loss is its ignore_index."""
    if row_name(node) != "nll_loss":
        return False
    target, statics = saved_of(node).get("target"), options_of(node)
    return isinstance(target, np.ndarray) and target.size > 0 and bool((target == statics.get("ignore_index")).all())


def is_linear(node: Node) -> bool:
    """True if the node's gradient does not depend on the values of its inputs."""
    row = row_of(node)
    if row is None:
        return False
    inputs = {name for name, edge in zip(argument_names(node), node.edges, strict=False) if edge is not None}
    return any(inputs <= set(group) for group in row.linear)


def nodes_between(steps: list[BackwardStep], first: Any) -> set[Any]:
    """The nodes on the way of the gradient from the root to a node or leaf, without its end."""
    found = {first}
    for step in reversed(steps):
        if any(end_of(edge) in found for edge in step.edges if edge is not None):
            found.add(step.node)
    return {node for node in found - {first} if not is_tensor(node) and node.visible}
