"""`node._saved_<name>`: what a node keeps, under the names that torch has for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad import errors
from whygrad._tensor import wrap
from whygrad.autograd.node import Node
from whygrad.autograd.saved_hooks import SavedTensor, as_saved_tensors, nothing_saved

_whygrad_internal_ = True

# What torch calls the values that our rows name otherwise.
_NAMES = {"a": "self", "x": "self", "b": "other", "out": "result", "out0": "result0", "out1": "result1", "axis": "dim",
          "axes": "dims", "axis0": "dim0", "axis1": "dim1", "keepdims": "keepdim", "low": "min", "high": "max",
          "slope": "negative_slope", "stop": "end"}
_NAMES_OF_ROWS = {"pow": {"b": "exponent"}, "mm": {"b": "mat2"}, "bmm": {"b": "mat2"}, "cat": {"xs": "tensors"},
                  "stack": {"xs": "tensors"}, "addmm": {"c": "self", "a": "mat1", "b": "mat2"},
                  "addbmm": {"c": "self", "a": "batch1", "b": "batch2"}, "baddbmm": {"c": "self", "a": "batch1", "b": "batch2"},
                  "addmv": {"c": "self", "a": "mat", "b": "vec"}, "pdist": {"ord": "p"}}
# One axis where the row has a tuple of them.
_ONE_AXIS = frozenset({"softmax", "log_softmax"})


def torch_name(row: Any, name: str) -> str:
    if name.endswith("_shape"):
        return torch_name(row, name.removesuffix("_shape")) + "_sym_sizes"
    return _NAMES_OF_ROWS.get(row.name, {}).get(name) or _NAMES.get(name, name)


def hook_order(node: Node) -> list[int]:
    """The order in which torch packs and unpacks: arguments by their name, then results."""
    layout = type(node).layout
    results = layout.row.output_names
    return sorted(range(len(layout.saved)),
                  key=lambda k: (layout.saved[k] in results, torch_name(layout.row, layout.saved[k])))


def saved_attribute(node: Node, attribute: str) -> Any:
    """`node._saved_self` and `node._raw_saved_self`."""
    layout: Any = getattr(type(node), "layout", None)
    raw = attribute.startswith("_raw_")
    wanted = attribute.removeprefix("_raw").removeprefix("_saved_")
    if layout is not None:
        for k, name in enumerate(() if raw else layout.static):
            if torch_name(layout.row, name) == wanted:
                one = layout.row.name in _ONE_AXIS and name == "axis"
                return node.static[k][0] if one else node.static[k]
        for name in (*layout.row.inputs, *layout.row.output_names):
            if torch_name(layout.row, name) == wanted:
                return _saved_value(node, layout.saved.index(name) if name in layout.saved else None, raw, wanted)
        if wanted == "indices" and layout.row.name == "index":
            return _indices(node, raw)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}'")


def _saved_value(node: Node, k: int | None, raw: bool, torch_name: str) -> Any:
    if node.saved is None and not raw:
        raise errors.graph_freed(node)
    if k is None or not node.saved:
        return nothing_saved(node) if raw else None
    packed = as_saved_tensors(node)
    if raw:
        node.saved = packed
    part = packed.parts[k]
    if isinstance(part, list):
        return tuple(part) if raw else tuple([saved.shown() for saved in part])
    if isinstance(part, SavedTensor):
        return part if raw else part.shown()
    if raw:
        return nothing_saved(node)
    # torch wraps the number of a binary operation into a tensor, but keeps an exponent as it is.
    return wrap(np.asarray(part[0])) if torch_name == "other" and part[0] is not None else part[0]


def _indices(node: Node, raw: bool) -> tuple[Any, ...]:
    """One index for each axis, None where all is taken. The row keeps those of several axes stacked."""
    axes = node.static[type(node).layout.static.index("axes")]
    together = _saved_value(node, 0, raw, "indices")
    found = [nothing_saved(node) if raw else None] * (max(axes) + 1)
    for i, axis in enumerate(axes):
        found[axis] = together if len(axes) == 1 or raw else together[i]
    return tuple(found)
