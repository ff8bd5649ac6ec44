"""Memory overlap checks: the in-place writes that torch refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import acceleration

OVERLAP = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
           "location. Please clone() the tensor before performing the operation.")
SHARED = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please clone() the tensor before performing the operation.")


def check_overlap(array: np.ndarray, inputs: tuple[Any, ...], *, may_be_expanded: bool = False) -> None:
    """Raise if elements of `array`, which is to be written to, share memory with each other or partly with an input."""
    if not may_be_expanded and is_expanded(array):
        raise RuntimeError(SHARED)
    for x in inputs:
        other = getattr(x, "_array", array)
        if other is array:
            continue
        if np.may_share_memory(array, other) and _is_dense(array) and _is_dense(other) and not same_memory(array, other):
            raise RuntimeError(OVERLAP)


def is_expanded(array: np.ndarray) -> bool:
    """True if several elements share one memory location."""
    return (0 in array.strides and array.size > 1
            and any(stride == 0 and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)))


def _is_dense(array: np.ndarray) -> bool:
    """Whether the array covers a block of memory exactly once, in some order of the axes."""
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

