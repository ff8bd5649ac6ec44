"""Orthogonal polynomials by their recurrences: p[k+1] = (a x + b) p[k] - c p[k-1], with p[0] = 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

Array = Any
# For k: (a, b, c).
Recurrence = Callable[[int], tuple[float, float, float]]


def _polynomial(first: tuple[float, float], recurrence: Recurrence, shifted: bool = False, highest: bool = False) -> Any:
    """`first` is (a, b) with p[1] = a x + b. `highest`: torch gives NaN above an order that depends on the dtype."""

    @quiet
    def polynomial(x: Array, n: Array) -> Array:
        dtype = np.result_type(x, n)
        x, order = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(n))
        if shifted:
            x = 2 * x - 1
        order = np.trunc(order).astype(np.int64)
        before, here = np.ones_like(x), first[0] * x + first[1]
        result = np.where(order == 0, before, np.where(order == 1, here, 0.0))
        for k in range(1, int(order.max(initial=0))):
            a, b, c = recurrence(k)
            before, here = here, (a * x + b) * here - c * before
            np.copyto(result, here, where=order == k + 1)
        if highest:
            result[order > (512 if dtype == np.float64 else 128)] = np.nan
        return result.astype(dtype)

    return polynomial


_FIRST = {"t": (1.0, 0.0), "u": (2.0, 0.0), "v": (2.0, -1.0), "w": (2.0, 1.0)}
for _kind, _start in _FIRST.items():
    for _shifted in (False, True):
        _name = f"{'shifted_' if _shifted else ''}chebyshev_polynomial_{_kind}"
        globals()[_name] = _polynomial(_start, lambda k: (2.0, 0.0, 1.0), _shifted)

hermite_polynomial_h = _polynomial((2.0, 0.0), lambda k: (2.0, 0.0, 2.0 * k), highest=True)
hermite_polynomial_he = _polynomial((1.0, 0.0), lambda k: (1.0, 0.0, float(k)), highest=True)
laguerre_polynomial_l = _polynomial((-1.0, 1.0), lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)))
legendre_polynomial_p = _polynomial((1.0, 0.0), lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1)))
