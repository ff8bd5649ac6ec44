"""Errors about nodes of the graph: saved values that were changed in place, and views that must not be written to.

Their messages are composed from the node after the failure. core raises them through `registered.errors`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from whygrad.base import dtypes
from whygrad.base.errors import noted
from whygrad.base.version import Version
from whygrad.core.modes import process_state
from whygrad.core.node import AccumulateGrad, Node, leaf_or_node, row_node
from whygrad.core.registered import registered
from whygrad.core.tensor import Tensor

# (row, saved name) -> the view that torch saves where the row saves the argument itself.
SAVED_AS_VIEWS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("linear", "weight"): lambda x: x.T, ("linear_folded", "weight"): lambda x: x.T,
    **dict.fromkeys((("linear_folded", "x"), ("matmul_folded", "a"), ("vm", "a")), lambda x: x.reshape(-1, x.shape[-1])),
    **dict.fromkeys((("matmul", "a"), ("matmul", "b")), lambda x: x.reshape(-1, *x.shape[-2:])),
}


def stale_saved(node: Node, name: str, value: Any, counter: Version, version: int,
                position: int | None = None) -> RuntimeError | None:
    """The error for a value that was changed in place after a row had saved it; None if torch would not have saved it."""
    row = type(node).layout.row
    if name == "xs" and row.traits.kernel == "recurrent" and position is not None and position > 1:
        return _stale_recurrent(node, value, counter, version)
    if name in row.output_names:
        return stale_value(node, value, counter, version, node, row.output_names.index(name))
    if (row.name, name) in SAVED_AS_VIEWS:
        return stale_value(node, SAVED_AS_VIEWS[row.name, name](value), counter, version, "AsStrided", 0)
    i = row.inputs.index(name) if position is None else position
    producer, number = row_node(node.edges[i])
    rewritten = None if getattr(counter, "writer", None) is None else counter.writer()
    # torch names the op that computed the tensor last: the view op applied to the written base, or the write.
    if isinstance(producer, Node) and (
            hasattr(producer, "steps") or (hasattr(producer, "layout") and producer.layout.row.view)):
        return stale_value(node, value, counter, version, "AsStrided", 0)
    if rewritten is not None:
        return stale_value(node, value, counter, version, rewritten, 0)
    return stale_value(node, value, counter, version, producer, number)


def _stale_recurrent(node: Node, weight: Any, counter: Version, version: int) -> RuntimeError | None:
    """The hidden weight of a recurrent layer was changed, or a bias, which torch does not save. It multiplies by the weight,
    transposed, in each step; mkldnn's layer saves the input weight before it, which here is an argument of another node."""
    pre, producer = node.saved[0][0], row_node(node.edges[0])[0]
    if type(node).layout.row.name == "recurrent_layer":
        # A single step that begins with a state without gradient does not need the weight.
        is_needed = weight.ndim == 2 and (node.edges[1] is not None or pre.ndim < 3 or len(pre) > 1)
        return stale_value(node, weight.T, counter, version, "AsStrided", 0) if is_needed else None
    for leaf in [leaf_or_node(edge) for edge in getattr(producer, "edges", ())]:
        if isinstance(leaf, Tensor) and leaf._array.ndim == 2 and leaf._version_counter.value == counter.value:
            return stale_value(node, leaf._array, leaf._version_counter, version, None, 0)
    return stale_value(node, weight, counter, version, None, 0)


def stale_value(node: Node | None, value: Any, counter: Version, version: int, producer: Any, number: int) -> RuntimeError:
    """The error for a value saved by `node`, output `number` of `producer` (a node, a name, or None if unknown)."""
    is_leaf = producer is None or type(producer) is AccumulateGrad
    name = None if is_leaf else producer if isinstance(producer, str) else op_name(producer)
    origin = "" if name is None else f", which is output {number} of {name},"
    # The saved value may be a copy in another dtype.
    written_dtype = getattr(counter, "dtype", value.dtype)
    kind = dtypes.type_string(dtypes.FROM_NUMPY[written_dtype])
    sizes = ", ".join(map(str, value.shape))
    hint = ("the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
            "changed in there or anywhere later. Good luck!" if process_state.anomaly else
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False).")
    error = RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} [{sizes}]]"
        f"{origin} is at version {counter.value}; expected version {version} instead. Hint: {hint}")
    if node is None:
        return error
    return noted(error, "inplace_saved", node, getattr(counter, "site", None))  # type: ignore[no-any-return]


def op_name(node: Node) -> str:
    """A node's name as in torch's messages: without "Backward0"."""
    name, backward, number = type(node).__name__.rpartition("Backward")
    if number and not number.isdigit():  # CopyBackwards
        return f"torch::autograd::{type(node).__name__}"
    return name + number.lstrip("0") if backward else node.name()


_CLARIFY = ("Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
            "both the view and the inplace either both inside the {block} block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked).")

_VIEW_REASONS = {
    "multi": " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
             "to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    "custom": " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
              "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
              "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
    "no_grad": " " + _CLARIFY.format(block="no_grad"),
    "inference": " " + _CLARIFY.format(block="inference_mode"),
}


def forbidden_view_write(t: Any, *, indirect: bool = False) -> Any:
    """The error for an in-place write into a view that must not be written to, or (indirect) into the base of one."""
    view = t._view
    modified = "its base or another view of its base has been modified inplace" if indirect else "is being modified inplace"
    mode = (f"in inference mode and {modified} in normal mode." if view.creation == "inference" else
            f"in no_grad mode and {modified} with grad mode enabled.")
    if view.node is None:
        start = f"A view was created {mode}"
    else:
        node, number = row_node(view.node)
        start = f"Output {number} of {op_name(node)} is a view"
        start += f" of a view which was created {mode}" if view.creation in ("no_grad", "inference") else f" and {modified}."
    return noted(RuntimeError(start + _VIEW_REASONS[view.creation]), "forbidden_view", t)


registered.errors = sys.modules[__name__]
