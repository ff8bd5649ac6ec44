"""Cholesky factors and triangular systems for NumPy, which has the first and not the second."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

Array = Any

WIDTH = 32  # larger triangular systems are cut into blocks


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix without the wanted factors."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"


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
    if size > WIDTH and (unit or np.diagonal(a, axis1=-2, axis2=-1).all()):
        _substitute_blocks(a, b, x, upper, unit)
        return
    # Row by row: each needs the rows that are known already.
    for i in range(size - 1, -1, -1) if upper else range(size):
        known = slice(i + 1, None) if upper else slice(0, i)
        row = b[..., i, :] - (a[..., i:i + 1, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unit else row / a[..., i, i, None]


def _substitute_blocks(a: Array, b: Array, x: Array, upper: bool, unit: bool) -> None:
    """Block by block, with the inverses of the blocks on the diagonal, which are found all at once."""
    size = a.shape[-1]
    places = [slice(start, min(start + WIDTH, size)) for start in range(0, size, WIDTH)]
    eye = np.eye(WIDTH, dtype=a.dtype)
    blocks = np.empty((*a.shape[:-2], len(places), WIDTH, WIDTH), a.dtype)
    blocks[...] = eye
    for i, place in enumerate(places):
        count = place.stop - place.start
        blocks[..., i, :count, :count] = a[..., place, place]
    inverses = np.empty_like(blocks)
    _substitute(blocks, np.broadcast_to(eye, blocks.shape), inverses, upper, unit)
    for i in reversed(range(len(places))) if upper else range(len(places)):
        place = places[i]
        known = slice(place.stop, None) if upper else slice(0, place.start)
        count = place.stop - place.start
        x[..., place, :] = inverses[..., i, :count, :count] @ (b[..., place, :] - a[..., place, known] @ x[..., known, :])


def cholesky_inverse(factor: Array, *, upper: bool) -> Array:
    eye = np.eye(factor.shape[-1], dtype=factor.dtype)
    inverse = solve_triangular(factor, eye, upper=upper, left=True, unit=False)
    adjoint = inverse.conj().swapaxes(-1, -2)
    return inverse @ adjoint if upper else adjoint @ inverse
