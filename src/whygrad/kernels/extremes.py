"""Products and extremes of large arrays: of all elements, or over the last axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.calls import declined, is_in_one_piece
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.rowwise import Row, row_kernel

_whygrad_internal_ = True

# All elements are taken in pieces of so many.
PIECE = 4096
# Smaller arrays are left to NumPy, which has less to ask first.
WORTH_IT = 8192

# What each word combines elements with, beginning with what, and how NumPy calls it.
FOLDS: dict[str, tuple[Callable[..., Any], float, Any]] = {
    "prod": (lambda f, total, new: total * new, 1.0, np.multiply),
    "amax": (lambda f, total, new: f.maximum(total, new), -math.inf, np.maximum),
    "amin": (lambda f, total, new: f.minimum(total, new), math.inf, np.minimum),
}


def _maker(word: str) -> Callable[..., Any]:
    combine, start, ufunc = FOLDS[word]

    def body(row: Row) -> None:
        (x,), (place,) = row.arguments, row.results
        f = row.f
        total = row.fold(lambda j, w: row.load(x, j, w), start, lambda new, total: combine(f, total, new),
                         lambda total: f._fold(total, lambda a, b: combine(f, a, b)), unroll=2)
        f.store(total, place)

    def make(numpy: Callable[..., Any]) -> Callable[..., Any]:
        of_rows = row_kernel(word, "x", "r", body, lambda *args: None)

        def of_all(flat: Any) -> Any:
            whole = len(flat) // PIECE * PIECE
            with np.errstate(all="ignore"):
                total = ufunc.reduce(of_rows(flat[:whole], PIECE), dtype=np.float64)
                return np.float32(total if whole == len(flat) else ufunc(total, ufunc.reduce(flat[whole:])))

        def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
            if x.dtype is FLOAT32 and x.size >= WORTH_IT and is_in_one_piece(x) and axis != ():
                count = x.ndim if axis is None else len(axis)
                if count == x.ndim:
                    total = of_all(x.reshape(-1))
                    return np.full((1,) * x.ndim, total) if keepdims else total
                if axis == tuple(range(x.ndim - count, x.ndim)):
                    return of_rows(x, math.prod(x.shape[-count:])).reshape(*x.shape[:-count], *(1,) * (count * keepdims))
            return declined(numpy, x, axis=axis, keepdims=keepdims)

        return run

    return make


prod, amax, amin = map(_maker, FOLDS)
max, min = amax, amin
