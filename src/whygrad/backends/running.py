"""Running sums and extremes. NumPy's `accumulate` is sequential; here each step processes many lines at once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

# Elements from which the algorithms below are faster than NumPy's accumulate.
MIN_SIZE = 4096
# Block length of sums along the last axis.
BLOCK = 32


def accumulate(ufunc: np.ufunc, x: np.ndarray, axis: int, reverse: bool = False) -> np.ndarray:
    """`ufunc.accumulate` along an axis, from its end if `reverse`; for add, maximum and minimum."""
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1:])
    if x.size >= MIN_SIZE and n >= 2 * BLOCK and inner < 32 and ufunc is np.add and x.dtype.char in "fd":
        sums = _sums_by_blocks(np.moveaxis(x, axis, -1), reverse)
        if sums is not None:
            return np.ascontiguousarray(np.moveaxis(sums, -1, axis))
    out = np.empty(x.shape, x.dtype)
    source, target = (np.flip(x, axis), np.flip(out, axis)) if reverse else (x, out)
    if x.size >= MIN_SIZE and x.size // n >= 256:
        _line_by_line(ufunc, np.moveaxis(source, axis, 0), np.moveaxis(target, axis, 0))
    else:
        ufunc.accumulate(source, axis, x.dtype, target)
    return out


def _line_by_line(ufunc: np.ufunc, x: np.ndarray, out: np.ndarray) -> None:
    out[0] = x[0]
    for i in range(1, len(x)):
        ufunc(out[i - 1], x[i], out=out[i])


@lru_cache(maxsize=4)
def _triangle(dtype: Any, reverse: bool) -> np.ndarray:
    return (np.tril if reverse else np.triu)(np.ones((BLOCK, BLOCK), dtype))


def _sums_by_blocks(x: np.ndarray, reverse: bool) -> np.ndarray | None:
    """Running sums along the last axis: within blocks by one product with a triangle of ones, then over the blocks.

    None if a sum is not finite: a block may overflow although the sequential sum does not.
    """
    *outer, n = x.shape
    blocks = -(-n // BLOCK)
    if n < blocks * BLOCK:
        x = np.concatenate([x, np.zeros((*outer, blocks * BLOCK - n), x.dtype)], -1)
    sums = (x.reshape(-1, BLOCK) @ _triangle(x.dtype, reverse)).reshape(*outer, blocks, BLOCK)
    ends = accumulate(np.add, sums[..., 0 if reverse else -1], len(outer), reverse)
    if not np.isfinite(ends).all():
        return None
    if reverse:
        sums[..., :-1, :] += ends[..., 1:, None]
    else:
        sums[..., 1:, :] += ends[..., :-1, None]
    return sums.reshape(*outer, blocks * BLOCK)[..., :n]
