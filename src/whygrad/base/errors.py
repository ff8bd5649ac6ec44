"""Autograd's error messages, word for word torch's, and the functions that compose them after a failure.

The message is torch's; what whygrad knows beyond it (the lines that saved, overwrote or freed a value) is attached as a
note, so that `str(error)` equals torch's.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whygrad.base import dtypes
from whygrad.base.dtypes import CPP_NAMES
from whygrad.base.frames import is_internal

if TYPE_CHECKING:
    from whygrad.base.version import Version
    from whygrad.core.node import Node

BACKWARD_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward.")

REQUIRES_GRAD_IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
    "function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed "
    "instead.")
HOOKS_IN_TRANSFORM = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case.")
RETAIN_GRAD_IN_TRANSFORM = (
    "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. This is "
    "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call retain_grad() "
    "outside of a function being transformed instead.")
BACKWARD_IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
    "instead or call backward() outside of functorch transforms.")
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`.")

INFERENCE_INPLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
    "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.")

DETACHED_SAVED = ("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
                  "please use out-of-place `.detach()` instead")

_CLARIFY = ("Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
            "both the view and the inplace either both inside the {block} block (if you don't want the inplace to be "
            "tracked) or both outside (if you want the inplace to be tracked).")

CHANGE_NON_LEAF = ("you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                   "subgraph that doesn't require differentiation use var_no_grad = var.detach().")
CHANGE_NON_LEAF_TRUE = "you can only change requires_grad flags of leaf variables."

LEAF_INPLACE = "a leaf Variable that requires grad is being used in an in-place operation."
LEAF_VIEW_INPLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."

NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
    "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
    "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.")

NO_GRAD_FN = "element {index} of tensors does not require grad and does not have a grad_fn"


def warn_non_leaf_grad() -> None:
    warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=user_stacklevel())


def cpp_name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return CPP_NAMES.get(name, name)


def grad_dtype_mismatch(given: Any, wanted: Any) -> str:
    return (f"attempting to assign a gradient with dtype '{cpp_name(given)}' to a tensor with grad_dtype "
            f"'{wanted.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with "
            "caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match.")


def explained(error: Exception, category: str, note: str, *sites: Any) -> Any:
    """Attach an explanation. `sites` are the source lines involved, root cause first."""
    from whygrad.why import record

    error.add_note(note)
    if record.watching is not None:
        record.watching.error(error, category, note.removeprefix("why: "), sites)
    return error


def noted(error: Exception, note: str, *about: Any) -> Any:
    """Attach the note that the function `note` of `why.error_notes` composes."""
    from whygrad.why import error_notes

    try:
        category, text, sites = getattr(error_notes, note)(*about)
    except Exception:  # a failure in the explanation must not replace the error itself
        return error
    return explained(error, category, text, *sites)


def graph_freed(node: Node) -> Any:
    return noted(RuntimeError(BACKWARD_TWICE), "graph_freed", node, getattr(node, "freed", None))


def _below_each_other(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


# (row, saved name) -> the view that torch saves where the row saves the argument itself.
SAVED_AS_VIEWS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("linear", "weight"): lambda x: x.T, ("linear_folded", "weight"): lambda x: x.T,
    **dict.fromkeys((("linear_folded", "x"), ("matmul_folded", "a"), ("vm", "a")), _below_each_other),
    **dict.fromkeys((("matmul", "a"), ("matmul", "b")), lambda x: x.reshape(-1, *x.shape[-2:])),
}


def stale_saved(node: Node, name: str, value: Any, counter: Version, version: int, position: int | None = None) -> RuntimeError:
    """The error for a value that was changed in place after a row had saved it."""
    from whygrad.core.node import Node as NodeClass
    from whygrad.core.node import row_node

    row = type(node).layout.row
    if name in row.output_names:
        return stale_value(node, value, counter, version, node, row.output_names.index(name))
    if (row.name, name) in SAVED_AS_VIEWS:
        return stale_value(node, SAVED_AS_VIEWS[row.name, name](value), counter, version, "AsStrided", 0)
    i = row.inputs.index(name) if position is None else position
    producer, number = row_node(node.edges[i])
    writer = getattr(counter, "writer", None)
    rewritten = None if writer is None else writer()
    # torch names the op that computed the tensor last: the view op applied to the written base, or the write.
    if isinstance(producer, NodeClass) and (hasattr(producer, "steps") or (hasattr(producer, "layout")
                                                                           and producer.layout.row.view)):
        return stale_value(node, value, counter, version, "AsStrided", 0)
    if rewritten is not None:
        return stale_value(node, value, counter, version, rewritten, 0)
    return stale_value(node, value, counter, version, producer, number)


def stale_value(node: Node | None, value: Any, counter: Version, version: int, producer: Any, number: int) -> RuntimeError:
    """The error for a value saved by `node`, output `number` of `producer` (a node, a name, or None if unknown)."""
    from whygrad.core.modes import process_state
    from whygrad.core.node import Node as NodeClass
    from whygrad.functional.c_names import type_string

    name = op_name(producer) if isinstance(producer, NodeClass) else producer if isinstance(producer, str) else None
    origin = "" if name is None else f", which is output {number} of {name},"
    # The saved value may be a copy in another dtype.
    written_dtype = getattr(counter, "dtype", value.dtype)
    kind = type_string(dtypes.FROM_NUMPY[written_dtype])
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
    return noted(error, "inplace_saved", node, counter.site)  # type: ignore[no-any-return]


def op_name(node: Node) -> str:
    """A node's name as in torch's messages: without "Backward0"."""
    name, backward, number = type(node).__name__.rpartition("Backward")
    if number and not number.isdigit():  # CopyBackwards
        return f"torch::autograd::{type(node).__name__}"
    return name + number.lstrip("0") if backward else node.name()


CREATE_GRAPH_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
    "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
    "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the "
    "leak.")


def user_stacklevel() -> int:
    """The `stacklevel` with which a warning of the calling function names the nearest frame outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_internal(frame):
        frame, level = frame.f_back, level + 1
    return level


def no_grad_fn(index: int, t: Any) -> Any:
    return noted(RuntimeError(NO_GRAD_FN.format(index=index)), "no_grad_fn", t)


def non_scalar_backward(t: Any) -> Any:
    return noted(RuntimeError("grad can be implicitly created only for scalar outputs"), "non_scalar_backward", t)


def gradient_shape(index: int, g: Any, shape: tuple[int, ...]) -> Any:
    return noted(RuntimeError(f"Mismatch in shape: grad_output[{index}] has a shape of {g.shape} and output[{index}] has a "
                              f"shape of torch.Size({list(shape)})."), "gradient_shape", g._array.shape, shape)


def unused_input(index: int, t: Any) -> Any:
    return noted(RuntimeError(f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                              "allow_unused=True if this is the desired behavior."), "unused_input", index, t)


def leaf_inplace(t: Any, *, view: bool) -> Any:
    return noted(RuntimeError(LEAF_VIEW_INPLACE if view else LEAF_INPLACE), "leaf_inplace", view)


def without_derivative(error: Exception) -> None:
    """Add a note that names the node whose row has no derivative, after a backward that failed in it."""
    if getattr(error, "__notes__", None) or not str(error).startswith("derivative for aten::"):
        return
    traceback = error.__traceback__
    while traceback is not None:
        node = traceback.tb_frame.f_locals.get("node")
        if hasattr(node, "site_code"):
            noted(error, "without_derivative", node)
            return
        traceback = traceback.tb_next


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
    from whygrad.core.node import row_node

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
