"""ops/scan.py on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.half_precision import in_float32
from whygrad.backends.running import accumulate
from whygrad.base.index_width import gives_indices


def _running_extreme(ufunc: np.ufunc) -> Callable[..., Any]:
    """Running extremes and their indices: of equal elements the last one so far; NaN replaces everything, NaNs included."""

    @gives_indices(1)
    def extreme(x: Any, *, axis: int) -> Any:
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        values = accumulate(ufunc, x, axis)
        # An index holds from where an extreme is attained until the next such element; the first one always attains it.
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
    for i in range(1, len(total)):  # sequential: the order determines the branch of the complex logarithm
        total[i] = _logaddexp_complex(total[i], total[i - 1])
    return np.ascontiguousarray(np.moveaxis(total, 0, axis))


def _logaddexp_complex(a: Any, b: Any) -> Any:
    high, low = np.where(a.real >= b.real, a, b), np.where(a.real >= b.real, b, a)
    result = high + np.log1p(np.exp(low - high))
    return np.where(np.isinf(high.real) & (high.real < 0), high, result)
