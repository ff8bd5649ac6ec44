"""Where a nan or an infinity comes from: searched in the graph while backward still has the saved values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.why import engine
from whygrad.why.gradient_flow import row_name
from whygrad.why.record import Site

# Nodes visited by one search.
MAX_NODES = 2000


class NonfiniteOrigin(NamedTuple):
    """The op whose result is not finite although its arguments are; or (`name` empty) a tensor that held such a value."""

    site: Site | None
    name: str
    result: str
    # The remarkable argument, in words: "0", "a negative number", ...
    argument: str


def is_nonfinite(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc" and not np.isfinite(x).all()


def nan_or_inf(x: Any) -> str:
    """The kind of a nonfinite array: "nan" or "inf"."""
    return "nan" if np.isnan(x).any() else "inf"


def forward_origin(node: engine.Node) -> NonfiniteOrigin | None:
    """The origin of a nonfinite value among those that `node` saved in the forward, if there is one."""
    for name, value in engine.saved_of(node).items():
        if is_nonfinite(value):
            names = engine.argument_names(node)
            if name in names:
                i = names.index(name)
                found = _origin_of_value(node.edges[i], value, [MAX_NODES])
                return found or NonfiniteOrigin(_made_at(node, i), "", nan_or_inf(value), "")
            return _origin_in_node(node, value, [MAX_NODES])
    return None


def _made_at(node: engine.Node, position: int) -> Site | None:
    causes = node.cuts[position] if node.cuts is not None and position < len(node.cuts) else ()
    return causes[0].site if causes else node.site


def _origin_of_value(edge: Any, value: Any, budget: list[int]) -> NonfiniteOrigin | None:
    """The origin of a value that came from `edge`."""
    target = engine.end_of(edge)
    if engine.is_tensor(target):
        written = engine.version_of(target).site
        causes = engine.causes_of(target)
        return NonfiniteOrigin(written or (causes[0].site if causes else None), "", nan_or_inf(value), "")
    return _origin_in_node(target, value, budget) if engine.is_node(target) else None


def _origin_in_node(node: engine.Node, value: Any, budget: list[int]) -> NonfiniteOrigin | None:
    budget[0] -= 1
    if budget[0] <= 0:
        return None
    names = engine.argument_names(node)
    inputs = {name: x for name, x in engine.saved_of(node).items() if name in names}
    for name, x in inputs.items():
        if is_nonfinite(x):
            i = names.index(name)
            return _origin_of_value(node.edges[i], x, budget) or NonfiniteOrigin(_made_at(node, i), "", nan_or_inf(x), "")
    # Arguments that the node did not save are looked up in the nodes that computed them.
    for edge in node.edges:
        target = engine.end_of(edge)
        if engine.is_tensor(target) and is_nonfinite(engine.array_of(target)):
            return _origin_of_value(target, engine.array_of(target), budget)
        if engine.is_node(target) and not inputs:
            out = engine.output_of(target)
            found = _origin_in_node(target, out, budget) if out is None or is_nonfinite(out) else None
            if found is not None:
                return found
    if value is None or not is_nonfinite(value):
        return None
    return NonfiniteOrigin(node.site, row_name(node), nan_or_inf(value), describe_arguments(inputs))


def describe_arguments(inputs: dict[str, Any]) -> str:
    """What is remarkable about the last argument, in words."""
    arrays = [x for x in inputs.values() if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.size]
    if not arrays:
        return ""
    x = arrays[-1]
    if (x == 0).any():
        return "0"
    if x.dtype.kind == "f" and (x < 0).any() and np.abs(x).max() < 50:
        return "a negative number"
    largest = float(np.abs(x).max())
    return f"{largest:.4g}"
