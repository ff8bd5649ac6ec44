"""Batching of reads and writes at positions that are data."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from whygrad.autograd.batched import BatchLevel, spread
from whygrad.autograd.batching.families import along_number, by, moved_statics, with_axes
from whygrad.backends import tensor as xp
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.ops.table import Row

Axes = tuple[int, ...]


def _is_adjacent(axes: Axes) -> bool:
    return axes[-1] - axes[0] == len(axes) - 1


def _per_axis(index: Tensor, axes: Axes, shape: tuple[int, ...], first: int) -> Tensor:
    """One index for each of several axes, counted by the axis `first`: the places of a mask go through all of them."""
    if len(axes) > 1 and index._array.ndim > first + 1:
        return index
    widths = [math.prod([shape[other] for other in axes[i + 1:]]) for i in range(len(axes))]
    lengths = [shape[axis] for axis in axes]
    columns = [np.array(numbers).reshape(-1, *(1,) * (index._array.ndim - first)) for numbers in (widths, lengths)]
    index = xp.unsqueeze(index, axis=first)
    return index if len(axes) == 1 else xp.remainder(xp.floor_divide(index, wrap(columns[0])), wrap(columns[1]))  # type: ignore[no-any-return]


def _with_batch(level: BatchLevel, index: Tensor, has: bool, axes: Axes, shape: tuple[int, ...]) -> tuple[Tensor, Axes]:
    """An index of the whole: for the batch, each element's own place."""
    index = _per_axis(index, axes, shape, int(has))
    joined = xp.transpose(index if has else spread(index, level.size), axis0=0, axis1=1)
    own = wrap(np.arange(level.size).reshape(level.size, *(1,) * (joined._array.ndim - 2)))
    own = xp.expand(own, shape=(1, *joined._array.shape[1:]))
    return xp.cat(own, joined, axis=0), (0, *[axis + 1 for axis in axes])


def _place_of_index(axes: Axes) -> int:
    """Where the axes of the index stand in the result for one element."""
    return axes[0] if _is_adjacent(axes) else 0


def _to_front(x: Tensor, place: int, dims: int) -> Tensor:
    """(batch, before, index, after) as (batch, index, before, after)."""
    ndim = x._array.ndim
    axes = (0, *range(1 + place, 1 + place + dims), *range(1, 1 + place), *range(1 + place + dims, ndim))
    return xp.permute(x, axes=axes)  # type: ignore[no-any-return]


def _from_front(x: Tensor, place: int, dims: int) -> Tensor:
    ndim = x._array.ndim
    axes = (0, *range(1 + dims, 1 + dims + place), *range(1, 1 + dims), *range(1 + dims + place, ndim))
    return xp.permute(x, axes=axes)  # type: ignore[no-any-return]


def _index_dims(index: Tensor, axes: Axes) -> int:
    """How many axes of the result an index (of one element) makes."""
    return index._array.ndim - (len(axes) > 1 and index._array.ndim > 1)


