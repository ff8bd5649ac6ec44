"""NumPy words for ops/index.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_whygrad_internal_ = True

Shape = tuple[int, ...]


def add_at(target: np.ndarray, places: np.ndarray, values: Any) -> np.ndarray:
    """Add values to a flat array, also where places repeat. NumPy has a fast path for exactly this."""
    np.add.at(target, places, values)
    return target


def add_rows(count: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Zeros of `count` rows, with each row of `values` (as many as `rows`) added to the row it belongs to."""
    width = values.size // rows.size if rows.size else 0
    result = np.zeros(count * width, values.dtype)
    places = rows.ravel()
    if width != 1:
        places = (places[:, None] * width + np.arange(width)).ravel()
    return add_at(result, places, values.ravel())


def subscript(index: np.ndarray, axes: tuple[int, ...]) -> tuple[Any, ...]:
    """What NumPy wants between the brackets."""
    key: list[Any] = [slice(None)] * (axes[-1] + 1)
    for axis, places in zip(axes, index, strict=True):
        key[axis] = places
    return tuple(key)


def index(x: Any, index: Any, *, axes: tuple[int, ...]) -> Any:
    if len(axes) == 1:
        return x.take(index[0], axes[0])
    return np.ascontiguousarray(x[subscript(index, axes)])


def index_backward(x: Any, index: Any, *, shape: Shape, axes: tuple[int, ...]) -> Any:
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    indexed_shape = tuple([shape[axis] for axis in axes])
    # The dims of the index stand where the indexed axes stood, or in front if those were apart.
    adjacent = axes[-1] - axes[0] == len(axes) - 1
    first, dims = axes[0] if adjacent else 0, index.ndim - 1
    values = np.moveaxis(x, range(first, first + dims), range(dims)) if first else x
    rows = np.ravel_multi_index(tuple(index), indexed_shape) if len(axes) > 1 else index[0]
    if not rows.size:
        return np.zeros(shape, x.dtype)
    result = add_rows(math.prod(indexed_shape), rows, values)
    result = result.reshape(indexed_shape + tuple([shape[axis] for axis in rest]))
    return np.ascontiguousarray(result.transpose(np.argsort([*axes, *rest])))


def index_put(x: Any, values: Any, index: Any, *, axes: tuple[int, ...], accumulate: bool) -> Any:
    key = subscript(index, axes)
    if not accumulate:
        result = x.copy("K")
        result[key] = values
        return result
    places = np.arange(x.size).reshape(x.shape)[key]
    return add_at(x.copy().ravel(), places.ravel(), np.broadcast_to(values, places.shape).ravel()).reshape(x.shape)


def first_part(x: Any, shape: Shape, axis: int) -> Any:
    """As much of `x` as an index of this shape reaches, along all axes but `axis`."""
    return x[tuple([slice(None) if a == axis else slice(n) for a, n in enumerate(shape)])]


def along(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The subscript whose places along `axis` are `index`, and along the others the element's own."""
    ndim = index.ndim
    own = [np.arange(n).reshape((n,) + (1,) * (ndim - a - 1)) for a, n in enumerate(index.shape)]
    return (*own[:axis], index, *own[axis + 1:])


def flat_places(shape: Shape, index: np.ndarray, axis: int) -> np.ndarray:
    """The places of `along(index, axis)` in a flattened array of this shape."""
    result: Any = 0
    width = 1
    for a, places in reversed(list(enumerate(along(index, axis)))):
        result = result + places * width
        width *= shape[a]
    return np.broadcast_to(result, index.shape).ravel()


def gather(x: Any, index: Any, *, axis: int) -> Any:
    if not index.ndim:
        return x.reshape(-1)[index]
    if not x.ndim:
        return np.full(index.shape, x, x.dtype)
    if not index.size:
        return np.empty(index.shape, x.dtype)
    return np.take_along_axis(first_part(x, index.shape, axis), index, axis)


def gather_backward(x: Any, index: Any, *, shape: Shape, axis: int) -> Any:
    return scatter_add(np.zeros(shape, x.dtype), index, x, axis=axis)


def scatter(x: Any, index: Any, src: Any, *, axis: int, reduce: str | None) -> Any:
    result = x.copy()
    flat = result.reshape(-1)
    places, values = _places_and_values(x.shape, index, src, axis)
    if reduce is None:
        flat[places] = values
    elif reduce == "add":
        np.add.at(flat, places, values)
    else:
        np.multiply.at(flat, places, values)
    return result


def scatter_add(x: Any, index: Any, src: Any, *, axis: int) -> Any:
    result = x.copy()
    add_at(result.reshape(-1), *_places_and_values(x.shape, index, src, axis))
    return result


def _places_and_values(shape: Shape, index: np.ndarray, src: Any, axis: int) -> tuple[np.ndarray, Any]:
    if not index.size:
        return np.empty(0, np.intp), np.empty(0, np.bool_)
    places = flat_places(shape, index, axis) if index.ndim and shape else index.reshape(-1)
    if isinstance(src, np.ndarray):
        src = src[tuple([slice(n) for n in index.shape])].ravel() if src.ndim else src
    return places, src


def index_select(x: Any, index: Any, *, axis: int) -> Any:
    return x.take(index if index.ndim else index.reshape(1), axis) if x.ndim else x.copy()


def index_select_backward(x: Any, index: Any, *, shape: Shape, axis: int) -> Any:
    if not shape:
        return x.copy()
    return index_backward(x, index.reshape(1, -1), shape=shape, axes=(axis,))


def index_add(x: Any, index: Any, source: Any, *, axis: int, alpha: Any = 1) -> Any:
    values = source if alpha == 1 else source * alpha
    if x.dtype.kind == "b":
        return x | index_select_backward(values.astype(np.uint8), index, shape=x.shape, axis=axis).astype(np.bool_)
    return x + index_select_backward(values, index, shape=x.shape, axis=axis)


def index_copy(x: Any, index: Any, source: Any, *, axis: int) -> Any:
    result = x.copy("K")
    if x.ndim:
        result[(slice(None),) * axis + (index,)] = source
    else:
        result[...] = source.reshape(())
    return result


def index_fill(x: Any, index: Any, value: Any, *, axis: int) -> Any:
    result = x.copy("K")
    result[(slice(None),) * axis + (index,) if x.ndim else ...] = value
    return result


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    result = x.copy()
    np.copyto(result, value, casting="unsafe", where=mask)
    return result


def masked_select(x: Any, mask: Any) -> Any:
    return x[np.broadcast_to(mask, x.shape)]


def masked_select_backward(x: Any, mask: Any, *, shape: Shape) -> Any:
    result = np.zeros(shape, x.dtype)
    result[np.broadcast_to(mask, shape)] = x
    return result


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    mask = np.broadcast_to(mask, x.shape)
    result = x.copy()
    result[mask] = source.ravel()[:np.count_nonzero(mask)]
    return result


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


def nonzero(x: Any) -> Any:
    if not x.ndim:
        return np.empty((int(bool(x)), 0), np.int64)
    return np.array(x.nonzero(), np.int64).T
