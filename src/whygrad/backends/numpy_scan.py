"""NumPy words for ops/scan.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_reduction import in_float32
from whygrad.backends.running import accumulate


def _running_extreme(ufunc: np.ufunc) -> Callable[..., Any]:
    """Of several equal ones the index is the last so far; a NaN wins, and so does the next one."""

    def extreme(x: Any, *, axis: int) -> Any:
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        values = accumulate(ufunc, x, axis)
        # Where an extreme is met its index begins to hold, until the next one: at the first element of each row, at least.
        met = np.moveaxis((x == values) | (x != x), axis, -1)
        found = np.flatnonzero(met)
        indices = np.repeat(found % met.shape[-1], np.diff(found, append=met.size)) if met.size else found
        return values, np.ascontiguousarray(np.moveaxis(indices.reshape(met.shape), -1, axis))

    return extreme


cummax, cummin = _running_extreme(np.maximum), _running_extreme(np.minimum)


@in_float32
@quiet
def logcumsumexp(x: Any, *, axis: int) -> Any:
    if not x.ndim:
        return x.copy()
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis, x.dtype)
    total = np.moveaxis(x, axis, 0).copy()
    for i in range(1, len(total)):  # one after the other: the order decides on the branch of the logarithm
        total[i] = _logaddexp_complex(total[i], total[i - 1])
    return np.ascontiguousarray(np.moveaxis(total, 0, axis))


def _logaddexp_complex(a: Any, b: Any) -> Any:
    high, low = np.where(a.real >= b.real, a, b), np.where(a.real >= b.real, b, a)
    result = high + np.log1p(np.exp(low - high))
    return np.where(np.isinf(high.real) & (high.real < 0), high, result)
