"""ops/index.py on NumPy arrays.

Elements are addressed by NumPy's subscripts, or by flat positions in a row-major array. Accumulation at positions that may
repeat is many times faster with flat positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.memory_order import copy_of, empty_in_order
from whygrad.backends.numpy_reduction import is_half
from whygrad.base import acceleration
from whygrad.base.index_width import gives_indices

Shape = tuple[int, ...]


def changed_copy(write: Callable[..., None]) -> Callable[..., Any]:
    """The row that applies `write` to a copy of its first argument. In-place ops use the attribute `into`, `write` itself."""

    def row(x: Any, *args: Any, **statics: Any) -> Any:
        result = copy_of(np.asarray(x))
        write(result, *args, **statics)
        return result

    row.__name__ = row.__qualname__ = write.__name__
    row.into = write  # type: ignore[attr-defined]
    return row


def add_at(target: np.ndarray, positions: np.ndarray, values: Any) -> np.ndarray:
    """Add values to a flat array; repeated positions accumulate."""
    _apply_at(np.add, target, positions, values)
    return target


def _apply_at(ufunc: np.ufunc, target: np.ndarray, positions: Any, values: Any) -> None:
    """`ufunc.at`; half precision is accumulated in float32 and rounded once."""
    if is_half(target.dtype) and np.size(values) > 1:
        wide = target.astype(np.float32)
        ufunc.at(wide, positions, np.asarray(values).astype(np.float32))
        target[...] = wide.astype(target.dtype)
    else:
        ufunc.at(target, positions, values)


def flat_positions(shape: Shape, subscript: list[Any]) -> np.ndarray:
    """Positions in the flattened array, given one index array per axis (they broadcast together)."""
    positions: Any = 0
    width = 1
    for n, array in zip(reversed(shape), reversed(subscript), strict=True):
        positions = positions + array * width
        width *= n
    return np.asarray(positions)


def combine_at(x: np.ndarray, subscript: list[Any], values: Any, ufunc: np.ufunc) -> None:
    """`x[subscript] += values` (or another ufunc), where repeated positions accumulate."""
    if x.flags.c_contiguous and x.ndim:
        positions = flat_positions(x.shape, subscript)
        values = np.broadcast_to(values, positions.shape).ravel() if np.ndim(values) else values
        _apply_at(ufunc, x.reshape(-1), positions.ravel(), values)
    else:
        _apply_at(ufunc, x, tuple(subscript), values)


def is_flat(index: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Whether the index was made from a mask over several axes: distinct flat positions in these axes merged."""
    return index.ndim == 1 and len(axes) > 1


