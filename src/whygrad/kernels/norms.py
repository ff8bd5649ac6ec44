"""The length of a large array taken as one vector, and the lengths of its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.host import FLOAT32
from whygrad.kernels.reduce import PIECE, WORTH_IT
from whygrad.kernels.rowwise import Row, row_kernel

_whygrad_internal_ = True


def vector_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def body(row: Row) -> None:
        (x,), (place,) = row.arguments, row.results

        def square(j: Any, width: int) -> Any:
            value = row.load(x, j, width)
            return value * value

        row.f.store(row.sum(square), place)

    squares = row_kernel("squares", "x", "r", body, lambda *args: None)

    def run(x: Any, *, ord: float, axis: Any = None, keepdims: bool = False) -> Any:
        if ord != 2 or x.size < WORTH_IT or x.dtype is not FLOAT32 or not x.flags.c_contiguous:
            return numpy(x, ord=ord, axis=axis, keepdims=keepdims)
        if axis == (x.ndim - 1,) and x.ndim > 1:
            lengths = squares(x, x.shape[-1])
            return np.sqrt(lengths, out=lengths).reshape(*x.shape[:-1], *(1,) * keepdims)
        if keepdims or (axis is not None and len(axis) < x.ndim):
            return numpy(x, ord=ord, axis=axis, keepdims=keepdims)
        flat = x.reshape(-1)
        whole = len(flat) // PIECE * PIECE
        pieces, rest = squares(flat[:whole], PIECE), flat[whole:]
        with np.errstate(over="ignore"):
            return np.sqrt(np.float32(np.add.reduce(pieces, dtype=np.float64) + np.dot(rest, rest)))

    return run
