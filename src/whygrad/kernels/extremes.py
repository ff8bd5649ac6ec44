"""Products and extremes of large arrays: of all elements, over the last axes, or over the first ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.calls import declined, is_contiguous
from whygrad.kernels.columns import Fold, column_kernel, themselves
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.rowwise import Row, row_kernel

# All elements are taken in pieces of so many.
PIECE = 4096
# Smaller arrays are left to NumPy, which has less to ask first.
MIN_SIZE = 8192

# How each word makes one of many elements, and how NumPy calls it.
FOLDS: dict[str, tuple[Fold, Any]] = {
    "prod": (Fold(" prod", 1.0, lambda f, total, new: total * new), np.multiply),
    "amax": (Fold(" amax", -math.inf, lambda f, total, new: f.maximum(total, new)), np.maximum),
    "amin": (Fold(" amin", math.inf, lambda f, total, new: f.minimum(total, new)), np.minimum),
}


def _maker(word: str) -> Callable[..., Any]:
    fold, ufunc = FOLDS[word]

    def body(row: Row) -> None:
        (x,), (place,) = row.arguments, row.results
        f = row.f
        total = row.fold(lambda j, w: row.load(x, j, w), fold.start, lambda new, total: fold.combine(f, total, new),
                         lambda total: f._fold(total, lambda a, b: fold.combine(f, a, b)), unroll=2)
        f.store(total, place)

    def make(numpy: Callable[..., Any]) -> Callable[..., Any]:
        of_rows = row_kernel(word, "x", "r", body, lambda *args: None)
        of_columns = column_kernel(word, "x", themselves, lambda *args: None, fold)

        def of_all(flat: Any) -> Any:
            whole = len(flat) // PIECE * PIECE
            with np.errstate(all="ignore"):
                total = ufunc.reduce(of_rows(flat[:whole], PIECE), dtype=np.float64)
                return np.float32(total if whole == len(flat) else ufunc(total, ufunc.reduce(flat[whole:])))

        def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
            if x.dtype is FLOAT32 and x.size >= MIN_SIZE and is_contiguous(x) and axis != ():
                count = x.ndim if axis is None else len(axis)
                if count == x.ndim:
                    total = of_all(x.reshape(-1))
                    return np.full((1,) * x.ndim, total) if keepdims else total
                if axis == tuple(range(x.ndim - count, x.ndim)):
                    return of_rows(x, math.prod(x.shape[-count:])).reshape(*x.shape[:-count], *(1,) * (count * keepdims))
                if axis == tuple(range(count)):
                    return of_columns(x, math.prod(x.shape[count:])).reshape(*(1,) * (count * keepdims), *x.shape[count:])
            return declined(numpy, x, axis=axis, keepdims=keepdims)

        return run

    return make


prod, amax, amin = map(_maker, FOLDS)
max, min = amax, amin
