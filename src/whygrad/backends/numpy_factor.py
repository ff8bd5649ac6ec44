"""Cholesky factors and triangular systems for NumPy, which has the first and not the second."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.quiet import quiet

_whygrad_internal_ = True

Array = Any


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix without the wanted factors."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"


def cholesky(a: Array, *, name: str, node: str) -> Array:
    factor, info = cholesky_info(a)
    if info.any():
        raise LinAlgError(f"{name}: {_not_positive(info)}")
    return factor


def _not_positive(info: Array) -> str:
    place = int(np.flatnonzero(info)[0])
    where = f"(Batch element {place}): " if info.ndim else ""
    return (f"{where}The factorization could not be completed because the input is not positive-definite (the leading minor "
            f"of order {info.flat[place]} is not positive-definite).")


def cholesky_info(a: Array) -> tuple[Array, Array]:
    """The lower factors, and for each matrix the order of its first leading minor that is not positive, or 0."""
    info = np.zeros(a.shape[:-2], np.int32)
    lower = np.tril(a)
    full = lower + np.swapaxes(np.tril(a, -1), -1, -2)
    try:
        return np.linalg.cholesky(full).astype(a.dtype, copy=False), info
    except np.linalg.LinAlgError:
        pass
    factors = lower.copy()
    for place in np.ndindex(*info.shape):
        info[place] = order = _first_bad_minor(full[place])
        if not order:
            factors[place] = np.linalg.cholesky(full[place])
        elif order > 1:
            factors[place][:order - 1, :order - 1] = np.linalg.cholesky(full[place][:order - 1, :order - 1])
    return factors, info


def _first_bad_minor(matrix: Array) -> int:
    for order in range(1, len(matrix) + 1):
        try:
            np.linalg.cholesky(matrix[:order, :order])
        except np.linalg.LinAlgError:
            return order
    return 0


@quiet
def solve_triangular(a: Array, b: Array, *, upper: bool, left: bool, unit: bool) -> Array:
    if not left:
        solved = solve_triangular(a.swapaxes(-1, -2), b.swapaxes(-1, -2), upper=not upper, left=True, unit=unit)
        return solved.swapaxes(-1, -2)
    size = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.empty((*batch, *b.shape[-2:]), b.dtype)
    # Substitution, row by row: each needs the rows that are known already.
    for i in range(size - 1, -1, -1) if upper else range(size):
        known = slice(i + 1, None) if upper else slice(0, i)
        row = b[..., i, :] - (a[..., i:i + 1, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unit else row / a[..., i, i, None]
    return x


def cholesky_inverse(factor: Array, *, upper: bool) -> Array:
    eye = np.eye(factor.shape[-1], dtype=factor.dtype)
    inverse = solve_triangular(factor, eye, upper=upper, left=True, unit=False)
    transposed = inverse.swapaxes(-1, -2)
    return inverse @ transposed if upper else transposed @ inverse
