"""The older ways to tensors and their memory: `x.new(2, 3)`, `x.storage()`, `x.set_(...)`, set_default_tensor_type."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.core.modes import grad_state
from whygrad.core.tensor import NO_NODE, Tensor
from whygrad.core.tensor import source as source_of
from whygrad.core.write import bump, check_inplace
from whygrad.functional.arguments import invalid_combination
from whygrad.functional.convert import UntypedStorage
from whygrad.functional.error_node import Error
from whygrad.functional.fresh import warn_once
from whygrad.functional.run import public

DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
    "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()")


class TypedStorage(UntypedStorage):
    """The memory behind a tensor, as a line of its elements."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array)
        self._line = self.bytes[:self._array.nbytes // array.itemsize * array.itemsize].view(array.dtype)

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[self._line.dtype]

    def __len__(self) -> int:
        return len(self._line)

    size = __len__

    def __getitem__(self, index: Any) -> Any:
        found = self._line[index]
        return found.tolist() if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._line[index] = value

    def tolist(self) -> list[Any]:
        return self._line.tolist()

    def element_size(self) -> int:
        return self._line.itemsize

    def untyped(self) -> UntypedStorage:
        return UntypedStorage(self._array)


@public(function=False)
def storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor and its views, element by element."""
    warn_once(DEPRECATED)
    return TypedStorage(self._memory)


@public(function=False)
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Let the tensor look at other memory: that of another tensor, or a storage with sizes and strides."""
    check_inplace(self, (self,))
    if isinstance(source, Tensor) and source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {c_name(source.dtype)} to a tensor of type {c_name(self.dtype)}")
    recorded = grad_state.grad and (self.requires_grad or (isinstance(source, Tensor) and source.requires_grad))
    if source is None:
        self._memory = np.empty(0, self._array.dtype)
    elif isinstance(source, Tensor) and size is None:
        self._memory = source._memory
    elif isinstance(source, (Tensor, TypedStorage)):
        line = (source if isinstance(source, TypedStorage) else TypedStorage(source._memory))._line
        shape = (len(line),) if size is None else tuple(size)
        strides = np.empty(shape, np.bool_).strides if stride is None else tuple(stride)
        self._memory = np.lib.stride_tricks.as_strided(line[storage_offset:], shape, [n * line.itemsize for n in strides])
    else:
        raise invalid_combination("set_", source)
    if recorded:
        edges = tuple([source_of(t) for t in (self, source) if isinstance(t, Tensor)])
        self._node, self._view, self._indirect = _no_derivative_of_set(edges), None, False
    elif self.requires_grad and self._view is None and self._node is None:
        self.meta.accumulator = NO_NODE  # recorded graphs lead to what it was
    bump(self)
    return self


def _no_derivative_of_set(edges: tuple[Any, ...]) -> Any:
    """A node that refuses: where the values come from now has no history."""
    def raw(self: Any, g: Any, edges: tuple[Any, ...]) -> Any:
        raise RuntimeError(self.text)

    kind = type("NotImplemented", (Error,), {"__slots__": (), "__module__": "torch.autograd", "raw": raw, "graph": raw})
    return kind("derivative for set_ is not implemented", edges, None)
