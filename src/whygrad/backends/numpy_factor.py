"""Factors of matrices (Cholesky, LU, LDL, QR) and systems solved with them, by LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import linalg_errors
from whygrad.backends.fp_warnings import quiet
from whygrad.backends.lapack import are_many, routines
from whygrad.backends.without_lapack import row_order

Array = Any


class LinAlgError(RuntimeError):
    """torch.linalg.LinAlgError: a matrix without the wanted factors."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"

SINGULAR_INVERSE = ("The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
                    "singular.")


def check_info(name: str, info: Array, reason: str, error: type[RuntimeError] = LinAlgError) -> None:
    """Raise for the first matrix whose info is not zero; `reason` may quote it, as {}."""
    if info.any():
        place = int(np.flatnonzero(info)[0])
        batch = f"(Batch element {place}): " if info.ndim else ""
        raise error(f"{name}: {batch}{reason.format(int(info.flat[place]))}")


def cholesky_ex(a: Array, *, upper: bool, node: str) -> tuple[Array, Array]:
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        factors = linalg_errors.cholesky(a, upper=upper)
        if np.isfinite(factors).all():
            return factors, info
    except np.linalg.LinAlgError:
        pass
    # One at a time. Of a matrix that is not positive definite the factor goes as far as it can.
    factors = np.triu(a) if upper else np.tril(a)
    for place in np.ndindex(*info.shape):
        info[place] = order = _first_bad_minor(a[place], upper)
        good = slice(0, order - 1 if order else a.shape[-1])
        factors[place][good, good] = linalg_errors.cholesky(a[place][good, good], upper=upper)
    return factors, info


def _first_bad_minor(matrix: Array, upper: bool) -> int:
    for order in range(1, len(matrix) + 1):
        try:
            factor = linalg_errors.cholesky(matrix[:order, :order], upper=upper)
        except np.linalg.LinAlgError:
            return order
        if not np.isfinite(factor).all():
            return order
    return 0


def solve_triangular(a: Array, b: Array, *, upper: bool, left: bool, unit: bool) -> Array:
    return routines(a).trsm(a, b, upper=upper, left=left, unit=unit)


def cholesky_solve(b: Array, factor: Array, *, upper: bool) -> Array:
    return routines(factor).potrs(factor, b, upper=upper)


@quiet
def cholesky_inverse(factor: Array, *, upper: bool) -> Array:
    half, info = routines(factor).potri(factor, upper=upper)
    check_info("cholesky_inverse", info, SINGULAR_INVERSE)
    known = np.tri(factor.shape[-1], dtype=bool)
    return np.where(known.T if upper else known, half, half.conj().swapaxes(-1, -2))


def lu_factor_ex(a: Array) -> tuple[Array, Array, Array]:
    return routines(a).getrf(a)


def _wrong_pivots(places: Array, rows: int, small: str, large: str) -> str:
    """What is wrong with row numbers that count from 1. LAPACK would write outside of its matrices."""
    return small if places.min(initial=1) < 1 else large if places.max(initial=1) > max(1, rows) else ""


def lu_solve(a: Array, places: Array, b: Array, *, left: bool, flip: bool, conjugate: bool) -> Array:
    wrong = _wrong_pivots(places, a.shape[-1], "greater or equal to 1", "smaller or equal to LU.size(-2)")
    if wrong:
        raise RuntimeError(f"Pivots given to lu_solve must all be {wrong}. Did you properly pass the result of lu_factor?")
    if not left:  # x m = b, as m' x' = b'
        return lu_solve(a, places, b.swapaxes(-1, -2), left=True, flip=not flip, conjugate=conjugate).swapaxes(-1, -2)
    if conjugate and not flip:
        return routines(a).getrs(a, places, b.conj(), trans="N").conj()
    return routines(a).getrs(a, places, b, trans="C" if conjugate else "T" if flip else "N")


def lu_unpack(a: Array, places: Array, *, data: bool, pivots: bool) -> tuple[Array, Array, Array]:
    rows, size = a.shape[-2], min(a.shape[-2:])
    p = low = high = np.zeros((0,), a.dtype)
    if pivots:
        if _wrong_pivots(places, rows, "too small", "too large"):
            raise RuntimeError("pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                               "Did you properly pass the result of lu_factor?")
        p = (row_order(places, rows)[..., None, :] == np.arange(rows)[:, None]).astype(a.dtype)
    if data:
        low = np.tril(a[..., :, :size], -1) + np.eye(rows, size, dtype=a.dtype)
        high = np.triu(a[..., :size, :])
    return p, low, high


def ldl_factor_ex(a: Array, *, hermitian: bool) -> tuple[Array, Array, Array]:
    return routines().sytrf(np.tril(a), hermitian=hermitian and a.dtype.kind == "c")


def ldl_solve(a: Array, places: Array, b: Array, *, hermitian: bool) -> Array:
    wrong = _wrong_pivots(abs(places.astype(np.int64)), a.shape[-1], ">= 1", "<= LD.size(-2)")
    if wrong:
        raise RuntimeError(f"Pivots given to ldl_solve must all satisfy |pivot| {wrong}. Did you properly pass the result of "
                           "ldl_factor?")
    return routines().sytrs(a, places, b, hermitian=hermitian and a.dtype.kind == "c")


@quiet
def qr(a: Array, *, mode: Any) -> tuple[Array, Array]:
    *batch, rows, columns = a.shape
    size = rows if mode == "complete" else min(rows, columns)
    if are_many((a,)):
        q, r = (np.zeros((0,), a.dtype), np.linalg.qr(a, "r")) if mode == "r" else np.linalg.qr(a, mode)
        return q, r
    h, tau = routines().geqrf(a)
    r = np.triu(h[..., :size, :])
    if mode == "r":
        return np.zeros((0,), a.dtype), r
    if size > columns:
        h = np.concatenate([h, np.zeros((*batch, rows, size - columns), a.dtype)], axis=-1)
    return routines().orgqr(h[..., :size], tau), r


def geqrf(a: Array) -> tuple[Array, Array]:
    return routines().geqrf(a)


def householder_product(a: Array, tau: Array) -> Array:
    return routines(a).orgqr(a, tau)


def ormqr(a: Array, tau: Array, c: Array, *, left: bool, transpose: bool) -> Array:
    return routines(a).ormqr(a, tau, c, left=left, transpose=transpose)
