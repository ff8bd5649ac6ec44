"""`whygrad.formula`: the derivatives of an op written down, for a name, a tensor or a node."""

from __future__ import annotations

import difflib
from typing import Any

from whygrad.backends.formula import MADE_OF, Composition, Formula
from whygrad.ops import TABLE
from whygrad.why.engine import end_of, is_node, is_tensor, node_of, options_of, row_of, saved_of


def known_of(node: Any) -> dict[str, Any]:
    """The options and shapes that a node of the graph has kept."""
    known = options_of(node)
    for name, value in saved_of(node).items():
        if hasattr(value, "shape"):
            known.setdefault(f"{name}_shape", value.shape)
    return known


def formula(op: Any) -> Formula | Composition:
    """The derivatives of an op: `formula("mul")`, of a tensor that an op computed, or of its `grad_fn`.

    In a formula `g` is the gradient of the result, `out` the result, and the other names are the op's arguments.
    """
    if not isinstance(op, str):
        node = end_of(node_of(op) if is_tensor(op) else op)
        if not is_node(node) or row_of(node) is None:
            raise TypeError("formula() takes the name of an op, a tensor that an op computed or its grad_fn, "
                            f"not {'a leaf' if is_tensor(op) else type(op).__name__}")
        return Formula(row_of(node), known_of(node))
    op = op.rpartition(".")[2]  # "torch.sin" and "torch.nn.functional.relu" are "sin" and "relu"
    found = TABLE.get(op) or next((row for row in TABLE.values() if row.node == op), None)
    if found is None and op in MADE_OF:
        return Composition(op, MADE_OF[op])
    if found is None:
        near = difflib.get_close_matches(op, [*TABLE, *MADE_OF], 3)
        raise ValueError(f"there is no op called {op!r}" + (f"; did you mean {' or '.join(map(repr, near))}?" if near else ""))
    return Formula(found)
