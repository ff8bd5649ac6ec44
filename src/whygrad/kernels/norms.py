"""The 2-norm of all elements, and of the rows of a large array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.extremes import MIN_SIZE
from whygrad.kernels.reduce import reduction_plan, total
from whygrad.kernels.rowwise import Row, row_kernel
from whygrad.kernels.trace import vocabulary


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
