"""Tensors in memory that several processes share: `share_memory_` before a process is started with the tensor.

The memory is Python's own for this purpose (multiprocessing.heap), which forked processes inherit and spawned ones are
handed. What goes through a queue is copied.
"""

from __future__ import annotations

from multiprocessing.context import get_spawning_popen
from multiprocessing.heap import BufferWrapper
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor


class Block:
    """A piece of shared memory, which lives as long as the arrays on it: it is their `base`."""

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper
        view = np.frombuffer(wrapper.create_memoryview(), np.uint8)
        self.__array_interface__ = view.__array_interface__


def block_of(array: np.ndarray) -> Block | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Block) else None


def is_shared(tensor: Tensor) -> bool:
    return block_of(tensor._array) is not None


def share(tensor: Tensor) -> None:
    """Move the tensor's values there, once."""
    array = tensor._array
    if is_shared(tensor) or not array.nbytes:
        return
    if tensor._view is not None:
        raise NotImplementedError("share_memory_(): the tensor is a view; call it on the tensor that owns the memory")
    moved = np.asarray(Block(BufferWrapper(array.nbytes))).view(array.dtype).reshape(array.shape)
    moved[...] = array
    tensor._array = moved


def _attach(wrapper: Any, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    memory = np.asarray(Block(wrapper))[offset:]
    return np.lib.stride_tricks.as_strided(memory[:memory.size // dtype.itemsize * dtype.itemsize].view(dtype), shape, strides)


def _reduce(array: np.ndarray) -> Any:
    """How an array is handed to another process."""
    block = block_of(array)
    if block is None or get_spawning_popen() is None:
        return array.__reduce_ex__(2)
    offset = array.__array_interface__["data"][0] - block.__array_interface__["data"][0]
    return _attach, (block.wrapper, array.dtype, array.shape, array.strides, offset)


ForkingPickler.register(np.ndarray, _reduce)
