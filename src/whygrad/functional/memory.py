"""How a tensor lies in memory: copies, strides, sizes, and any other layout over the same memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.numpy_layout import address, storage
from whygrad.base.door import MISSING, Spec, call
from whygrad.base.layouts import channels_last, channels_last_3d, contiguous_format, preserve_format
from whygrad.base.meta_array import MetaArray
from whygrad.core.door import is_batched
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump
from whygrad.functional.arguments import read_int, read_sizes, read_tensor
from whygrad.functional.creation import CHANNELS_LAST
from whygrad.functional.determinism import determinism, fill_uninitialized
from whygrad.functional.run import METHODS, public, rows
from whygrad.functional.shape import dim_of, sizes

# Shape, strides and offset, counted in elements.
Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


@public()
def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A copy, which passes gradients on to the original."""
    return rows.clone(read_tensor("clone", input), order=_order(memory_format, input))


@public(function=False)
def contiguous(self: Any, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in order, else a copy where they do."""
    if (memory_format is contiguous_format and self._array.flags.c_contiguous) or is_contiguous(self, memory_format):
        return self
    return rows.clone(self, order=_order(memory_format, self))


def _order(memory_format: Any, input: Tensor) -> str:
    if memory_format is contiguous_format:
        return "C"
    if memory_format in (channels_last, channels_last_3d):
        rank = 4 if memory_format is channels_last else 5
        if grad_state.levels and is_batched(input):
            name = "ChannelsLast" if rank == 4 else "ChannelsLast3d"
            raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
                               f"torch.preserve_format or torch.contiguous_format (got {name})")
        if input._array.ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {str(memory_format).removeprefix('torch.')} format")
        return "channels last"
    return "K"


@public(function=False)
def is_contiguous(self: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the elements lie in memory one after the other, in order."""
    array = self._array
    if memory_format in (channels_last, channels_last_3d):
        rank = 4 if memory_format is channels_last else 5
        if grad_state.levels and is_batched(self):
            raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than "
                               "torch.contiguous_format")
        return bool(array.ndim == rank and array.transpose(0, *range(2, rank), 1).flags.c_contiguous)
    return bool(array.flags.c_contiguous)


def _short_size(spec: Spec) -> Any:
    def size(self: Any, dim: Any = MISSING, /, *args: Any, **kwargs: Any) -> Any:
        if not (spec.handlers or args or kwargs):
            if dim is MISSING:
                return self.shape
            shape = self._array.shape
            if type(dim) is int and 0 <= dim < len(shape):
                return shape[dim]
        return call(spec, (self, dim, *args), kwargs)

    return size


@public(function=False, short=_short_size)
def size(self: Any, dim: Any = None) -> Any:
    """The shape, or the length of one dimension."""
    return self.shape if dim is None else self._array.shape[_existing_dim("size", self, dim)]


@public(function=False)
def stride(self: Any, dim: Any = None) -> Any:
    """Elements between neighbours, along each dimension or one."""
    strides = element_strides(self._array)
    return strides if dim is None else strides[_existing_dim("stride", self, dim)]


def _existing_dim(function: str, self: Tensor, dim: Any) -> int:
    axis = dim_of(function, self, dim)
    if not self._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis


@public()
def numel(input: Any) -> int:
    """The number of elements."""
    return int(read_tensor("numel", input)._array.size)


@public(function=False)
def dim(self: Any) -> int:
    """The number of dimensions."""
    return int(self._array.ndim)


def ndimension(self: Any) -> int:
    return self.dim()  # type: ignore[no-any-return]


METHODS["nelement"] = METHODS["numel"]
METHODS["ndimension"] = ndimension


@public(function=False)
def storage_offset(self: Any) -> int:
    """How many elements into its memory the tensor begins."""
    return storage(self._memory)[1] // self._memory.itemsize


@public(function=False)
def data_ptr(self: Any) -> int:
    """The address of the first element."""
    return address(self._memory) if self._memory.size and type(self._memory) is not MetaArray else 0


