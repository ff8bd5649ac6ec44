"""Products, extremes and norms of large arrays: of all elements, over the last axes, or over the first ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.calls import declined, is_contiguous
from whygrad.kernels.columns import Fold, column_kernel, themselves
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.reduce import reduction_plan, total
from whygrad.kernels.rowwise import Row, row_kernel
from whygrad.kernels.trace import vocabulary

# Elements of a piece, where all elements are reduced.
PIECE = 4096
# Smaller arrays are left to NumPy, whose calls cost less.
MIN_SIZE = 8192

# How each row combines elements, and NumPy's ufunc for it.
FOLDS: dict[str, tuple[Fold, Any]] = {
    "prod": (Fold(" prod", 1.0, lambda f, total, new: total * new), np.multiply),
    "amax": (Fold(" amax", -math.inf, lambda f, total, new: f.maximum(total, new)), np.maximum),
    "amin": (Fold(" amin", math.inf, lambda f, total, new: f.minimum(total, new)), np.minimum),
}


def _maker(name: str) -> Callable[..., Any]:
    fold, ufunc = FOLDS[name]

    def body(row: Row) -> None:
        (x,), (place,) = row.arguments, row.results
        f = row.f
        total = row.fold(lambda j, w: row.load(x, j, w), fold.start, lambda new, total: fold.combine(f, total, new),
                         lambda total: f._fold(total, lambda a, b: fold.combine(f, a, b)), unroll=2)
        f.store(total, place)

    def make(numpy: Callable[..., Any]) -> Callable[..., Any]:
        of_rows = row_kernel(name, "x", "r", body)
        of_columns = column_kernel(name, "x", themselves, fold)

        def of_all(x: Any) -> Any:
            flat = x.reshape(-1)
            whole = len(flat) // PIECE * PIECE
            with np.errstate(all="ignore"):
                total = ufunc.reduce(of_rows(flat[:whole], PIECE), dtype=np.float64)
                return np.float32(total if whole == len(flat) else ufunc(total, ufunc.reduce(flat[whole:])))

        kernels = {"all": of_all, "rows": of_rows, "columns": of_columns}

        def run(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
            if x.dtype is FLOAT32 and x.size >= MIN_SIZE and is_contiguous(x):
                kind, columns, shape = reduction_plan(x.shape, axis, keepdims)
                if kind in kernels:
                    result = kernels[kind](x, *columns)
                    return result if shape is None else result.reshape(shape)
            return declined(numpy, x, axis=axis, keepdims=keepdims)

        return run

    return make


prod, amax, amin = map(_maker, FOLDS)
max, min = amax, amin


def vector_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    squares = total("squares", lambda x: vocabulary.sum(x * x))

    def body(row: Row) -> None:
        (x,), (place,) = row.arguments, row.results

        def square(j: Any, width: int) -> Any:
            value = row.load(x, j, width)
            return value * value

        row.f.store(row.sum(square), place)

    of_rows = row_kernel("row_squares", "x", "r", body)

    def run(x: Any, *, ord: float, axis: Any = None, keepdims: bool = False) -> Any:
        found, shape = None, None
        if ord == 2:
            kind, columns, shape = reduction_plan(x.shape, axis, keepdims)
            if kind == "all" and not keepdims:
                found = squares(x)
            elif kind == "rows" and len(axis) == 1 and x.size >= MIN_SIZE:
                found = of_rows(x, *columns)
        if found is None:
            return numpy(x, ord=ord, axis=axis, keepdims=keepdims)
        result = np.sqrt(found)
        return result if shape is None else result.reshape(shape)

    return run
