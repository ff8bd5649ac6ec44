"""Arrays that tell a shape, a dtype and strides, and whose elements must not be read."""

from __future__ import annotations

import mmap
import sys
from typing import Any, NoReturn

import numpy as np


class UnreadArray(np.ndarray):
    """Shape, dtype and strides of a tensor whose elements are somewhere else, or nowhere. Reading them raises."""

    def refuse(self, what: str) -> Exception:
        """The error for an attempt to read elements: by `item`, as a `bool`, or in another way."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.refuse(ufunc.__name__)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.may_share_memory, np.shares_memory, np.empty_like, np.shape, np.ndim, np.size):
            return function(*[x.view(np.ndarray) if isinstance(x, UnreadArray) else x for x in args], **kwargs)
        raise self.refuse(function.__name__)


def _define_refusal(name: str) -> None:
    def refused(self: UnreadArray, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.refuse(name.strip("_"))

    setattr(UnreadArray, name, refused)


for _name in ("__bool__", "__getitem__", "__setitem__", "__iter__", "__float__", "__int__", "__complex__", "__index__", "item",
              "tolist", "astype", "copy", "take", "nonzero", "argmax", "argmin", "argsort", "sort", "searchsorted", "dot",
              "ravel", "flatten", "tobytes", "fill"):
    _define_refusal(_name)


NO_RESERVE = 0x4000  # MAP_NORESERVE, which the module has from Python 3.13 on
_reserved = np.empty(0, np.uint8)


def without_memory(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """An array whose elements are only addresses: nothing is allocated for them, and all such arrays share them.

    If they are read by mistake they are zeros, not a crash.
    """
    global _reserved
    dtype = np.dtype(dtype)
    if strides is None:
        strides = contiguous_strides(shape, dtype.itemsize)
    size = _span(shape, strides, dtype.itemsize)
    if size > _reserved.size:
        _reserved = _reserve(max(size, 1 << 30))
    return np.ndarray(shape, dtype, _reserved.data, 0, strides)


def _span(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    return itemsize + sum([(n - 1) * abs(step) for n, step in zip(shape, strides, strict=True) if n > 1])


def extent(array: np.ndarray) -> int:
    """The number of bytes from the first element of an array to the end of its last one."""
    return _span(array.shape, array.strides, array.itemsize) if array.size else 0


def _reserve(size: int) -> np.ndarray:
    if not sys.platform.startswith("linux"):  # memory that is not touched is not used there either, up to some size
        return np.zeros(size, np.uint8)
    try:
        return np.frombuffer(mmap.mmap(-1, size, flags=NO_RESERVE | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    except (OSError, OverflowError, ValueError):
        raise MemoryError(f"no {size} bytes of addresses") from None


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(reversed(strides))
