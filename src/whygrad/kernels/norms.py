"""The length of an array taken as one vector, and the lengths of the rows of a large one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.extremes import MIN_SIZE
from whygrad.kernels.reduce import total
from whygrad.kernels.rowwise import Row, row_kernel
from whygrad.kernels.trace import vocabulary


def vector_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    squares = total("squares", lambda x: vocabulary.sum(x * x), lambda x: None)

    def body(row: Row) -> None:
        (x,), (place,) = row.arguments, row.results

        def square(j: Any, width: int) -> Any:
            value = row.load(x, j, width)
            return value * value

        row.f.store(row.sum(square), place)

    of_rows = row_kernel("row_squares", "x", "r", body, lambda *args: None)

    def run(x: Any, *, ord: float, axis: Any = None, keepdims: bool = False) -> Any:
        if ord == 2 and x.ndim > 1 and axis == (x.ndim - 1,) and x.size >= MIN_SIZE:
            lengths = of_rows(x, x.shape[-1])
            if lengths is not None:
                return np.sqrt(lengths, out=lengths).reshape(*x.shape[:-1], *(1,) * keepdims)
        found = squares(x) if ord == 2 and not keepdims and (axis is None or len(axis) == x.ndim) else None
        return numpy(x, ord=ord, axis=axis, keepdims=keepdims) if found is None else np.sqrt(found)

    return run
