"""The functions of `lapack.py` in plain NumPy, for builds of NumPy whose LAPACK cannot be called. Slow, but short."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

Array = Any


@quiet
def getrf(a: Array) -> tuple[Array, Array, Array]:
    *batch, rows, columns = a.shape
    count, steps = math.prod(batch), min(rows, columns)
    # The batch innermost: NumPy's loops are long, where those over a row of a small matrix are not.
    lu = a.reshape(count, rows, columns).transpose(1, 2, 0).copy()
    pivots, info = np.zeros((steps, count), np.int32), np.zeros(count, np.int32)
    every, each_column = np.arange(count), np.arange(columns)[:, None]
    for k in range(steps):
        places = _sizes(lu[k:, k]).argmax(axis=0) + k
        pivots[k] = places + 1
        if k + 1 < rows:
            there = places, each_column, every
            lu[there], lu[k] = lu[k].copy(), lu[there]
        pivot = lu[k, k]
        is_zero = pivot == 0
        if is_zero.any():
            info[is_zero & (info == 0)] = k + 1
            pivot = np.where(is_zero, 1, pivot)
        lu[k + 1:, k] /= pivot
        lu[k + 1:, k + 1:] -= lu[k + 1:, k, None] * lu[k, k + 1:]
    factors, places = np.ascontiguousarray(lu.transpose(2, 0, 1)), np.ascontiguousarray(pivots.T)
    return factors.reshape(a.shape), places.reshape(*batch, steps), info.reshape(batch)


def _sizes(x: Array) -> Array:
    """What LAPACK chooses pivots by."""
    return abs(x.real) + abs(x.imag) if x.dtype.kind == "c" else abs(x)


def row_order(pivots: Array, rows: int) -> Array:
    """The number of the row that the exchanges of `getrf` have brought to each place."""
    *batch, count = pivots.shape
    if math.prod(batch) == 1:
        numbers = list(range(rows))
        for i, other in enumerate(pivots.ravel().tolist()):
            numbers[i], numbers[other - 1] = numbers[other - 1], numbers[i]
        return np.array(numbers, np.intp).reshape(*batch, rows)
    others = pivots.reshape(math.prod(batch), count) - 1
    order, every = np.tile(np.arange(rows), (len(others), 1)), np.arange(len(others))
    for i in range(count):
        order[every, others[:, i]], order[:, i] = order[:, i].copy(), order[every, others[:, i]]
    return order.reshape(*batch, rows)


def getrs(lu: Array, pivots: Array, b: Array, *, trans: str) -> Array:
    order = row_order(pivots, lu.shape[-1])[..., None]
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b, order = np.broadcast_to(b, (*batch, *b.shape[-2:])), np.broadcast_to(order, (*batch, *order.shape[-2:]))
    if trans == "N":
        x = trsm(lu, np.take_along_axis(b, order, -2), upper=False, left=True, unit=True)
        return trsm(lu, x, upper=True, left=True, unit=False)
    lu = (lu.conj() if trans == "C" else lu).swapaxes(-1, -2)
    x = trsm(lu, trsm(lu, b, upper=False, left=True, unit=False), upper=True, left=True, unit=True)
    return np.take_along_axis(x, order.argsort(-2), -2)


@quiet
def trsm(a: Array, b: Array, *, upper: bool, left: bool, unit: bool) -> Array:
    if not left:
        solved = trsm(a.swapaxes(-1, -2), b.swapaxes(-1, -2), upper=not upper, left=True, unit=unit)
        return solved.swapaxes(-1, -2)
    batch, size = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-1]
    x = np.empty((*batch, *b.shape[-2:]), np.result_type(a, b))
    for i in range(size - 1, -1, -1) if upper else range(size):
        known = slice(i + 1, None) if upper else slice(0, i)
        row = b[..., i, :] - (a[..., i:i + 1, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unit else row / a[..., i, i, None]
    return x


def potrs(factor: Array, b: Array, *, upper: bool) -> Array:
    adjoint = factor.conj().swapaxes(-1, -2)
    low, high = (adjoint, factor) if upper else (factor, adjoint)
    return trsm(high, trsm(low, b, upper=False, left=True, unit=False), upper=True, left=True, unit=False)


def potri(factor: Array, *, upper: bool) -> tuple[Array, Array]:
    zeros = np.diagonal(factor, axis1=-2, axis2=-1) == 0
    info = np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0) if factor.size else np.zeros(factor.shape[:-2])
    return potrs(factor, np.eye(factor.shape[-1], dtype=factor.dtype), upper=upper), info.astype(np.int32)


BALANCE = (1 + math.sqrt(17)) / 8  # bounds the growth of elements for blocks of one and of two alike


@quiet
def sytrf(a: Array, *, hermitian: bool) -> tuple[Array, Array, Array]:
    ld, pivots, info = np.array(a), np.zeros(a.shape[:-1], np.int32), np.zeros(a.shape[:-2], np.int32)
    for place in np.ndindex(*info.shape):
        info[place] = _factor(ld[place], pivots[place], hermitian)
    return ld, pivots, info


def _factor(a: Array, pivots: Array, hermitian: bool) -> int:
    """In place; gives the place of the first block that is zero, counted from 1, or 0."""
    size, info, k = len(a), 0, 0
    while k < size:
        row, width = _pivot(a, k)
        zero = row is None
        if row is None:
            info, row = info or k + 1, k
        if row != k + width - 1:
            _exchange(a, k, k + width - 1, row, hermitian)
        pivots[k:k + width] = row + 1 if width == 1 else -row - 1
        rest = k + width
        columns = a[rest:, k:rest].copy()
        block = _block(a, k, width, hermitian)
        if not zero:
            a[rest:, k:rest] = _divide(block.T, columns.T).T
            a[rest:, rest:] -= np.tril(a[rest:, k:rest] @ (columns.conj() if hermitian else columns).T)
        k = rest
    return info


def _pivot(a: Array, k: int) -> tuple[int | None, int]:
    """Which row to bring to the diagonal, and how wide its block is; None if there is nothing but zeros."""
    here, below = float(_sizes(a[k, k])), _sizes(a[k + 1:, k])
    largest = float(below.max(initial=0))
    if max(here, largest) == 0:
        return None, 1
    if not here < BALANCE * largest:  # nor if it is nan
        return k, 1
    other = k + 1 + int(below.argmax())
    reach = float(_sizes(np.concatenate([a[other, k:other], a[other + 1:, other]])).max())
    if here >= BALANCE * largest * (largest / reach):
        return k, 1
    return (other, 1) if float(_sizes(a[other, other])) >= BALANCE * reach else (other, 2)


def _exchange(a: Array, k: int, i: int, j: int, hermitian: bool) -> None:
    """Exchange rows and columns i < j of the part from k on, of which only the lower triangle is stored."""
    a[j + 1:, [i, j]] = a[j + 1:, [j, i]]
    between = a[i + 1:j, i].copy()
    a[i + 1:j, i], a[j, i + 1:j] = (a[j, i + 1:j].conj(), between.conj()) if hermitian else (a[j, i + 1:j].copy(), between)
    if hermitian:
        a[j, i] = a[j, i].conj()
    a[i, i], a[j, j] = a[j, j], a[i, i]
    a[[i, j], k:i] = a[[j, i], k:i]


def _block(a: Array, k: int, width: int, hermitian: bool) -> Array:
    lower = a[k:k + width, k:k + width]
    off = np.tril(lower, -1)
    diagonal = np.diag(lower.diagonal().real if hermitian else lower.diagonal())
    return diagonal + off + (off.conj().T if hermitian else off.T)


def _divide(block: Array, x: Array) -> Array:
    """The product of a block's inverse and `x`."""
    if len(block) == 1:
        return x / block
    scale = block[1, 0]  # the largest element, or near to it
    (p, q), (_, s) = block / scale
    return np.stack([s * x[0] - q * x[1], p * x[1] - x[0]]) / ((p * s - q) * scale)