def index(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (x, places), (x_has, has) = level.opened(inputs)
    axes = statics["axes"]
    if not has and _is_adjacent(axes):
        return level.closed(xp.index(x, places, axes=tuple([axis + 1 for axis in axes])))
    x = x if x_has else spread(x, level.size)
    dims = _index_dims(inputs[1], axes)
    places, moved = _with_batch(level, places, has, axes, inputs[0]._array.shape)
    return level.closed(_from_front(xp.index(x, places, axes=moved), _place_of_index(axes), dims))


def index_backward(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (g, places), (g_has, has) = level.opened(inputs)
    axes, shape = statics["axes"], (level.size, *statics["shape"])
    if not has and _is_adjacent(axes):
        return level.closed(xp.index_backward(g, places, shape=shape, axes=tuple([axis + 1 for axis in axes])))
    g = g if g_has else spread(g, level.size)
    dims = _index_dims(inputs[1], axes)
    places, moved = _with_batch(level, places, has, axes, statics["shape"])
    g = _to_front(g, _place_of_index(axes), dims)
    return level.closed(xp.index_backward(g, places, shape=shape, axes=moved))


def index_put(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (x, values, places), (x_has, values_has, has) = level.opened(inputs)
    axes, shape = statics["axes"], inputs[0]._array.shape
    x = x if x_has else spread(x, level.size)
    dims, place = _index_dims(inputs[2], axes), _place_of_index(axes)
    places, moved = _with_batch(level, places, has, axes, shape)
    if isinstance(values, Tensor):
        rest = [n for axis, n in enumerate(shape) if axis not in axes]
        wanted = (*rest[:place], *places._array.shape[2:], *rest[place:])
        values = with_axes(values if values_has else spread(values, level.size), len(wanted))
        values = _to_front(xp.expand(values, shape=(level.size, *wanted)), place, dims)
    return level.closed(xp.index_put(x, values, places, axes=moved, accumulate=statics["accumulate"]))


def _along(xp: Any, index: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """The index of a whole axis as one for each element of an array of this shape."""
    count = math.prod(index.shape)
    wanted = (*shape[:axis], count, *shape[axis + 1:])
    line = xp.reshape(index, shape=tuple([count if i == axis else 1 for i in range(len(shape))]))
    return xp.expand(line, shape=wanted)


def by_gathering(definition: Any, of_value: bool = False) -> Any:
    """A row along one axis: moved by one if all elements share the index (and the value), else by gathering or scattering."""
    defined = by(definition)

    def rule(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        opened, has_batch = level.opened(inputs)
        if not statics.get("shape", inputs[0]._array.ndim):
            return along_number(level, row, inputs, statics)
        shared = (1, 2) if of_value else (1,)
        if any(has_batch[i] for i in shared):
            return defined(level, row, inputs, statics)
        wholes = [x if has or i in shared or not isinstance(x, Tensor) else spread(x, level.size)
                  for i, (x, has) in enumerate(zip(opened, has_batch, strict=True))]
        return level.closed(apply(row, *wholes, **moved_statics(statics, level, 0)))

    return rule


@by_gathering
def index_add(xp: Any, x: Any, index: Any, src: Any, *, axis: int, alpha: Any) -> Any:
    return xp.scatter_add(x, _along(xp, index, axis, tuple(src.shape)), src * alpha, axis=axis)


@partial(by_gathering, of_value=True)
def index_fill(xp: Any, x: Any, index: Any, value: Any, *, axis: int) -> Any:
    places = _along(xp, index, axis, tuple(x.shape))
    src = xp.expand(value, shape=tuple(places.shape)) if isinstance(value, Tensor) else value
    return xp.scatter(x, places, src, axis=axis, reduce=None)


@by_gathering
def index_select(xp: Any, x: Any, index: Any, *, axis: int) -> Any:
    return xp.gather(x, _along(xp, index, axis, tuple(x.shape)), axis=axis)


@by_gathering
def index_select_backward(xp: Any, x: Any, index: Any, *, shape: tuple[int, ...], axis: int) -> Any:
    return xp.gather_backward(x, _along(xp, index, axis, shape), shape=shape, axis=axis)


@by_gathering
def index_copy(xp: Any, x: Any, index: Any, src: Any, *, axis: int) -> Any:
    return xp.scatter(x, _along(xp, index, axis, tuple(src.shape)), src, axis=axis, reduce=None)


@by
def masked_fill(xp: Any, x: Any, mask: Any, value: Any) -> Any:
    return xp.where(mask, value, x)


def _flat(xp: Any, x: Any) -> Any:
    return xp.reshape(x, shape=(math.prod(x.shape),))


@by
def take(xp: Any, x: Any, index: Any) -> Any:
    return xp.reshape(xp.gather(_flat(xp, x), _flat(xp, index), axis=0), shape=tuple(index.shape))


@by
def take_backward(xp: Any, x: Any, index: Any, *, shape: tuple[int, ...]) -> Any:
    flat = xp.gather_backward(_flat(xp, x), _flat(xp, index), shape=(math.prod(shape),), axis=0)
    return xp.reshape(flat, shape=shape)


@by
def put(xp: Any, x: Any, index: Any, src: Any, *, accumulate: bool) -> Any:
    x_flat, places, values = _flat(xp, x), _flat(xp, index), _flat(xp, src)
    put = (xp.scatter_add(x_flat, places, values, axis=0) if accumulate else
           xp.scatter(x_flat, places, values, axis=0, reduce=None))
    return xp.reshape(put, shape=tuple(x.shape))


def masked_select(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """With a mask for all, the places are known."""
    (x, mask), (_, mask_has) = level.opened(inputs)
    if mask_has:
        raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
                           "because for each batch this would return a differently shaped Tensor. Please file an issue at "
                           "https://github.com/pytorch/pytorch/issues if you need this feature.")
    shape = statics.get("shape", inputs[0]._array.shape)
    places = wrap(np.flatnonzero(np.broadcast_to(mask._array, shape)))
    if row.name == "masked_select":
        return level.closed(xp.index_select(xp.reshape(x, shape=(level.size, math.prod(shape))), places, axis=1))
    flat = xp.index_select_backward(x, places, shape=(level.size, math.prod(shape)), axis=1)
    return level.closed(xp.reshape(flat, shape=(level.size, *shape)))


masked_select_backward = masked_select


def _in_order(xp: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    """For each element of this shape, how many before it the mask selects: the place of its value among the values."""
    counted = xp.cumsum(_flat(xp, xp.expand(mask, shape=shape)).long(), axis=0)
    return xp.maximum(counted - 1, wrap(np.zeros((), np.int64)))


def _masked_scatter(xp: Any, x: Any, mask: Any, src: Any) -> Any:
    shape = tuple(x.shape)
    if not math.prod(src.shape):
        return xp.clone(x)
    taken = xp.gather(_flat(xp, src), _in_order(xp, mask, shape), axis=0)
    return xp.where(mask, xp.reshape(taken, shape=shape), x)


@by
def masked_scatter_backward(xp: Any, x: Any, mask: Any, *, shape: tuple[int, ...]) -> Any:
    chosen = _flat(xp, xp.where(mask, x, 0))
    first = xp.gather_backward(chosen, _in_order(xp, mask, tuple(x.shape)), shape=(max(math.prod(shape), 1),), axis=0)
    return xp.reshape(xp.slice(first, axis=0, start=0, stop=math.prod(shape), step=1), shape=shape)


masked_scatter = by(_masked_scatter)


@by
def masked_place(xp: Any, x: Any, mask: Any, *, shape: tuple[int, ...]) -> Any:
    return _masked_scatter(xp, wrap(np.zeros(shape, x._array.dtype)), mask, x)
