"""Which arrays share memory: what torch refuses to write in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import acceleration

OVERLAP = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
           "location. Please clone() the tensor before performing the operation.")
SHARED = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please clone() the tensor before performing the operation.")


def check_overlap(array: np.ndarray, inputs: tuple[Any, ...], *, may_be_expanded: bool = False) -> None:
    """Refuse to write into an array whose elements lie in one place, or in the places of one of the inputs (tensors or not)."""
    if not may_be_expanded and is_expanded(array):
        raise RuntimeError(SHARED)
    for x in inputs:
        other = getattr(x, "_array", array)
        if other is array:
            continue
        if np.may_share_memory(array, other) and _is_dense(array) and _is_dense(other) and not same_memory(array, other):
            raise RuntimeError(OVERLAP)


def is_expanded(array: np.ndarray) -> bool:
    """True if several elements lie in one place."""
    return (0 in array.strides and array.size > 1
            and any(stride == 0 and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)))


def _is_dense(array: np.ndarray) -> bool:
    """Every element of a block of memory exactly once, in some order of the axes."""
    expected = array.itemsize
    for stride, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n == 1:
            continue
        if stride != expected:
            return False
        expected *= n
    return True


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.strides == b.strides and acceleration.address(a) == acceleration.address(b)

