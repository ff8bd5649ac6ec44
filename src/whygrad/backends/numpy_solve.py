"""Inverses, determinants, linear systems and the exponential of matrices for NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import linalg_errors
from whygrad.backends.fp_warnings import quiet
from whygrad.backends.memory_order import in_columns
from whygrad.backends.numpy_factor import lu_factor_ex, lu_solve
from whygrad.backends.numpy_reduction import is_half
from whygrad.backends.numpy_spectral import eigh, svd

Array = Any


@quiet
def inv_ex(a: Array) -> tuple[Array, Array]:
    try:
        return linalg_errors.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return _solve_singular(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


@quiet
def solve_ex(a: Array, b: Array, *, left: bool, vector: bool) -> tuple[Array, Array]:
    if vector:
        x, info = solve_ex(a, b[..., None], left=left, vector=False)
        x = x[..., 0]
        return in_columns(x) if x.ndim > 1 else x, info
    if not left:
        x, info = solve_ex(a.swapaxes(-1, -2), b.swapaxes(-1, -2), left=True, vector=False)
        return x.swapaxes(-1, -2), info
    try:
        x, info = linalg_errors.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        x, info = _solve_singular(a, b)
    return in_columns(x), info


def _solve_singular(a: Array, b: Array) -> tuple[Array, Array]:
    """As far as it goes: with inf and nan where a matrix is singular, and where its elimination met the first zero."""
    factors, pivots, info = lu_factor_ex(a)
    return lu_solve(factors, pivots, b, left=True, flip=False, conjugate=False), info


det = quiet(np.linalg.det)


@quiet
def slogdet(a: Array) -> tuple[Array, Array]:
    sign, logarithm = np.linalg.slogdet(a)
    return sign, logarithm


@quiet
def cofactors(a: Array) -> Array:
    """`det(a) * inv(a)` transposed, where there is an inverse; otherwise by way of the singular values."""
    wrong = ~np.isfinite(a).all((-1, -2), keepdims=True)
    if wrong.any():
        return np.where(wrong, np.nan, cofactors(np.where(wrong, np.eye(a.shape[-1], dtype=a.dtype), a))).astype(a.dtype)
    try:
        det = np.linalg.det(a)
        result = det[..., None, None] * linalg_errors.inv(a).swapaxes(-1, -2)
        # A determinant that is too large is no reason: its product with the inverse is what torch gives.
        if det.all() and (np.isfinite(result).all() or not np.isfinite(det).all()):
            return result
    except np.linalg.LinAlgError:
        pass
    left, s, right, turn = _svd(a)
    return turn * (left @ (_product_without(s, 1)[..., None] * right))


@quiet
def cofactors_change(a: Array, b: Array) -> Array:
    left, s, right, turn = _svd(a)
    inner = left.swapaxes(-1, -2) @ b @ right.swapaxes(-1, -2)
    products = _product_without(s, 2)
    result = -products * inner.swapaxes(-1, -2)
    places = np.arange(s.shape[-1])
    result[..., places, places] = (products @ inner[..., places, places, None])[..., 0]
    return turn * (left @ result @ right)


def _svd(a: Array) -> tuple[Array, Array, Array, Array]:
    """Conjugated singular vectors, the values, and what the vectors turn or mirror (the product of their determinants)."""
    u, s, vh = svd(a, full=True)
    return u.conj(), s, vh.conj(), (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _product_without(s: Array, count: int) -> Array:
    """The products of all values without the i-th; or (count 2) without the i-th and j-th, and on the diagonal 0."""
    zeros = s == 0
    filled = np.where(zeros, 1, s)
    total, missing = np.prod(filled, axis=-1)[..., None], zeros.sum(axis=-1)[..., None]
    if count == 1:
        return np.where(missing - zeros > 0, 0, total / filled).astype(s.dtype)
    pairs = filled[..., :, None] * filled[..., None, :]
    left_out = zeros[..., :, None].astype(int) + zeros[..., None, :]
    result = np.where(missing[..., None] - left_out > 0, 0, total[..., None] / pairs).astype(s.dtype)
    places = np.arange(s.shape[-1])
    result[..., places, places] = 0
    return result


def default_tolerance(a: Array) -> float:
    return float(np.finfo(a.dtype).eps) * max(a.shape[-2:])


def cutoff(a: Array, largest: Array, atol: Array | None, rtol: Array | None) -> Array:
    """Below this a singular value counts as zero."""
    if rtol is None:
        rtol = default_tolerance(a)
        if atol is not None:
            rtol = np.where(np.asarray(atol) > 0, 0, rtol)
    return np.maximum(0 if atol is None else atol, rtol * largest)


@quiet
def pinv(a: Array, *, atol: Array | None, rtol: Array | None, hermitian: bool) -> Array:
    if not a.size:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        values, vectors = eigh(a, lower=True)
        right = vectors.conj().swapaxes(-1, -2)
        sizes = abs(values)
    else:
        vectors, values, vh = svd(a, full=False)
        vectors, right = vh.conj().swapaxes(-1, -2), vectors.conj().swapaxes(-1, -2)
        sizes = values
    limit = np.asarray(cutoff(a, sizes.max(axis=-1), atol, rtol))[..., None]
    inverse = np.where(sizes > limit, 1 / values, 0).astype(values.dtype)
    return (vectors * inverse[..., None, :]) @ right


def lstsq(a: Array, b: Array, *, rcond: float | None, driver: str) -> tuple[Array, Array, Array, Array]:
    *batch, rows, columns = a.shape
    rcond = default_tolerance(a) if rcond is None else rcond
    solution = np.zeros((*batch, columns, b.shape[-1]), a.dtype)
    rank = np.zeros(batch, np.int64)
    real = a.real.dtype
    values = np.zeros((*batch, min(rows, columns)), real)
    if min(rows, columns):
        for place in np.ndindex(*batch):
            if not (np.isfinite(a[place]).all() and np.isfinite(b[place]).all()):
                solution[place] = values[place] = np.nan  # LAPACK would not return
                continue
            solution[place], _, rank[place], values[place] = np.linalg.lstsq(a[place], b[place], rcond)
    residuals = nothing = np.zeros((0,), real)
    if rows > columns and driver != "gelsy" and (driver == "gels" or (rank == columns).all()):
        residuals = (abs(a @ solution - b) ** 2).sum(axis=-2)
    return (solution, residuals, np.zeros((0,), np.int64) if driver == "gels" else rank,
            values if driver in ("gelsd", "gelss") else nothing)


# Pade approximations of exp: how large a matrix may be, and the coefficients of their numerators.
PADE = {
    "f": (3.925724783138660, (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)),
    "d": (5.371920351148152, (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0)),
}


@quiet
def matrix_exp(a: Array) -> Array:
    if is_half(a.dtype):
        return matrix_exp(a.astype(np.float32)).astype(a.dtype)
    if not a.size:
        return a.copy()
    limit, coefficients = PADE[a.real.dtype.char]
    norm = abs(a).sum(axis=-2).max(axis=-1)
    halvings = np.ceil(np.log2(np.where(np.isfinite(norm) & (norm > limit), norm / limit, 1))).astype(int)
    scaled = a / (2.0 ** halvings).astype(a.real.dtype)[..., None, None]
    square = scaled @ scaled
    powers = [np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), square, square @ square]
    powers.append(powers[2] @ square)
    odd, even = [_polynomial(powers, coefficients[parity::2]) for parity in (1, 0)]
    odd = scaled @ odd
    result = solve_ex(even - odd, even + odd, left=True, vector=False)[0]
    for i in range(int(halvings.max(initial=0))):
        result = np.where((halvings > i)[..., None, None], result @ result, result)
    return result


def _polynomial(powers: list[Array], coefficients: tuple[float, ...]) -> Array:
    low = coefficients[0] * powers[0]
    for i in range(1, 4):
        low = low + coefficients[i] * powers[i]
    if len(coefficients) == 4:
        return low
    high = coefficients[4] * powers[1]
    for i, coefficient in enumerate(coefficients[5:], 2):
        high = high + coefficient * powers[i]
    return low + powers[3] @ high
