"""`node._saved_<name>`: what a node keeps, under the names that torch has for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.saved_hooks import SavedTensor, as_saved_tensors, nothing_saved, torch_name
from whygrad.base import errors
from whygrad.core.node import Node
from whygrad.core.tensor import wrap

# One axis where the row has a tuple of them.
_ONE_AXIS = frozenset({"softmax", "log_softmax"})
# Options that torch does not have.
_OWN_OPTIONS = frozenset({"kind", "name", "reverse", "spatial", "count_pad", "divisor", "by_row"})
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def saved_attribute(node: Node, attribute: str) -> Any:
    """`node._saved_self` and `node._raw_saved_self`."""
    layout: Any = getattr(type(node), "layout", None)
    raw = attribute.startswith("_raw_")
    wanted = attribute.removeprefix("_raw").removeprefix("_saved_")
    if layout is not None:
        options = {} if raw else _options(node, layout)
        if wanted in options:
            return options[wanted]
        if layout.row.name == "linear" and wanted in ("self", "mat2"):
            # In torch `linear` is `mm` or `addmm`, of the transposed weight.
            if wanted == "mat2":
                weight = _saved_value(node, layout.saved.index("weight") if "weight" in layout.saved else None, raw, wanted)
                return weight if raw or weight is None else weight.t()
            if type(node).__name__ != "MmBackward0":
                raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}'")
            return _saved_value(node, layout.saved.index("x") if "x" in layout.saved else None, raw, wanted)
        for name in (*layout.row.inputs, *layout.row.output_names):
            if torch_name(layout.row, name) == wanted:
                return _saved_value(node, layout.saved.index(name) if name in layout.saved else None, raw, wanted)
        if wanted == "indices" and layout.row.name == "index":
            return _indices(node, raw)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}'")


def _options(node: Node, layout: Any) -> dict[str, Any]:
    """What is no tensor, by torch's names."""
    found: dict[str, Any] = {"alpha": 1} if layout.row.name in ("add", "sub") else {}
    if layout.row.name in _DERIVED:
        found = _DERIVED[layout.row.name](node, dict(zip(layout.static, node.static, strict=True)))
    for name, value in zip(layout.static, node.static if layout.static else (), strict=True):
        if hasattr(value, "_fields"):
            found |= value._asdict()
        elif name == "reduction":
            found[name] = _REDUCTIONS[value]
        else:
            one = layout.row.name in _ONE_AXIS and name == "axis"
            found[torch_name(layout.row, name)] = value[0] if one else value
    return found


def _of_upsample(node: Node, known: dict[str, Any]) -> dict[str, Any]:
    axes = known["axes"]
    letters = [""] if len(axes) == 1 else [f"_{letter}" for letter in "dhw"[-len(axes):]]
    found = {"output_size": tuple([axis.out for axis in axes]),
             **{f"scales{letter}": axis.scale for letter, axis in zip(letters, axes, strict=True)}}
    if not axes[0].mode.startswith("nearest"):
        found["align_corners"] = axes[0].align_corners
    if node.output is not None:
        found["self_sym_sizes"] = (*node.output[0][:-len(axes)], *[axis.size for axis in axes])
    return found


def _of_convolution(node: Node, known: dict[str, Any]) -> dict[str, Any]:
    if node.output is None:
        return {}
    channels = node.output[0][-len(known["window"].stride) - 1]
    return {"bias_sym_sizes_opt": (channels,) if type(node).layout.kinds.endswith("t") else (0,)}


# What torch's nodes keep and ours have in another form.
_DERIVED: dict[str, Callable[[Node, dict[str, Any]], dict[str, Any]]] = {
    "upsample": _of_upsample,
    "convolution": _of_convolution,
    "im2col": lambda node, known: {f"self_sym_argsize_minus_{k}": known["x_shape"][-k] for k in (1, 2)},
    "as_strided": lambda node, known: dict(zip(("size", "stride", "storage_offset"), known["geometry"], strict=True)),
}


def saved_attributes(node: Node) -> list[str]:
    """The attributes that a node has by what it keeps."""
    layout: Any = getattr(type(node), "layout", None)
    if layout is None:
        return []
    kept = [torch_name(layout.row, name) for name in layout.saved]
    if type(node).__name__ == "MmBackward0":
        kept = ["self" if name == "mat1" else name for name in kept]
    plain = [name for name, value in _options(node, layout).items()
             if name not in _OWN_OPTIONS and (isinstance(value, (int, float, str, type(None))) or (
                 isinstance(value, tuple) and all(isinstance(x, (int, float)) for x in value)))]
    return [*[f"_saved_{name}" for name in (*kept, *plain)], *[f"_raw_saved_{name}" for name in kept]]


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
