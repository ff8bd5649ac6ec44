"""Where a nan or an infinity comes from: looked for in the graph while backward still has the saved values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor
from whygrad.why.flow import row_name, saved_values
from whygrad.why.record import Site

# How many nodes are looked at.
FURTHEST = 2000


class Origin(NamedTuple):
    """The op that gave the first value that is not finite from finite arguments; or a tensor that held one already."""

    site: Site | None
    name: str
    gave: str
    # What the op was given: "an argument of 0", ...
    given: str


def bad(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc" and not np.isfinite(x).all()


def kind_of(x: Any) -> str:
    """ "nan" or "inf"."""
    return "nan" if np.isnan(x).any() else "inf"


def forward_origin(node: Node) -> Origin | None:
    """If an argument that `node` saved is not finite already: what made it so."""
    for name, value in saved_values(node).items():
        if bad(value):
            row = type(node).layout.row
            if name in row.inputs:
                i = row.inputs.index(name)
                found = _maker(node.edges[i], value, [FURTHEST])
                return found or Origin(_made_at(node, i), "", kind_of(value), "")
            return _of_node(node, value, [FURTHEST])
    return None


def _made_at(node: Node, position: int) -> Site | None:
    causes = node.cuts[position] if node.cuts is not None and position < len(node.cuts) else ()
    return causes[0].site if causes else node.site


def _maker(edge: Any, value: Any, left: list[int]) -> Origin | None:
    """What gave this value, which stood at the end of an edge."""
    target = row_node(edge)[0]
    if isinstance(target, Tensor):
        written = target._version_counter[1] if len(target._version_counter) > 1 else None
        return Origin(written or (target._cause[0].site if target._cause else None), "", kind_of(value), "")
    return _of_node(target, value, left) if isinstance(target, Node) else None


def _of_node(node: Node, value: Any, left: list[int]) -> Origin | None:
    left[0] -= 1
    if left[0] <= 0:
        return None
    layout = getattr(type(node), "layout", None)
    saved = saved_values(node)
    inputs = {} if layout is None else {name: x for name, x in saved.items() if name in layout.row.inputs}
    for name, x in inputs.items():
        if bad(x):
            i = layout.row.inputs.index(name)  # type: ignore[union-attr]
            return _maker(node.edges[i], x, left) or Origin(_made_at(node, i), "", kind_of(x), "")
    # Some arguments are not saved: ask those that made them.
    for edge in node.edges:
        target = row_node(edge)[0]
        if isinstance(target, Tensor) and bad(target._array):
            return _maker(target, target._array, left)
        if isinstance(target, Node) and not inputs:
            out = output(target)
            found = _of_node(target, out, left) if out is None or bad(out) else None
            if found is not None:
                return found
    if value is None or not bad(value):
        return None
    return Origin(node.site, row_name(node), kind_of(value), given_words(inputs))


def output(node: Node) -> Any:
    """What a node gave: saved, or computed again from the saved arguments; None if that cannot be."""
    layout = getattr(type(node), "layout", None)
    saved = saved_values(node)
    if layout is None or layout.row.variadic or not layout.one_output:
        return None
    if isinstance(saved.get("out"), np.ndarray):
        return saved["out"]
    row = layout.row
    if not all(saved.get(name) is not None for name in row.inputs):
        return None
    statics = {name: x for name, x in zip(layout.static, getattr(node, "static", ()), strict=False) if name in row.statics}
    if set(row.statics) - set(statics) - set(row.static_defaults):
        return None
    try:
        with np.errstate(all="ignore"):
            return layout.forward(*[saved[name] for name in row.inputs], **{**row.static_defaults, **statics})
    except Exception:  # an unusual signature: then it cannot be told
        return None


def given_words(inputs: dict[str, Any]) -> str:
    """What is remarkable about the arguments, in words."""
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