def merged(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """`x` with adjacent axes merged into one: a view if `x` is row-major."""
    shape, first = x.shape, axes[0]
    after = axes[-1] + 1
    return x.reshape(*shape[:first], math.prod(shape[first:after]), *shape[after:])


def arrays_of(index: np.ndarray, axes: tuple[int, ...], shape: Shape) -> Any:
    """One index array for each of the axes."""
    if len(axes) == 1:
        return (index,)
    return np.unravel_index(index, [shape[axis] for axis in axes]) if index.ndim == 1 else index


def open_subscript(shape: Shape, index: np.ndarray, axes: tuple[int, ...]) -> list[Any]:
    """An index array for every axis of the shape: those of `index` for `axes`, a range for the others.

    As in NumPy, the dims of the index replace its axes if these are adjacent, and come first otherwise.
    """
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    before = axes[0] if adjacent else 0
    indices = dict(zip(axes, arrays_of(index, axes, shape), strict=True))
    dims = indices[axes[0]].ndim
    after_index = (1,) * (len(rest) - before)
    result: list[Any] = []
    for axis, n in enumerate(shape):
        if axis in indices:
            result.append(indices[axis].reshape(indices[axis].shape + after_index))
        else:
            position = rest.index(axis)
            following = len(rest) - position - 1 + (dims if position < before else 0)
            result.append(np.arange(n).reshape((n,) + (1,) * following))
    return result


def subscript(shape: Shape, index: np.ndarray, axes: tuple[int, ...]) -> tuple[Any, ...]:
    """The subscript for `x[...]` that is equivalent to `index` along `axes`."""
    key: list[Any] = [slice(None)] * (axes[-1] + 1)
    for axis, indices in zip(axes, arrays_of(index, axes, shape), strict=True):
        key[axis] = indices
    return tuple(key)


def index(x: Any, index: Any, *, axes: tuple[int, ...]) -> Any:
    if len(axes) == 1:
        out = x.take(index, axes[0])
    elif is_flat(index, axes):
        out = merged(x, axes).take(index, axes[0])
    else:
        out = x[subscript(x.shape, index, axes)]
    return out if x.flags.c_contiguous and out.flags.c_contiguous else _in_order(out, x, axes)


def _in_order(out: np.ndarray, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """`out` in torch's memory order: axes that were not indexed keep their order, the new ones are row-major."""
    kept = [stride for axis, stride in enumerate(x.strides) if axis not in axes]
    new = out.ndim - len(kept)
    first = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    old = (*kept[:first], *(0,) * new, *kept[first:])
    row_major = (*(0,) * first, *range(new, 0, -1), *(0,) * (len(kept) - first))
    wanted = empty_in_order(out.shape, out.dtype, (old, row_major))
    wanted[...] = out
    return wanted


def index_backward(x: Any, index: Any, *, shape: Shape, axes: tuple[int, ...]) -> Any:
    result = np.zeros(shape, x.dtype)
    if is_flat(index, axes):
        merged(result, axes)[(slice(None),) * axes[0] + (index,)] = x
    elif x.size:
        add_at(result.reshape(-1), flat_positions(shape, open_subscript(shape, index, axes)).ravel(), x.ravel())
    return result


@quiet
@changed_copy
def index_put(x: Any, values: Any, index: Any, *, axes: tuple[int, ...], accumulate: bool) -> None:
    if accumulate:
        if axes == (0,) and np.shape(values) == index.shape + x.shape[1:] and acceleration.add_rows(x, index, values):
            return
        combine_at(x, open_subscript(x.shape, index, axes), values, np.add)
    elif is_flat(index, axes) and x.flags.c_contiguous:
        merged(x, axes)[(slice(None),) * axes[0] + (index,)] = values
    else:
        x[subscript(x.shape, index, axes)] = values


def along(index: np.ndarray, axis: int) -> list[Any]:
    """The subscript of gather and scatter: `index` along `axis`, the element's own coordinates along the others."""
    own: list[Any] = [np.arange(n).reshape((n,) + (1,) * (index.ndim - a - 1)) for a, n in enumerate(index.shape)]
    own[axis] = index
    return own


def gather(x: Any, index: Any, *, axis: int) -> Any:
    if not x.ndim or not index.ndim:
        return x.reshape(-1)[index]
    if not index.size:
        return np.empty(index.shape, x.dtype)
    if x.flags.c_contiguous:
        return x.reshape(-1).take(flat_positions(x.shape, along(index, axis)))
    return x[tuple(along(index, axis))]


def gather_backward(x: Any, index: Any, *, shape: Shape, axis: int) -> Any:
    result = np.zeros(shape, x.dtype)
    scatter_add.into(result, index, x, axis=axis)  # type: ignore[attr-defined]
    return result


@quiet
@changed_copy
def scatter(x: Any, index: Any, src: Any, *, axis: int, reduce: str | None) -> None:
    if acceleration.put_elements(x, index, src, axis, reduce or "set"):
        return
    if reduce is None and index.size:
        x, subscript, values = _subscript_and_values(x, index, src, axis)
        x[tuple(subscript)] = values
    else:
        _combine_scattered(x, index, src, axis, np.multiply if reduce == "multiply" else np.add)


@quiet
@changed_copy
def scatter_add(x: Any, index: Any, src: Any, *, axis: int) -> None:
    if not acceleration.put_elements(x, index, src, axis, "add"):
        _combine_scattered(x, index, src, axis, np.add)


def _combine_scattered(x: Any, index: Any, src: Any, axis: int, ufunc: np.ufunc) -> None:
    if index.size:
        x, subscript, values = _subscript_and_values(x, index, src, axis)
        combine_at(x, subscript, values, ufunc)


def _subscript_and_values(x: np.ndarray, index: np.ndarray, src: Any, axis: int) -> tuple[np.ndarray, list[Any], Any]:
    """0-dim arrays become vectors of one element; a source larger than the index is cut to its shape."""
    x, index = (a.reshape(1) if not a.ndim else a for a in (x, index))
    if isinstance(src, np.ndarray):
        src = src.reshape(1) if not src.ndim else src[tuple([slice(n) for n in index.shape])]
    return x, along(index, axis), src


def index_select(x: Any, index: Any, *, axis: int) -> Any:
    return x.take(index if index.ndim else index.reshape(1), axis) if x.ndim else x.copy()


def index_select_backward(x: Any, index: Any, *, shape: Shape, axis: int) -> Any:
    return index_backward(x, index.reshape(-1), shape=shape, axes=(axis,)) if shape else x.copy()


@quiet
@changed_copy
def index_add(x: Any, index: Any, source: Any, *, axis: int, alpha: Any = 1) -> None:
    values = source if alpha == 1 else source * alpha
    x, values = (a.reshape(1) if not a.ndim else a for a in (x, values))
    if axis == 0 and acceleration.add_rows(x, index.reshape(-1), values):
        return
    combine_at(x, open_subscript(x.shape, index.reshape(-1), (axis,)), values, np.add)


@changed_copy
def index_copy(x: Any, index: Any, source: Any, *, axis: int) -> None:
    if x.ndim:
        x[(slice(None),) * axis + (index.reshape(-1),)] = source
    else:
        x[...] = source.reshape(())


@changed_copy
def index_fill(x: Any, index: Any, value: Any, *, axis: int) -> None:
    x[(slice(None),) * axis + (index,) if x.ndim else ...] = value


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    if x.size >= 4096 and mask.shape == x.shape and x.flags.c_contiguous and not np.ndim(value):
        result = x.copy()
        _fill_into(result, mask, value)
        return result
    return np.where(mask, value if isinstance(value, np.ndarray) else x.dtype.type(value), x)


def _fill_into(x: Any, mask: Any, value: Any) -> None:
    if mask.shape == x.shape and x.flags.c_contiguous:
        x.reshape(-1)[flat_mask(mask)] = value
    else:
        np.copyto(x, value, casting="unsafe", where=mask)


masked_fill.into = _fill_into  # type: ignore[attr-defined]


def flat_mask(mask: Any) -> Any:
    """Flat positions where a mask is true: several times faster for reading and writing than the mask itself."""
    return mask.reshape(-1).nonzero()[0]


def masked_select(x: Any, mask: Any) -> Any:
    return x.reshape(-1).take(flat_mask(np.broadcast_to(mask, x.shape)))


def masked_select_backward(x: Any, mask: Any, *, shape: Shape) -> Any:
    result = np.zeros(shape, x.dtype)
    result.reshape(-1)[flat_mask(np.broadcast_to(mask, shape))] = x
    return result


@changed_copy
def masked_scatter(x: Any, mask: Any, source: Any) -> None:
    mask = np.broadcast_to(mask, x.shape)
    x[mask] = source.ravel()[:np.count_nonzero(mask)]


def masked_place(x: Any, mask: Any, *, shape: Shape) -> Any:
    return masked_scatter(np.zeros(shape, x.dtype), mask, x)


def masked_scatter_backward(x: Any, mask: Any, *, shape: Shape) -> Any:
    chosen = masked_select(x, mask)
    result = np.zeros(math.prod(shape), x.dtype)
    result[:chosen.size] = chosen
    return result.reshape(shape)


def take(x: Any, index: Any) -> Any:
    return x.reshape(-1)[index]


def take_backward(x: Any, index: Any, *, shape: Shape) -> Any:
    return add_at(np.zeros(math.prod(shape), x.dtype), index.ravel(), x.ravel()).reshape(shape)


@gives_indices()
def nonzero(x: Any) -> Any:
    if not x.ndim:
        return np.empty((int(bool(x)), 0), np.int64)
    found = x.reshape(-1).nonzero()[0] if x.flags.c_contiguous else np.flatnonzero(x)  # flat is many times faster
    return np.array(np.unravel_index(found, x.shape), np.int64).T if x.ndim > 1 else found.reshape(-1, 1)
