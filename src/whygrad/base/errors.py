"""Autograd's error messages, word for word torch's. Those about nodes of the graph are in autograd/node_errors.py.

The message is torch's; what whygrad knows beyond it (the lines that saved, overwrote or freed a value) is attached as a
note, so that `str(error)` equals torch's.
"""

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

from whygrad.base import dtypes
from whygrad.base.frames import is_internal
from whygrad.base.on_demand import on_demand
from whygrad.why import record

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

DEEPCOPY_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001")

NO_GRAD_FN = "element {index} of tensors does not require grad and does not have a grad_fn"


def warn_non_leaf_grad() -> None:
    warn(NON_LEAF_GRAD)


def grad_dtype_mismatch(given: Any, wanted: Any) -> str:
    return (f"attempting to assign a gradient with dtype '{dtypes.c_name(given)}' to a tensor with grad_dtype "
            f"'{wanted.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with "
            "caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match.")


def explained(error: Exception, category: str, note: str, *sites: Any) -> Any:
    """Attach an explanation. `sites` are the source lines involved, root cause first."""
    error.add_note(note)
    if record.watching is not None:
        record.watching.error(error, category, note.removeprefix("why: "), sites)
    return error


def noted(error: Exception, note: str, *about: Any) -> Any:
    """Attach the note that the function `note` of why/error_notes.py composes; it is loaded after the first failure."""
    try:
        category, text, sites = on_demand.compose_note(note, *about)
    except Exception:  # a failure in the explanation must not replace the error itself
        return error
    return explained(error, category, text, *sites)


def graph_freed(node: Any) -> Any:
    return noted(RuntimeError(BACKWARD_TWICE), "graph_freed", node, getattr(node, "freed", None))


CREATE_GRAPH_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
    "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
    "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the "
    "leak.")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, at the nearest frame outside the package."""
    warnings.warn(message, category, stacklevel=user_stacklevel())


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


def out_of_memory(error: MemoryError) -> RuntimeError:
    """torch's error for NumPy's, which knows shape and dtype of the array."""
    shape, dtype = getattr(error, "shape", ()), getattr(error, "dtype", None)
    return cannot_allocate(None if dtype is None else math.prod(shape) * dtype.itemsize)


def cannot_allocate(size: int | None) -> RuntimeError:
    wanted = "there is not enough" if size is None else f"you tried to allocate {size} bytes"
    return RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
                        f"{wanted}. Error code 12 (Cannot allocate memory)")


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
