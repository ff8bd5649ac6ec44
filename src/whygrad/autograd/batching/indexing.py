"""`x[index]` with a batched index: functional/indexing.py on tensors instead of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends import tensor as xp
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.gathering import check_bounds, counted_from_front, positions
from whygrad.functional.run import FUNCTIONS

MASK = ("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
        "boolean mask.")


def _out_of_bounds(dim: int, n: int) -> Callable[[int], Exception]:
    return lambda i: IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")


def locate_batched(x: Tensor, indices: list[Any]) -> tuple[Tensor, tuple[int, ...], list[int]]:
    """(the indices merged into one tensor, the axes it applies to, []); bounds are checked here, so no lengths are returned."""
    shape = x._array.shape
    found: list[Tensor] = []
    axes: list[int] = []
    for axis, array, _ in indices:
        if array.dtype.kind == "b":
            if type(array) is not np.ndarray:
                raise RuntimeError(MASK)
            parts = [wrap(indices) for indices in array.nonzero()]
        else:
            parts = [positions(array.tensor if type(array) is not np.ndarray else wrap(array))]
        for part in parts:
            n = shape[axis]
            check_bounds(part, n, _out_of_bounds(len(axes), n), lowest=-n)
            found.append(counted_from_front(part, n))
            axes.append(axis)
            axis += 1
    if len(found) == 1:
        return found[0], tuple(axes), []
    return xp.stack(*FUNCTIONS["broadcast_tensors"](*found), axis=0), tuple(axes), []
