"""NumPy words for ops/sorting.py. NaN is greater than every number, as in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.memory_order import copy_in_order
from whygrad.backends.numpy_index import gather

# From how many elements for each that is asked for on, and in groups of how many, the largest are looked for by groups.
MUCH_LARGER = 64
GROUP = 16


# From so many elements on, they are sorted together with their numbers.
MANY = 1024


def order(x: Any, axis: int, descending: bool) -> Any:
    """Where the elements come from, in order; equal ones one after the other."""
    if x.size >= MANY and x.shape[axis] > 8:
        if x.dtype.char in "fi":
            return _order_of_pairs(x, axis, descending)
        if x.dtype.kind == "i":
            lowest = int(x.min())
            if int(x.max()) - lowest < 1 << 31:
                return _order_of_pairs((x.astype(np.int64) - lowest).astype(np.int32), axis, descending)
    if not descending:
        return np.argsort(x, axis, "stable")
    flip = (slice(None),) * axis + (slice(None, None, -1),)
    backwards = np.argsort(x[flip], axis, "stable")
    return x.shape[axis] - 1 - backwards[flip]


def taken(x: Any, index: Any, axis: int) -> Any:
    """`take_along_axis`, which takes its time."""
    return x[index] if x.ndim == 1 else gather(x, index, axis=axis)


def _order_of_pairs(x: Any, axis: int, descending: bool) -> Any:
    """The same for 32 bits: as int64 numbers of the element and its place. NumPy sorts numbers much faster than it finds their
    order."""
    if axis != x.ndim - 1:
        x = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    if x.dtype.kind == "f":
        keys = (x + np.float32(0)).view(np.int32)  # no -0
        keys ^= (keys >> 31) & 0x7FFFFFFF  # negative numbers are stored by their size
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
    values = taken(x, index, axis)
    return (values, index) if x.flags.c_contiguous else (copy_in_order(values, x), copy_in_order(index, x, index.dtype))


def topk(x: Any, *, k: int, axis: int, largest: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    n = x.shape[axis]
    if k > 0 and k * MUCH_LARGER <= n and x.dtype.kind in "fi" and x.size:
        index = _few_of_many(np.moveaxis(x, axis, -1), k, largest)
        if index is not None:
            index = np.ascontiguousarray(np.moveaxis(index, -1, axis))
            return np.take_along_axis(x, index, axis), index
    if 0 < k < n:
        # Only the k chosen ones have to be put in order.
        first = n - k if largest else 0
        chosen = np.argpartition(x, first if largest else k - 1, axis).take(range(first, first + k), axis)
        chosen.sort(axis)
    else:
        chosen = order(x, axis, False).take(range(k), axis)
    index = taken(chosen, order(taken(x, chosen, axis), axis, largest), axis)
    return taken(x, index, axis), index


def _few_of_many(x: Any, k: int, largest: bool) -> Any:
    """Indices of the k largest along the last axis, in order; None if there are NaNs, or many that equal the last one.

    The k-th largest of the maxima of disjoint groups is a bound that at least k elements reach, and few more do.
    """
    n = x.shape[-1]
    rows = x.reshape(-1, n)
    groups = n // GROUP
    extremes = (np.maximum if largest else np.minimum).reduce(rows[:, :groups * GROUP].reshape(len(rows), GROUP, groups), axis=1)
    if np.isnan(extremes.sum()) or np.isnan(rows[:, groups * GROUP:].sum()):
        return None
    place = groups - k if largest else k - 1
    bound = np.partition(extremes, place, axis=1)[:, place, None]
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
    # NumPy sorts numbers much faster than it finds their order.
    values = np.sort(x, axis).take([k - 1], axis)
    index = ((x == values) | ((x != x) & (values != values))).argmax(axis, keepdims=True)
    return _picked(x, index, axis, keepdims)


def mode(x: Any, *, axis: int, keepdims: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
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


def _picked(x: Any, index: Any, axis: int, keepdims: bool) -> Any:
    values = taken(x, index, axis)
    return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))
