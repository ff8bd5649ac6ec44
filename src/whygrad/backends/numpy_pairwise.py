"""ops/pairwise.py on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_reduction import vector_norm

# BLOCK: elements of the temporary array of differences.
BLOCK = 1 << 18
# Number of distances from which a loop over coordinates is faster.
BY_COORDINATES_FROM = 1 << 12


@quiet
def cdist(a: Any, b: Any, *, ord: float, by_products: bool = False) -> Any:
    if by_products:
        # As torch does: the squared norms are two additional columns of the product.
        own, others = [np.sum(x * x, -1, keepdims=True) for x in (a, b)]
        left = np.concatenate([a * -2, own, np.ones_like(own)], -1)
        right = np.concatenate([b, np.ones_like(others), others], -1)
        squares = np.matmul(left, np.swapaxes(right, -1, -2))
        return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
    result = np.zeros((*a.shape[:-1], b.shape[-2]), a.dtype)
    if not result.size or not a.shape[-1]:
        return result
    if result.size >= BY_COORDINATES_FROM and ord >= 1:
        return _by_coordinates(a, b, ord, result)
    step = max(1, BLOCK * a.shape[-2] // (result.size * a.shape[-1]))
    for start in range(0, a.shape[-2], step):
        difference = a[..., start:start + step, None, :] - b[..., None, :, :]
        result[..., start:start + step, :] = vector_norm(difference, ord=ord, axis=(difference.ndim - 1,))
        if ord == 0:
            result[..., start:start + step, :][np.isnan(difference).any(-1)] = np.nan  # which is no count, as in torch
    return result


def _by_coordinates(a: Any, b: Any, ord: float, result: Any) -> Any:
    """The norms of all differences, accumulated by coordinate: NumPy adds long rows faster than it sums many short ones."""
    gap = np.empty_like(result)
    for i in range(a.shape[-1]):
        np.subtract(a[..., :, None, i], b[..., None, :, i], out=gap)
        np.abs(gap, out=gap)
        if ord == np.inf:
            np.maximum(result, gap, out=result)
            continue
        if ord == 2:
            np.multiply(gap, gap, out=gap)
        elif ord != 1:
            np.power(gap, ord, out=gap)
        result += gap
    if ord == 2:
        return np.sqrt(result, out=result)
    return result if ord in (1, np.inf) else np.power(result, 1 / ord, out=result)


@quiet
def signs_towards(x: Any, a: Any, b: Any) -> Any:
    result = np.empty(a.shape, a.dtype)
    for k in range(a.shape[-1]):
        result[..., k] = np.einsum("...ij,...ij->...i", x, np.sign(a[..., :, None, k] - b[..., None, :, k]))
    return result


@quiet
def signs_apart(x: Any, a: Any, b: Any) -> Any:
    result = np.zeros((*a.shape[:-1], b.shape[-2]), a.dtype)
    for k in range(a.shape[-1]):
        result += x[..., k, None] * np.sign(a[..., :, None, k] - b[..., None, :, k])
    return result


def upper_triangle(x: Any) -> Any:
    return x[np.triu_indices(len(x), 1)]


def one_triangle(x: Any, *, n: int) -> Any:
    result = np.zeros((n, n), x.dtype)
    result[np.triu_indices(n, 1)] = x
    return result


def block_diag(*xs: Any) -> Any:
    blocks = [x.reshape(1, x.size) if x.ndim < 2 else x for x in xs]
    result = np.zeros((sum([len(x) for x in blocks]), sum([x.shape[1] for x in blocks])), xs[0].dtype)
    top = left = 0
    for x in blocks:
        height, width = x.shape
        result[top:top + height, left:left + width] = x
        top, left = top + height, left + width
    return result
