"""torch's properties of a tensor: its gradient, its place in the graph, its data. They are hung onto Tensor."""

from __future__ import annotations

import weakref
from sys import getrefcount
from typing import Any

import numpy as np

from whygrad.base import dtypes, errors
from whygrad.base.devices import CPU, META, device
from whygrad.base.door import Spec, dispatch
from whygrad.base.meta_array import MetaArray
from whygrad.base.size import Size
from whygrad.base.version import InferenceVersion, Swapped
from whygrad.core.node import extra, row_node, shown
from whygrad.core.tensor import NO_NODE, Tensor, cut, grad_fn, requires_grad, set_requires_grad, wrap
from whygrad.functional.conj_neg import resolved
from whygrad.functional.overriding import is_plain_call


def read_grad(t: Tensor) -> Tensor | None:
    """`.grad`, with torch's warning if there will never be one."""
    if t._grad is None:
        node = t._node if t._view is None else t._view.node
        if node is not None and not t.retains_grad:
            errors.warn_non_leaf_grad()
    return t._grad


# Properties that programs read often look at the door themselves, to save a call; `doored_property` wraps the others.
REQUIRES_GRAD = Spec("Tensor.requires_grad.__get__", requires_grad)
GRAD = Spec("Tensor.grad.__get__", read_grad)
SHAPE = Spec("Tensor.shape.__get__", lambda t: Size(t._array.shape))
DTYPE = Spec("Tensor.dtype.__get__", lambda t: dtypes.FROM_NUMPY[t._array.dtype])
NDIM = Spec("Tensor.ndim.__get__", lambda t: t._array.ndim)


