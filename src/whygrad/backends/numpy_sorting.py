"""ops/sorting.py on NumPy arrays. As in torch, NaN is greater than every number."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.memory_order import copy_in_order
from whygrad.backends.numpy_index import gather
from whygrad.base.index_width import gives_indices

# topk by groups of GROUP elements is faster than partitioning if there are at least MIN_RATIO elements per requested one.
MIN_RATIO = 64
GROUP = 16
# Elements from which sorting (value, index) pairs packed into int64 is faster than argsort.
MIN_SIZE = 1024
# std::sort of at most this many elements is an insertion sort.
SHORT = 16


@gives_indices()
def order(x: Any, axis: int, descending: bool) -> Any:
    """Stable argsort; descending, too, keeps equal elements in their order."""
    if x.size >= MIN_SIZE and x.shape[axis] > 8:
        if x.dtype.char in "fi":
            return _argsort_pairs(x, axis, descending)
        if x.dtype.kind == "i":
            lowest = int(x.min())
            if int(x.max()) - lowest < 1 << 31:
                return _argsort_pairs((x.astype(np.int64) - lowest).astype(np.int32), axis, descending)
    if not descending:
        return np.argsort(x, axis, "stable")
    flip = (slice(None),) * axis + (slice(None, None, -1),)
    backwards = np.argsort(x[flip], axis, "stable")
    return x.shape[axis] - 1 - backwards[flip]


def take_along(x: Any, index: Any, axis: int) -> Any:
    """A faster np.take_along_axis."""
    return x[index] if x.ndim == 1 else gather(x, index, axis=axis)


def _argsort_pairs(x: Any, axis: int, descending: bool) -> Any:
    """Stable argsort of 32-bit elements by sorting int64 (key, index) pairs: np.sort is much faster than np.argsort."""
    if axis != x.ndim - 1:
        x = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    if x.dtype.kind == "f":
        keys = (x + np.float32(0)).view(np.int32)  # the sum turns -0 into 0
        keys ^= (keys >> 31) & 0x7FFFFFFF  # floats are sign and magnitude: invert the order of negative ones
        np.copyto(keys, 0x7FFFFFFF, where=x != x)
    else:
        keys = x.copy("C")
    if descending:
        np.invert(keys, out=keys)
    pairs = keys.astype(np.int64)
    pairs <<= 32
    pairs |= np.arange(x.shape[-1])
    pairs.sort(-1)
    pairs &= 0xFFFFFFFF
    return pairs if axis == x.ndim - 1 else np.ascontiguousarray(np.moveaxis(pairs, -1, axis))


def sort(x: Any, *, axis: int, descending: bool, stable: bool | None) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    index = order(x, axis, descending)
    values = take_along(x, index, axis)
    return (values, index) if x.flags.c_contiguous else (copy_in_order(values, x), copy_in_order(index, x, index.dtype))


@gives_indices(1)
def topk(x: Any, *, k: int, axis: int, largest: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    n = x.shape[axis]
    if k > 0 and k * MIN_RATIO <= n and x.dtype.kind in "fi" and x.size:
        index = _topk_by_groups(np.moveaxis(x, axis, -1), k, largest)
        if index is not None:
            index = np.ascontiguousarray(np.moveaxis(index, -1, axis))
            return np.take_along_axis(x, index, axis), index
    if 0 < k < n:
        # Partition, then sort only the k selected elements.
        first = n - k if largest else 0
        # NumPy does not know that NaN is the largest of ml_dtypes' numbers.
        known = x.astype(np.float32) if x.dtype.kind == "V" else x
        chosen = np.argpartition(known, first if largest else k - 1, axis).take(range(first, first + k), axis)
        chosen.sort(axis)
    else:
        chosen = order(x, axis, False).take(range(k), axis)
    index = take_along(chosen, order(take_along(x, chosen, axis), axis, largest), axis)
    return take_along(x, index, axis), index


def _topk_by_groups(x: Any, k: int, largest: bool) -> Any:
    """Indices of the k largest along the last axis, sorted; None if there are NaNs, or too many candidates.

    The k-th largest maximum of disjoint groups is a bound that at least k elements reach, and usually few more.
    """
    n = x.shape[-1]
    rows = x.reshape(-1, n)
    groups = n // GROUP
    extremes = (np.maximum if largest else np.minimum).reduce(rows[:, :groups * GROUP].reshape(len(rows), GROUP, groups), axis=1)
    if np.isnan(extremes.sum()) or np.isnan(rows[:, groups * GROUP:].sum()):
        return None
    rank = groups - k if largest else k - 1
    bound = np.partition(extremes, rank, axis=1)[:, rank, None]
    found = np.flatnonzero(rows >= bound if largest else rows <= bound)
    if len(found) > 8 * k * len(rows):
        return None
    values = rows.reshape(-1)[found]
    row = found // n
    order = np.lexsort((found, np.negative(values) if largest and x.dtype.kind == "f" else ~values if largest else values, row))
    starts = np.searchsorted(row, np.arange(len(rows)))
    return (found[order[starts[:, None] + np.arange(k)]] % n).reshape(*x.shape[:-1], k)


def kthvalue(x: Any, *, k: int, axis: int, keepdims: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    # np.sort and a search are much faster than np.argsort.
    values = np.sort(x, axis).take([k - 1], axis)
    index = ((x == values) | ((x != x) & (values != values))).argmax(axis, keepdims=True)
    return _picked(x, index, axis, keepdims)


def mode(x: Any, *, axis: int, keepdims: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    if x.dtype.kind in "fV" and x.shape[axis] <= SHORT and (x != x).any():
        lines = np.moveaxis(x, axis, -1)
        index = np.array([_mode_with_nans(line) for line in lines.reshape(-1, lines.shape[-1]).tolist()], np.int64)
        return _picked(x, np.expand_dims(index.reshape(lines.shape[:-1]), axis), axis, keepdims)
    ordered = np.moveaxis(np.sort(x, axis), axis, -1)
    position = np.broadcast_to(np.arange(ordered.shape[-1]), ordered.shape)
    starts = np.zeros(ordered.shape, np.int64)
    np.copyto(starts[..., 1:], position[..., 1:], where=ordered[..., 1:] != ordered[..., :-1])
    length = position - np.maximum.accumulate(starts, -1)
    longest = np.expand_dims(np.take_along_axis(ordered, length.argmax(-1)[..., None], -1)[..., 0], axis)
    index = x.shape[axis] - 1 - np.flip(x == longest, axis).argmax(axis, keepdims=True)
    if x.dtype.kind in "fV":
        index = np.where(longest == longest, index, (x != x).argmax(axis, keepdims=True))
    return _picked(x, index, axis, keepdims)


def _mode_with_nans(line: list[float]) -> int:
    """The position that torch finds in a short line: by an insertion sort in which NaNs stay where they are compared."""
    order = [0]
    for i in range(1, len(line)):
        if line[i] < line[order[0]]:
            order.insert(0, i)
            continue
        place = i
        while line[i] < line[order[place - 1]]:
            place -= 1
        order.insert(place, i)
    best, longest, length = 0, 0, 0
    for k, i in enumerate(order):
        length += 1
        if k == len(order) - 1 or line[i] != line[order[k + 1]]:
            if length > longest:
                best, longest = i, length
            length = 0
    return best


@gives_indices(1)
def _picked(x: Any, index: Any, axis: int, keepdims: bool) -> Any:
    values = take_along(x, index, axis)
    return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))
