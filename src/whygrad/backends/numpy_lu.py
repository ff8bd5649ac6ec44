"""Triangular factors with row exchanges for NumPy, which uses them and does not show them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_factor import solve_triangular

Array = Any

WIDTH = 32  # of the panels that are eliminated column by column


@quiet
def lu_factor_ex(a: Array) -> tuple[Array, Array, Array]:
    *batch, rows, columns = a.shape
    size = min(rows, columns)
    lu = np.array(a.reshape(math.prod(batch), rows, columns), order="C")
    pivots = np.zeros((len(lu), size), np.int32)
    info = np.zeros(len(lu), np.int32)
    for start in range(0, size, WIDTH):
        stop = min(start + WIDTH, size)
        for column in range(start, stop):
            if len(lu) == 1:
                _eliminate_alone(lu[0], pivots[0], info, column, stop)
            else:
                _eliminate(lu, pivots, info, column, stop)
        if stop < columns:
            right = lu[:, start:stop, stop:]
            right[...] = solve_triangular(lu[:, start:stop, start:stop], right, upper=False, left=True, unit=True)
            lu[:, stop:, stop:] -= lu[:, stop:, start:stop] @ right
    return lu.reshape(a.shape), pivots.reshape(*batch, size), info.reshape(batch)


def _eliminate(lu: Array, pivots: Array, info: Array, column: int, stop: int) -> None:
    """One column of a panel that ends before `stop`: the largest element to the top, and zeros (the factors) below."""
    candidates = lu[:, column:, column]
    sizes = abs(candidates.real) + abs(candidates.imag) if lu.dtype.kind == "c" else abs(candidates)
    places = sizes.argmax(axis=1) + column
    pivots[:, column] = places + 1
    every = np.arange(len(lu))
    lu[every, places], lu[:, column] = lu[:, column].copy(), lu[every, places]
    pivot = lu[:, column, column]
    info[(pivot == 0) & (info == 0)] = column + 1
    below = lu[:, column + 1:, column]
    below /= np.where(pivot == 0, 1, pivot)[:, None]
    lu[:, column + 1:, column + 1:stop] -= below[:, :, None] * lu[:, column, None, column + 1:stop]


def _eliminate_alone(lu: Array, pivots: Array, info: Array, column: int, stop: int) -> None:
    """The same in one matrix, at half the cost."""
    candidates = lu[column:, column]
    sizes = abs(candidates.real) + abs(candidates.imag) if lu.dtype.kind == "c" else abs(candidates)
    place = int(sizes.argmax()) + column
    pivots[column] = place + 1
    if place != column:
        lu[[column, place]] = lu[[place, column]]
    pivot = lu[column, column]
    below = lu[column + 1:, column]
    if pivot == 0:
        info[0] = info[0] or column + 1
    else:
        below /= pivot
    if column + 1 < stop:
        lu[column + 1:, column + 1:stop] -= below[:, None] * lu[column, column + 1:stop]


def lu_unpack(a: Array, places: Array, *, data: bool, pivots: bool) -> tuple[Array, Array, Array]:
    size = min(a.shape[-2:])
    p = low = high = np.zeros((0,), a.dtype)
    if pivots:
        p = permutation_matrix(places, a.shape[-2], a.dtype)
    if data:
        low = np.tril(a[..., :, :size], -1) + np.eye(a.shape[-2], size, dtype=a.dtype)
        high = np.triu(a[..., :size, :])
    return p, low, high


def permutation_matrix(pivots: Array, rows: int, dtype: Any) -> Array:
    *batch, count = pivots.shape
    flat = pivots.reshape(math.prod(batch), count)
    every = np.arange(len(flat))
    if len(flat) == 1:  # a list is quicker
        numbers = list(range(rows))
        for i, other in enumerate(flat[0].tolist()):
            numbers[i], numbers[other - 1] = numbers[other - 1], numbers[i]
        order = np.array([numbers])
    else:
        order = np.tile(np.arange(rows), (len(flat), 1))
        for i in range(count):
            other = flat[:, i] - 1
            order[every, other], order[:, i] = order[:, i].copy(), order[every, other]
    matrix = np.zeros((len(flat), rows, rows), dtype)
    matrix[every[:, None], order, np.arange(rows)] = 1
    return matrix.reshape(*batch, rows, rows)
