"""Embedding bags on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_nn import add_rows
from whygrad.base.index_width import gives_indices, intp


@gives_indices(1)
@quiet
def embedding_bag(table: Any, index: Any, bag: Any, weights: Any, *, bags: int, mode: str, padding_idx: int,
                  by_frequency: bool) -> tuple[Any, Any]:
    """(bags, saved): `saved` is the number of rows of each bag ("mean"), or the row of each maximum, or -1 ("max")."""
    real = index != padding_idx
    index, bag = index[real], bag[real]
    rows = table.take(index, axis=0)
    if table.dtype.itemsize < 4:
        rows = rows.astype(np.float32)
    if weights is not None:
        rows = rows * weights[real][:, None]
    sizes = np.bincount(intp(bag), minlength=bags)
    full = np.flatnonzero(sizes)
    starts = (np.cumsum(sizes) - sizes)[full]
    result = np.zeros((bags, table.shape[1]), rows.dtype)
    winners = np.full(result.shape if mode == "max" else 0, -1, np.int64)
    if len(full):
        result[full] = (np.maximum if mode == "max" else np.add).reduceat(rows, starts, axis=0)
    if mode == "max" and len(full):
        lost = (rows != result[bag]) & ~np.isnan(rows)
        first = np.minimum.reduceat(np.where(lost, len(rows), np.arange(len(rows))[:, None]), starts, axis=0)
        winners[full] = index[first]
    if mode == "mean":
        result /= np.maximum(sizes, 1)[:, None].astype(rows.dtype)
    return result.astype(table.dtype, copy=False), sizes if mode == "mean" else winners


def embedding_bag_backward(grad: Any, index: Any, bag: Any, weights: Any, kept: Any, *, rows: int, mode: str,
                           padding_idx: int, by_frequency: bool) -> Any:
    result = np.zeros((rows, grad.shape[1]), grad.dtype)
    if mode == "max":
        won = kept >= 0
        columns = np.broadcast_to(np.arange(grad.shape[1]), kept.shape)
        np.add.at(result, (kept[won], columns[won]), grad[won])
        return result
    real = index != padding_idx
    if not real.any():
        return result
    share = grad / np.maximum(kept, 1)[:, None].astype(grad.dtype) if mode == "mean" else grad
    shares = share[bag[real]] if weights is None else share[bag[real]] * weights[real][:, None]
    add_rows(result, index[real], shares)
    return result / _frequencies(index, rows)[:, None].astype(grad.dtype) if by_frequency else result


def _frequencies(index: Any, rows: int) -> Any:
    """How often each row is used, with torch's mistake: the i-th row that occurs gets the count of the i-th sorted index."""
    counts = np.bincount(intp(index), minlength=rows)
    used = np.flatnonzero(counts)
    found = np.ones(rows)
    found[used] = counts[np.sort(index)[:len(used)]]
    return found


def embedding_bag_weights_backward(grad: Any, table: Any, index: Any, bag: Any, *, padding_idx: int) -> Any:
    products = np.einsum("ij,ij->i", grad[bag], table[index])
    return np.where(index == padding_idx, grad.dtype.type(0), products)
