"""Cholesky factors and triangular systems for NumPy, which has the first and not the second."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.quiet import quiet

_whygrad_internal_ = True

Array = Any

WIDTH = 64  # larger triangular systems are cut in two


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix without the wanted factors."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"


def cholesky_ex(a: Array, *, upper: bool, node: str) -> tuple[Array, Array]:
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        factors = np.linalg.cholesky(a, upper=upper)
        if np.isfinite(factors).all():
            return factors, info
    except np.linalg.LinAlgError:
        pass
    # One at a time. Of a matrix that is not positive definite the factor goes as far as it can.
    factors = np.triu(a) if upper else np.tril(a)
    for place in np.ndindex(*info.shape):
        info[place] = order = _first_bad_minor(a[place], upper)
        good = slice(0, order - 1 if order else a.shape[-1])
        factors[place][good, good] = np.linalg.cholesky(a[place][good, good], upper=upper)
    return factors, info


def _first_bad_minor(matrix: Array, upper: bool) -> int:
    for order in range(1, len(matrix) + 1):
        try:
            factor = np.linalg.cholesky(matrix[:order, :order], upper=upper)
        except np.linalg.LinAlgError:
            return order
        if not np.isfinite(factor).all():
            return order
    return 0


@quiet
def solve_triangular(a: Array, b: Array, *, upper: bool, left: bool, unit: bool) -> Array:
    if not left:
        solved = solve_triangular(a.swapaxes(-1, -2), b.swapaxes(-1, -2), upper=not upper, left=True, unit=unit)
        return solved.swapaxes(-1, -2)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.empty((*batch, *b.shape[-2:]), b.dtype)
    _substitute(a, b, x, upper, unit)
    return x


def _substitute(a: Array, b: Array, x: Array, upper: bool, unit: bool) -> None:
    size = a.shape[-1]
    if size > WIDTH:
        top, bottom = slice(0, size // 2), slice(size // 2, size)
        known, rest = (bottom, top) if upper else (top, bottom)
        _substitute(a[..., known, known], b[..., known, :], x[..., known, :], upper, unit)
        remaining = b[..., rest, :] - a[..., rest, known] @ x[..., known, :]
        _substitute(a[..., rest, rest], remaining, x[..., rest, :], upper, unit)
        return
    # Row by row: each needs the rows that are known already.
    for i in range(size - 1, -1, -1) if upper else range(size):
        known = slice(i + 1, None) if upper else slice(0, i)
        row = b[..., i, :] - (a[..., i:i + 1, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unit else row / a[..., i, i, None]


def cholesky_inverse(factor: Array, *, upper: bool) -> Array:
    eye = np.eye(factor.shape[-1], dtype=factor.dtype)
    inverse = solve_triangular(factor, eye, upper=upper, left=True, unit=False)
    adjoint = inverse.conj().swapaxes(-1, -2)
    return inverse @ adjoint if upper else adjoint @ inverse
