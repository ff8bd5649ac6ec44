"""NumPy words for ops/sorting.py. NaN is greater than every number, as in torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.memory_order import copy_in_order

_whygrad_internal_ = True


def order(x: Any, axis: int, descending: bool) -> Any:
    """Where the elements come from, in order; equal ones one after the other."""
    if not descending:
        return np.argsort(x, axis, "stable")
    backwards = np.argsort(np.flip(x, axis), axis, "stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def sort(x: Any, *, axis: int, descending: bool, stable: bool | None) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    index = order(x, axis, descending)
    values = np.take_along_axis(x, index, axis)
    return (values, index) if x.flags.c_contiguous else (copy_in_order(values, x), copy_in_order(index, x, index.dtype))


def topk(x: Any, *, k: int, axis: int, largest: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    n = x.shape[axis]
    if 0 < k < n:
        # Only the k chosen ones have to be put in order.
        first = n - k if largest else 0
        chosen = np.argpartition(x, first if largest else k - 1, axis).take(range(first, first + k), axis)
        chosen.sort(axis)
    else:
        chosen = order(x, axis, False).take(range(k), axis)
    index = np.take_along_axis(chosen, order(np.take_along_axis(x, chosen, axis), axis, largest), axis)
    return np.take_along_axis(x, index, axis), index


def kthvalue(x: Any, *, k: int, axis: int, keepdims: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    return _picked(x, np.argpartition(x, k - 1, axis).take([k - 1], axis), axis, keepdims)


def mode(x: Any, *, axis: int, keepdims: bool) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    places = order(x, axis, False)
    ordered = np.moveaxis(np.take_along_axis(x, places, axis), axis, -1)
    position = np.broadcast_to(np.arange(ordered.shape[-1]), ordered.shape)
    starts = np.zeros(ordered.shape, np.int64)
    np.copyto(starts[..., 1:], position[..., 1:], where=ordered[..., 1:] != ordered[..., :-1])
    length = position - np.maximum.accumulate(starts, -1)
    end_of_longest = np.expand_dims(length.argmax(-1), axis)
    return _picked(x, np.take_along_axis(places, end_of_longest, axis), axis, keepdims)


def _picked(x: Any, index: Any, axis: int, keepdims: bool) -> Any:
    values = np.take_along_axis(x, index, axis)
    return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))
