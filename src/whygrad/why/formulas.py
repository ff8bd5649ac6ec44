"""`whygrad.formula`: the derivatives of an op written down, for a name, a tensor or a node."""

from __future__ import annotations

import difflib
from typing import Any

from whygrad.backends.formula import MADE_OF, Composition, Formula
from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor, grad_fn
from whygrad.ops import TABLE


def known_of(node: Any) -> dict[str, Any]:
    """The options and shapes that a node of the graph has kept."""
    layout = node.layout
    known = dict(zip(layout.static, getattr(node, "static", ()) or (), strict=False))
    saved = node.saved if type(node.saved) is tuple else ()
    for name, value in zip(layout.saved, saved[::3], strict=False):
        if hasattr(value, "shape"):
            known.setdefault(f"{name}_shape", value.shape)
    return known


def formula(op: Any) -> Formula | Composition:
    """The derivatives of an op: `formula("mul")`, of a tensor that an op computed, or of its `grad_fn`.

    In a formula `g` is the gradient of the result, `out` the result, and the other names are the op's arguments.
    """
    if not isinstance(op, str):
        node = row_node(grad_fn(op) if isinstance(op, Tensor) else op)[0]
        if not isinstance(node, Node) or not hasattr(type(node), "layout"):
            raise TypeError("formula() takes the name of an op, a tensor that an op computed or its grad_fn, "
                            f"not {'a leaf' if isinstance(op, Tensor) else type(op).__name__}")
        return Formula(node.layout.row, known_of(node))
    op = op.rpartition(".")[2]  # "torch.sin" and "torch.nn.functional.relu" are "sin" and "relu"
    found = TABLE.get(op) or next((row for row in TABLE.values() if row.node == op), None)
    if found is None and op in MADE_OF:
        return Composition(op, MADE_OF[op])
    if found is None:
        near = difflib.get_close_matches(op, [*TABLE, *MADE_OF], 3)
        raise ValueError(f"there is no op called {op!r}" + (f"; did you mean {' or '.join(map(repr, near))}?" if near else ""))
    return Formula(found)