class TensorProperties:
    """These become attributes of Tensor."""

    @property
    def requires_grad(self: Any) -> bool:
        if REQUIRES_GRAD.handlers and not is_plain_call(REQUIRES_GRAD, self):
            return dispatch(REQUIRES_GRAD, (self,), {})  # type: ignore[no-any-return]
        if self._node is not None:
            return True
        return self._indirect and requires_grad(self)

    @requires_grad.setter
    def requires_grad(self: Any, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if grad_fn(self) is not None:
            raise errors.noted(RuntimeError(errors.CHANGE_NON_LEAF_TRUE if value else errors.CHANGE_NON_LEAF),
                               "flag_of_non_leaf", self, value)
        if value and self._array.dtype.kind not in "fcV":
            raise errors.noted(RuntimeError("only Tensors of floating point and complex dtype can require gradients"),
                               "integers_require_grad", self.dtype)
        set_requires_grad(self, value)

    @requires_grad.deleter
    def requires_grad(self: Any) -> None:
        raise RuntimeError("requires_grad must be a bool")

    @property
    def is_leaf(self: Any) -> bool:
        return grad_fn(self) is None

    @property
    def grad_fn(self: Any) -> Any:
        node = row_node(grad_fn(self))[0]
        if node is not None:
            # Kept for messages about the node, which does not keep its result.
            node.output = self._array.shape, self._array.dtype
        return shown(node)

    @property
    def _grad_fn(self: Any) -> Any:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self: Any) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def output_nr(self: Any) -> int:
        return row_node(grad_fn(self))[1]

    @property
    def grad(self: Any) -> Tensor | None:
        if GRAD.handlers and not is_plain_call(GRAD, self):
            return dispatch(GRAD, (self,), {})  # type: ignore[no-any-return]
        if self._grad is None and (self._node is not None or self._view is not None):
            return read_grad(self)
        return self._grad

    @grad.setter
    def grad(self: Any, value: Any) -> None:
        check_assigned_grad(self, value)
        if type(value) is not Tensor and value is not None:
            value = resolved(value)  # to those who add to it, it must be its own memory
        self._grad = value
        self.meta.note_grad("assigned" if value is not None else "cleared")

    @grad.deleter
    def grad(self: Any) -> None:
        self._grad = None

    @property
    def _backward_hooks(self: Any) -> dict[int, Any] | None:
        """The hooks registered on this tensor."""
        node = grad_fn(self)
        if node is None:
            hooks = None if self._meta is None else self._meta.hooks
        else:
            hooks = None if node.extra is None else node.extra.tensor_hooks
        return hooks if hooks or type(hooks) is not dict else None

    @_backward_hooks.setter
    def _backward_hooks(self: Any, hooks: dict[int, Any]) -> None:
        node = grad_fn(self)
        if node is None:
            self.meta.hooks = hooks
        else:
            extra(node).tensor_hooks = hooks

    @_backward_hooks.deleter
    def _backward_hooks(self: Any) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    @property
    def _post_accumulate_grad_hooks(self: Any) -> dict[int, Any] | None:
        """The hooks that `register_post_accumulate_grad_hook` has registered."""
        return None if self._meta is None else self._meta.post_accumulate_hooks or None

    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self: Any, hooks: dict[int, Any] | None) -> None:
        self.meta.post_accumulate_hooks = {} if hooks is None else hooks

    @property
    def _version(self: Any) -> int:
        version = self._lazy_version
        if type(version) is InferenceVersion:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if version is None else int(version.value)

    @property
    def _base(self: Any) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self: Any) -> bool:
        return self._view is not None

    def is_inference(self: Any) -> bool:
        return type(self._lazy_version) is InferenceVersion

    @property
    def data(self: Any) -> Tensor:
        result = wrap(self._array)
        result._cause = cut(self, "detach", ".data")
        return result

    @data.setter
    def data(self: Any, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and value._array.dtype.kind not in "fcV":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if value.layout is not self.layout:  # type: ignore[attr-defined]
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                               "tensor type.")
        old = self._array
        self._array = value._array
        if self._meta is not None and old.dtype != self._array.dtype:
            self._meta.accumulator = NO_NODE  # recorded graphs lead to what it was
        # References: `old` and the argument. If there are more, it may have been saved for backward.
        if (getrefcount(old) > 2 or old.shape != self._array.shape) and type(self._lazy_version) is not InferenceVersion:
            self._version_counter.value = swapped(self._version_counter.value, old, self._array)

    @data.deleter
    def data(self: Any) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def device(self: Any) -> device:
        return CPU if type(self._array) is not MetaArray else META

    @property
    def shape(self: Any) -> Size:
        if SHAPE.handlers and not is_plain_call(SHAPE, self):
            return dispatch(SHAPE, (self,), {})  # type: ignore[no-any-return]
        return Size(self._array.shape)

    @property
    def dtype(self: Any) -> dtypes.dtype:
        if DTYPE.handlers and not is_plain_call(DTYPE, self):
            return dispatch(DTYPE, (self,), {})  # type: ignore[no-any-return]
        return dtypes.FROM_NUMPY[self._array.dtype]

    @property
    def ndim(self: Any) -> int:
        if NDIM.handlers and not is_plain_call(NDIM, self):
            return dispatch(NDIM, (self,), {})  # type: ignore[no-any-return]
        return self._array.ndim

    @property
    def _numbers(self: Any) -> np.ndarray:
        """All numbers behind this tensor: more than its shape says, if it stands for a batch (see autograd/batched.py)."""
        return self._array

    def _with_numbers(self: Any, array: np.ndarray) -> Tensor:
        """A constant with other numbers, made from `_numbers`; a change of this tensor is still noticed."""
        result = wrap(array)
        result._lazy_version = self._version_counter
        return result


def check_assigned_grad(t: Tensor, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = t.dtype if t._meta is None or t._meta.grad_dtype is ... else t._meta.grad_dtype
    if wanted is not None and value.dtype is not wanted:
        raise errors.noted(RuntimeError(errors.grad_dtype_mismatch(value.dtype, wanted)), "assigned_gradient", t)
    if value._array.shape != t._array.shape:
        raise errors.noted(RuntimeError(
            f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size '{list(t._array.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"), "assigned_gradient", t)


def swapped(version: int, old: np.ndarray, new: np.ndarray) -> Swapped:
    """The version of a tensor whose array was `old` until now."""
    result = Swapped(version)
    earlier = version.newer if isinstance(version, Swapped) else []
    result.newer = [(ref, new if array is old else array) for ref, array in earlier if ref() is not None]
    result.newer.append((weakref.ref(old), new))
    return result


for _name, _member in vars(TensorProperties).items():
    if not _name.startswith("__"):
        setattr(Tensor, _name, _member)
