"""ops/counting.py on NumPy arrays, and searching in sorted sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.numpy_sorting import order
from whygrad.base.index_width import gives_indices, intp


@gives_indices(1, 2)
def unique(x: Any) -> Any:
    """Unique values, inverse indices and counts; NaNs are all distinct."""
    flat = x.reshape(-1)
    if x.dtype.kind in "iu" and x.dtype.char not in "LQ" and x.size:
        lowest = int(flat.min())
        span = int(flat.max()) - lowest + 1
        if span <= 2 * x.size:  # a small range of integers is counted instead of sorted
            offsets = flat.astype(np.int64) - lowest
            counts = np.bincount(intp(offsets), minlength=span)
            found = counts.nonzero()[0]
            return (found + lowest).astype(x.dtype), (np.cumsum(counts > 0) - 1)[offsets].reshape(x.shape), counts[found]
    index = order(flat, 0, False)
    ordered = flat[index]
    values, groups, counts = _merge_equal(ordered.reshape(-1, 1))
    inverse = np.empty(x.size, np.int64)
    inverse[index] = groups
    return values[:, 0], inverse.reshape(x.shape), counts


@gives_indices(1, 2)
def unique_dim(x: Any, *, axis: int) -> Any:
    lines = _lines(x, axis)
    order = np.lexsort(lines.T[::-1]) if lines.shape[1] else np.arange(len(lines))
    values, groups, counts = _merge_equal(lines[order])
    inverse = np.empty(len(lines), np.int64)
    inverse[order] = groups
    return _as_before(values, x, axis), inverse, counts


@gives_indices(1, 2)
def unique_consecutive(x: Any, *, axis: int | None) -> Any:
    if axis is None:
        values, groups, counts = _merge_equal(x.reshape(-1, 1))
        return values[:, 0], groups.reshape(x.shape), counts
    values, groups, counts = _merge_equal(_lines(x, axis))
    return _as_before(values, x, axis), groups, counts


def _lines(x: Any, axis: int) -> Any:
    """Each slice along `axis` as a row of a matrix."""
    return np.moveaxis(x, axis, 0).reshape(x.shape[axis], x.size // (x.shape[axis] or 1))


def _as_before(lines: Any, x: Any, axis: int) -> Any:
    outer = x.shape[:axis] + x.shape[axis + 1:]
    return np.ascontiguousarray(np.moveaxis(lines.reshape(len(lines), *outer), 0, axis))


def _merge_equal(lines: Any) -> tuple[Any, Any, Any]:
    """The first of each group of equal consecutive rows, the group of each row, and the sizes of the groups."""
    is_first = np.ones(len(lines), np.bool_)
    is_first[1:] = (lines[1:] != lines[:-1]).any(1)
    starts = is_first.nonzero()[0]
    return lines[starts], np.cumsum(is_first) - 1, np.diff(starts, append=len(lines))


def bincount(x: Any, weights: Any, *, length: int) -> Any:
    if weights is None:
        return np.bincount(intp(x), minlength=length).astype(np.int64)
    kept = weights.dtype if weights.dtype == np.float32 else np.float64
    return np.bincount(intp(x), weights.astype(np.float64), length).astype(kept)


def histogram(x: Any, weight: Any, *, limits: tuple[Any, ...], density: bool) -> Any:
    points = x.reshape(-1, len(limits))
    bins, inside = [], np.ones(len(points), np.bool_)
    for column, edges in zip(points.T, limits, strict=True):
        # A bin includes its lower edge; the last one includes its upper edge as well.
        bin = np.searchsorted(edges, column, "right") - 1
        bin[column == edges[-1]] = len(edges) - 2
        inside &= (column >= edges[0]) & (column <= edges[-1])
        bins.append(bin)
    shape = tuple([len(edges) - 1 for edges in limits])
    flat = np.ravel_multi_index([bin[inside] for bin in bins], shape)
    weights = None if weight is None else weight.reshape(-1)[inside].astype(np.float64)
    counts = np.bincount(flat, weights, math.prod(shape)).reshape(shape).astype(x.dtype)
    if density:
        for axis, edges in enumerate(limits):
            widths = np.diff(edges)
            counts = counts / widths.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        counts = (counts / (flat.size if weights is None else weights.sum())).astype(x.dtype)
    return [counts, *[np.array(edges) for edges in limits]]


def equal_bins(low: float, high: float, bins: int, dtype: Any) -> Any:
    """Edges of bins of equal width, computed from both ends as torch does."""
    step = (high - low) / bins
    steps = np.arange(bins + 1, dtype=dtype)
    half = (bins + 1) // 2
    edges = low + steps * np.asarray(step, dtype)
    edges[half:] = high - steps[::-1][half:] * np.asarray(step, dtype)
    return edges.astype(dtype)


@gives_indices()
def searchsorted(sequence: Any, values: Any, *, right: bool) -> Any:
    """Insertion points of `values` in a sorted sequence, or of each row of values in its own row of sequences."""
    if sequence.ndim == 1 and (sequence[:-1] <= sequence[1:]).all() and (sequence[-1:] == sequence[-1:]).all():
        found = np.searchsorted(sequence, values, "right" if right else "left")
        return np.where(values == values, found, len(sequence))  # NaN is inserted at the end
    # torch's binary search: what it finds in a sequence that is not sorted, or has NaNs, depends on its steps.
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, sequence.shape[-1])
    while (searching := low < high).any():
        middle = (low + high) // 2
        if sequence.ndim == 1:
            there = sequence[np.minimum(middle, len(sequence) - 1)]
        else:
            there = np.take_along_axis(sequence, np.minimum(middle, sequence.shape[-1] - 1), -1)
        found = there > values if right else there >= values
        low, high = np.where(searching & ~found, middle + 1, low), np.where(searching & found, middle, high)
    return low
