"""The arrays of tensors on the meta device: a shape, a dtype and strides, and no values.

While such arrays exist, rows are applied the general way, which asks for them (see core/modes.py); so programs without any pay
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base.on_demand import on_demand
from whygrad.base.unread_array import UnreadArray, without_memory

ITEM = "Tensor.item() cannot be called on meta tensors"
NO_DATA = "Cannot copy out of meta tensor; no data!"

# Called when the first such array comes into being (with True), and after the last one has gone.
on_change: list[Callable[[bool], None]] = []
_changing = threading.RLock()  # the last one may go at any moment, even while the first one is being made
_alive = 0


def _count(difference: int) -> None:
    global _alive
    with _changing:
        _alive += difference
        if _alive == max(difference, 0):
            for listener in on_change:
                listener(difference > 0)


class MetaArray(UnreadArray):
    """Without values: what is written into it is lost, and reading raises."""

    def __array_finalize__(self, origin: Any) -> None:
        _count(1)

    def __del__(self) -> None:
        _count(-1)

    def refuse(self, what: str) -> Exception:
        if what in ("item", "bool", "float", "int", "complex", "index"):
            return RuntimeError(ITEM)
        return NotImplementedError(f"{what} of a tensor on the meta device: it has no values")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.empty_like, np.zeros_like, np.ones_like, np.full_like):
            return like(args[0], kwargs.get("dtype"))
        return super().__array_function__(function, types, args, kwargs)

    def __repr__(self) -> str:
        return f"meta_array({self.shape}, {self.dtype})"

    def copy(self, order: Any = "C") -> MetaArray:
        return meta_array(self.shape, self.dtype)

    def fill(self, value: Any) -> None:
        pass

    def __setitem__(self, index: Any, value: Any) -> None:
        pass


def meta_array(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> MetaArray:
    if not on_change:
        on_demand.load_meta()
    return without_memory(shape, dtype, strides).view(MetaArray)


def like(array: np.ndarray, dtype: Any = None) -> MetaArray:
    """The shape, strides and dtype (unless another is given) of an array that has values."""
    itemsize = array.itemsize if dtype is None else np.dtype(dtype).itemsize
    strides = tuple([abs(step) // array.itemsize * itemsize for step in array.strides])
    return meta_array(array.shape, array.dtype if dtype is None else dtype, strides)
