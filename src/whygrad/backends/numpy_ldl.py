"""Factors l d l' of symmetric or Hermitian matrices, definite or not, with blocks of one and two on the diagonal of d.

After Bunch and Kaufman (1977), in LAPACK's compact form: d and what is below it in one matrix; for each row, counted from 1,
the row that it was exchanged with, negative (and twice) for a block of two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

Array = Any

BALANCE = (1 + math.sqrt(17)) / 8  # what keeps the growth of blocks of one and of two alike


@quiet
def ldl_factor_ex(a: Array, *, hermitian: bool) -> tuple[Array, Array, Array]:
    factors = np.tril(a)
    pivots = np.zeros(a.shape[:-1], np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    for place in np.ndindex(*info.shape):
        info[place] = _factor(factors[place], pivots[place], hermitian and a.dtype.kind == "c")
    return factors, pivots, info


def _factor(a: Array, pivots: Array, hermitian: bool) -> int:
    """In place; gives the place of the first block that is zero, counted from 1, or 0."""
    size, info, k = len(a), 0, 0
    while k < size:
        row, width = _pivot(a, k)
        if row is None:
            info = info or k + 1
            row = k
        if row != k + width - 1:
            _exchange(a, k, k + width - 1, row, hermitian)
        pivots[k:k + width] = row + 1 if width == 1 else -row - 1
        rest = k + width
        columns = a[rest:, k:rest].copy()
        block = _block(a, k, width, hermitian)
        if info != k + 1 and rest < size:
            # columns @ inverse of the block
            a[rest:, k:rest] = np.linalg.solve(block.T, columns.T).T
            a[rest:, rest:] -= np.tril(a[rest:, k:rest] @ (columns.conj() if hermitian else columns).T)
        k = rest
    return info


def _sizes(x: Array) -> Array:
    return abs(x.real) + abs(x.imag)


def _pivot(a: Array, k: int) -> tuple[int | None, int]:
    """Which row to bring to the diagonal, and how wide its block is; None if there is nothing but zeros."""
    here = float(_sizes(a[k, k]))
    below = _sizes(a[k + 1:, k])
    largest = float(below.max(initial=0))
    if max(here, largest) == 0:
        return None, 1
    if here >= BALANCE * largest:
        return k, 1
    other = k + 1 + int(below.argmax())
    reach = max(float(_sizes(a[other, k:other]).max(initial=0)), float(_sizes(a[other + 1:, other]).max(initial=0)))
    if here >= BALANCE * largest * (largest / reach):
        return k, 1
    return (other, 1) if float(_sizes(a[other, other])) >= BALANCE * reach else (other, 2)


def _exchange(a: Array, k: int, i: int, j: int, hermitian: bool) -> None:
    """Rows and columns i < j of the part from k on, of which only the lower half is there."""
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


@quiet
def ldl_solve(a: Array, places: Array, b: Array, *, hermitian: bool) -> Array:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, places = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(places, (*batch, places.shape[-1]))
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    for place in np.ndindex(*batch):
        _solve(a[place], places[place], x[place], hermitian and a.dtype.kind == "c")
    return x


def _solve(a: Array, pivots: Array, x: Array, hermitian: bool) -> None:
    blocks, k = [], 0
    while k < len(a):
        width = 1 if pivots[k] > 0 else 2
        blocks.append((k, width, abs(int(pivots[k])) - 1))
        k += width
    for k, width, row in blocks:
        last = k + width - 1
        x[[last, row]] = x[[row, last]]
        x[k + width:] -= a[k + width:, k:k + width] @ x[k:k + width]
        x[k:k + width] = np.linalg.solve(_block(a, k, width, hermitian), x[k:k + width])
    for k, width, row in reversed(blocks):
        last = k + width - 1
        columns = a[k + width:, k:k + width]
        x[k:k + width] -= (columns.conj() if hermitian else columns).T @ x[k + width:]
        x[[last, row]] = x[[row, last]]
