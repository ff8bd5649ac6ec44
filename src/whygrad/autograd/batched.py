"""Batched tensors: inside vmap a program sees a tensor with the shape of one element of the batch.

A `BatchedTensor` wraps the *whole*, a tensor whose first axis is the batch. Its own `_array` only provides the shape, dtype
and strides of one element; reading its values raises.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from whygrad.autograd.function_levels import TransformLevel
from whygrad.backends import tensor as xp
from whygrad.base.unread_array import UnreadArray, without_memory
from whygrad.core.door import with_levels
from whygrad.core.modes import grad_state
from whygrad.core.node import row_node, shown
from whygrad.core.tensor import Tensor, View, grad_fn

ITEM = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
        "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
        "internals, please file a bug report.")
CONTROL_FLOW = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


class ElementArray(UnreadArray):
    """Shape, dtype and strides of one element of a batch."""

    def refuse(self, what: str) -> Exception:
        return RuntimeError({"item": ITEM, "bool": CONTROL_FLOW}.get(what, NO_STORAGE))


def _one_of(whole: np.ndarray) -> ElementArray:
    if not whole.shape[0]:
        return without_memory(whole.shape[1:], whole.dtype, whole.strides[1:]).view(ElementArray)
    return np.ndarray.__getitem__(whole, (0, ...)).view(ElementArray)  # type: ignore[no-any-return]


class BatchedTensor(Tensor):
    """Represents every element of a batch at once."""

    __slots__ = ("_dim", "_level", "_whole")

    _whole: Tensor
    _level: BatchLevel
    # The batch dimension in the tensor given to vmap: custom Functions and repr show the whole with it.
    _dim: int

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        return self._whole.requires_grad

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        return grad_fn(self._whole) is None

    @property
    def grad_fn(self) -> Any:
        return shown(row_node(grad_fn(self._whole))[0])

    @property  # type: ignore[misc]
    def data(self) -> Tensor:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Any) -> None:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")

    @property
    def _numbers(self) -> np.ndarray:  # type: ignore[override]
        return self._whole._numbers

    def _with_numbers(self, array: np.ndarray) -> Tensor:
        return batched(self._whole._with_numbers(array), self._level)

    def __bool__(self) -> NoReturn:
        raise RuntimeError(CONTROL_FLOW)

    def data_ptr(self) -> int:
        raise RuntimeError(NO_STORAGE)

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(NO_STORAGE)

    def untyped_storage(self) -> Any:
        raise NotImplementedError("Cannot access storage of BatchedTensorImpl")

    def item(self) -> NoReturn:
        raise RuntimeError(ITEM)

    def resize_(self, *sizes: Any) -> Tensor:
        raise NotImplementedError("vmap: resize_() of a batch is not supported")

    def __repr__(self) -> str:
        return self._level.shown(self)


def batched(whole: Tensor, level: BatchLevel, dim: int = 0) -> BatchedTensor:
    """A batched tensor over `whole`, whose first axis is the batch; it was axis `dim` of the user's tensor."""
    t = object.__new__(BatchedTensor)
    t._array = _one_of(whole._array)
    t._node = t._grad = t._meta = None
    t._view: View | None = None  # type: ignore[misc]
    t._indirect = False
    t._lazy_version = whole._version_counter
    t._cause = whole._cause
    t._whole = whole
    t._level = level
    t._dim = dim
    return t


def moved(x: Tensor, axis: int, to: int) -> Tensor:
    """`x` with one axis moved to another position."""
    if axis == to:
        return x
    order = [i for i in range(x._array.ndim) if i != axis]
    order.insert(to, axis)
    return xp.permute(x, axes=tuple(order))  # type: ignore[no-any-return]


def spread(x: Tensor, size: int) -> Tensor:
    """`x` expanded by a first axis of length `size`: the same values for each element of a batch."""
    return xp.expand(x, shape=(size, *x._array.shape))  # type: ignore[no-any-return]


class BatchLevel(TransformLevel):
    """One running vmap. How it applies rows and functions: batching/__init__.py."""

    is_batch = True

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size = size
        self.randomness = randomness

    def holds(self, t: Tensor) -> bool:
        return type(t) is BatchedTensor and t._level is self

    def opened(self, inputs: Any) -> tuple[list[Any], list[bool]]:
        """The inputs with batched tensors of this level unwrapped, and which of them have the batch as first axis."""
        has_batch = [type(x) is BatchedTensor and x._level is self for x in inputs]
        return [x._whole if has else x for x, has in zip(inputs, has_batch, strict=True)], has_batch

    def closed(self, results: Any) -> Any:
        """Results of batching rules, wrapped as batched tensors."""
        if isinstance(results, Tensor):
            return batched(results, self)
        return [None if t is None else batched(t, self) for t in results]

    def inside(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function on batched tensors of this level, with the level active."""
        return with_levels((*grad_state.levels, self), function, *args, **kwargs)

    def shown(self, t: Tensor) -> str:
        """The repr of a tensor of this level."""
        raise NotImplementedError

    def dynamic_shape(self, name: str) -> Exception:
        """The error for an op whose result may have another shape for each element."""
        return RuntimeError(f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
                            f"aten::{name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
                            "feature.")

    def no_out(self, name: str) -> Exception:
        return RuntimeError(f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or "
                            "view ops.")


def with_batches_of(model: Any, made: Tensor, *, laid_out_alike: bool = False) -> Tensor:
    """`made`, a tensor created like `model`, copied for each element of the model's batches.

    With `laid_out_alike` the copies have the memory order of the model; otherwise the outermost batch comes first.
    """
    levels = []
    while isinstance(model, BatchedTensor):
        levels.append(model._level)
        model = model._whole
    for level in levels:
        made = with_levels((), _copies, made, level.size)
    if laid_out_alike and made._array.strides != model._array.strides:
        array = np.empty_like(model._array, dtype=made._array.dtype)
        array[...] = made._array
        made = made._with_numbers(array)
    for level in reversed(levels):
        made = batched(made, level)
    return made


def _copies(made: Tensor, size: int) -> Tensor:
    return spread(made, size).clone()  # type: ignore[attr-defined,no-any-return]


def has_batches_of(t: Tensor, model: Tensor) -> bool:
    """Whether `t` has all the batches of `model`, so that the values of `model` can be written into it."""
    levels = []
    while isinstance(t, BatchedTensor):
        levels.append(t._level)
        t = t._whole
    while isinstance(model, BatchedTensor):
        if model._level not in levels:
            return False
        model = model._whole
    return True