@quiet
def sytrs(ld: Array, pivots: Array, b: Array, *, hermitian: bool) -> Array:
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    ld, pivots = np.broadcast_to(ld, (*batch, *ld.shape[-2:])), np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    for place in np.ndindex(*batch):
        _solve(ld[place], pivots[place].tolist(), x[place], hermitian)
    return x


def _solve(a: Array, pivots: list[int], x: Array, hermitian: bool) -> None:
    blocks, k = [], 0
    while k < len(a):
        width = 1 if pivots[k] > 0 else 2
        blocks.append((k, width, abs(pivots[k]) - 1))
        k += width
    for k, width, row in blocks:
        last = k + width - 1
        x[[last, row]] = x[[row, last]]
        x[k + width:] -= a[k + width:, k:k + width] @ x[k:k + width]
        x[k:k + width] = _divide(_block(a, k, width, hermitian), x[k:k + width])
    for k, width, row in reversed(blocks):
        last = k + width - 1
        columns = a[k + width:, k:k + width]
        x[k:k + width] -= (columns.conj() if hermitian else columns).T @ x[k + width:]
        x[[last, row]] = x[[row, last]]


@quiet
def geqrf(a: Array) -> tuple[Array, Array]:
    *batch, rows, columns = a.shape
    h, tau = np.zeros(a.shape, a.dtype), np.zeros((*batch, min(rows, columns)), a.dtype)
    for place in np.ndindex(*batch):
        transposed, tau[place] = np.linalg.qr(a[place], "raw")
        h[place] = transposed.T
    return h, tau


@quiet
def orgqr(a: Array, tau: Array) -> Array:
    eye = np.eye(*a.shape[-2:], dtype=a.dtype)
    return _reflect(np.tril(a, -1) + eye, tau, np.zeros(a.shape, a.dtype) + eye, range(tau.shape[-1] - 1, -1, -1))


def _reflect(vectors: Array, tau: Array, x: Array, numbers: range) -> Array:
    for i in numbers:
        vector = vectors[..., :, i:i + 1]
        x = x - (vector * tau[..., i, None, None]) @ (vector.conj().swapaxes(-1, -2) @ x)
    return x


@quiet
def ormqr(a: Array, tau: Array, c: Array, *, left: bool, transpose: bool) -> Array:
    if not left:  # c q is the adjoint of q' c'
        out = ormqr(a, tau, c.conj().swapaxes(-1, -2), left=True, transpose=not transpose)
        return out.conj().swapaxes(-1, -2)
    vectors = np.tril(a, -1) + np.eye(*a.shape[-2:], dtype=a.dtype)
    numbers = range(tau.shape[-1])
    return _reflect(vectors, tau.conj(), c, numbers) if transpose else _reflect(vectors, tau, c, numbers[::-1])