@public()
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Any shape and strides over the memory in which the tensor lies."""
    array = read_tensor("as_strided", input)._memory
    shape, strides = read_sizes("as_strided", size, "size", 2), read_sizes("as_strided", stride, "stride", 3)
    if storage_offset is not None:
        storage_offset = read_int("as_strided", "storage_offset", 4, storage_offset)
    owner, start = storage(array)
    here = start // array.itemsize
    offset = here if storage_offset is None else storage_offset
    if grad_state.levels and is_batched(input):
        check_within_element(input, (shape, strides, offset))
    if len(shape) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if strides and min(strides) < 0:
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                           f"{list(strides)}")
    if shape and min(shape) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(strides)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    needed = (offset + 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])) * array.itemsize
    if 0 not in shape and needed > owner.nbytes:
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and "
                           f"itemsize {array.itemsize} requiring a storage size of {needed} are out of bounds for "
                           f"storage of size {owner.nbytes}")
    return rows.as_strided(input, geometry=(shape, strides, offset),
                           x_geometry=(array.shape, element_strides(array), here))


def check_within_element(element: Any, geometry: Geometry) -> None:
    """Under vmap: refuse what would reach into other elements of the batch."""
    array = element._array
    own = array.shape, element_strides(array), storage(array)[1] // array.itemsize
    shape, strides, offset = geometry
    if len(shape) != len(strides):
        raise RuntimeError("Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
                           f"{list(shape)} and stride {list(strides)}")
    if 0 in shape or (0 not in own[0] and own[2] <= offset and end_of(geometry) <= end_of(own)):
        return
    call = f"result = tensor.as_strided({list(shape)}, {list(strides)}, {offset})"
    text = (f"{call} can access memory outside of `tensor`. `result` can access some memory in range [{offset}, "
            f"{end_of(geometry)}], but `tensor` can only access some memory in range [{own[2]}, {end_of(own)}]. This is not "
            "supported inside of vmap, please try to rewrite the `as_strided` call as a sequence of PyTorch view operations")
    if element._level.randomness == "refused":  # torch._vmap_internals, where some spaces are missing
        text = text.replace(call + " ", call.replace("], ", "],")).replace("some memory", "somememory", 1).replace(
            "try to rewrite", "try torewrite")
    raise RuntimeError(text)


def end_of(geometry: Geometry) -> int:
    """The position in memory behind the last element."""
    shape, strides, offset = geometry
    return offset + sum([(n - 1) * step for n, step in zip(shape, strides, strict=True) if n]) + 1


def element_strides(array: Any) -> tuple[int, ...]:
    if not array.size and not any(array.strides) and getattr(array.base, "size", 0) != 1:
        # NumPy gives arrays without elements strides of 0: those of a contiguous one are torch's but for permuted views, and for
        # a single element that was expanded.
        return tuple([math.prod([max(n, 1) for n in array.shape[axis + 1:]]) for axis in range(array.ndim)])
    itemsize = array.itemsize
    return tuple([s // itemsize for s in array.strides])


@public(function=False)
def resize_(self: Any, *given: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Another shape over the same memory, from where the tensor begins; over new memory if it does not suffice."""
    return _resize(self, sizes("resize_", given, size), memory_format)


@public(function=False)
def resize_as_(input: Any, the_template: Any, *, memory_format: Any = None) -> Tensor:
    template = read_tensor("resize_as_", the_template, "the_template", 2)
    if memory_format is preserve_format:
        memory_format = next((known for known in CHANNELS_LAST if template._array.ndim == CHANNELS_LAST[known] and
                              not template.is_contiguous() and template.is_contiguous(memory_format=known)), None)  # type: ignore[attr-defined]
    return _resize(read_tensor("resize_as_", input), template._array.shape, memory_format)


def _resize(self: Tensor, shape: tuple[int, ...], memory_format: Any = None) -> Tensor:
    if self.requires_grad and not grad_state.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if shape and (min(shape) < 0 or math.prod(shape) >= 2**63):
        raise RuntimeError("numel: integer multiplication overflow")
    array = self._memory
    if 0 in shape and math.prod(filter(None, shape)) >= 2**63:
        raise RuntimeError("Stride calculation overflowed")
    if math.prod(shape) * array.itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if array.shape == shape and memory_format is None:
        return self
    owner, start = storage(array)
    count = (owner.nbytes - start) // array.itemsize if owner.size else 0
    line = np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))
    if math.prod(shape) > count:
        longer = np.zeros(math.prod(shape), array.dtype)
        if determinism.enabled:
            fill_uninitialized(longer)
        longer[:count] = line
        line = longer
    line = line[:math.prod(shape)]
    if memory_format in CHANNELS_LAST:
        if len(shape) != CHANNELS_LAST[memory_format]:
            raise RuntimeError(f"required rank {CHANNELS_LAST[memory_format]} tensor to use {str(memory_format)[6:]} format")
        self._memory = np.moveaxis(line.reshape(shape[0], *shape[2:], shape[1]), -1, 1)
    else:
        self._memory = line.reshape(shape)
    bump(self)
    return self
