"""The older ways to tensors and their memory: `x.new(2, 3)`, `x.storage()`, `x.set_(...)`, set_default_tensor_type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.core.modes import grad_state
from whygrad.core.tensor import NO_NODE, Tensor
from whygrad.core.tensor import source as source_of
from whygrad.core.write import bump, check_inplace
from whygrad.functional.arguments import check_place, invalid_combination, read_dtype
from whygrad.functional.error_node import Error
from whygrad.functional.fresh import fresh, warn_once
from whygrad.functional.run import public
from whygrad.functional.storage import DEPRECATED, TypedStorage, UntypedStorage, storage_class


@public(function=False)
def storage(self: Tensor) -> TypedStorage:
    """The memory of this tensor and its views, element by element."""
    warn_once(DEPRECATED)
    return TypedStorage.of(self._memory)


@public(function=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of this tensor: equal storages mean shared memory."""
    return UntypedStorage.of(self._memory)


@public(function=False)
def storage_type(self: Tensor) -> Any:
    """The class of this tensor's storage, torch.FloatStorage for float32."""
    return storage_class(self.dtype)


@public(method=False)
def is_storage(obj: Any) -> bool:
    """Whether the object is a storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


@public(function=False)
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Let the tensor look at other memory: that of another tensor, or a storage with sizes and strides."""
    check_inplace(self, (self,))
    if isinstance(source, (Tensor, TypedStorage)) and source.dtype is not self.dtype:
        if isinstance(source, Tensor):
            raise RuntimeError(f"Could not set tensor of type {c_name(source.dtype)} to a tensor of type {c_name(self.dtype)}")
        raise RuntimeError(f"Expected a Storage of type {c_name(self.dtype)} or an UntypedStorage, but got type "
                           f"{source.dtype.scalar_name} for argument 1 'storage'")
    recorded = grad_state.grad and (self.requires_grad or (isinstance(source, Tensor) and source.requires_grad))
    if source is None:
        self._memory = np.empty(0, self._array.dtype)
    elif isinstance(source, Tensor) and size is None:
        self._memory = source._memory
    elif isinstance(source, (Tensor, TypedStorage, UntypedStorage)):
        held = UntypedStorage.of(source._memory) if isinstance(source, Tensor) else source.untyped()
        self._memory = on_storage(held, self.dtype, storage_offset, size, stride)
    else:
        raise invalid_combination("set_", source)
    if recorded:
        edges = tuple([source_of(t) for t in (self, source) if isinstance(t, Tensor)])
        self._node, self._view, self._indirect = _no_derivative_of_set(edges), None, False
    elif self.requires_grad and self._view is None and self._node is None:
        self.meta.accumulator = NO_NODE  # recorded graphs lead to what it was
    bump(self)
    return self


def on_storage(held: UntypedStorage, dtype: dtypes.dtype, offset: int = 0, size: Any = None, stride: Any = None) -> np.ndarray:
    """An array on the memory of a storage, which grows if it is too small."""
    item = dtype.itemsize
    shape = (max(held.nbytes() // item - offset, 0),) if size is None else tuple(size)
    strides = _row_major(shape) if stride is None else tuple(stride)
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = 0 if 0 in shape else (offset + 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))) * item
    if needed > held.nbytes():
        held.resize_(needed)
    held._is_used = True
    if not needed:
        return np.empty(shape, dtype.numpy)
    return np.ndarray(shape, dtype.numpy, held.bytes, offset * item, [step * item for step in strides])


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([math.prod(shape[i + 1:]) for i in range(len(shape))])


@public(method=False)
def from_file(filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None,
              device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A tensor on the memory of a file. What is written to it goes into the file if it is `shared`."""
    check_place("from_file", layout, device, pin_memory)
    wanted = read_dtype("from_file", dtype, dtypes.get_default_dtype())
    return fresh(on_storage(UntypedStorage.from_file(filename, bool(shared), size * wanted.itemsize), wanted), requires_grad)


def _no_derivative_of_set(edges: tuple[Any, ...]) -> Any:
    """A node that refuses: where the values come from now has no history."""
    def raw(self: Any, g: Any, edges: tuple[Any, ...]) -> Any:
        raise RuntimeError(self.text)

    kind = type("NotImplemented", (Error,), {"__slots__": (), "__module__": "torch.autograd", "raw": raw, "graph": raw})
    return kind("derivative for set_ is not implemented", edges, None)
