"""ops/layout.py on NumPy arrays. The function of a `view` row must return an array that shares memory with its argument."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as numpy_as_strided

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.memory_order import copy_in_order, copy_of, empty_like, has_channels_last
from whygrad.backends.numpy_index import add_at, index_select_backward
from whygrad.base import acceleration

Shape = tuple[int, ...]
Geometry = tuple[Shape, tuple[int, ...], int]

ndarray = np.ndarray
# The builtin, which the row of that name shadows below.
span = slice
everything = span(None)


def alias(x: Any) -> Any:
    return x.view()


def view(x: Any, *, shape: Shape) -> Any:
    if x.flags.c_contiguous:
        return x.reshape(shape)
    result = x.reshape(shape, copy=False)
    if 1 in shape:
        strides = _view_strides(x.shape, x.strides, shape)
        if result.strides != strides:
            result = numpy_as_strided(x, shape, strides)
    return result


reshape_alias = view


def _view_strides(shape: Shape, strides: tuple[int, ...], new_shape: Shape) -> tuple[int, ...]:
    """torch's strides for a view that is known to exist; NumPy's differ for axes of length 1."""
    result = list(new_shape)
    new, base = len(new_shape) - 1, strides[-1]
    count = new_count = 1
    for axis in reversed(range(len(shape))):
        count *= shape[axis]
        # A group of mergeable axes, and with it a group of new axes, ends where strides are not contiguous.
        if axis == 0 or (shape[axis - 1] != 1 and strides[axis - 1] != count * base):
            while new >= 0 and (new_count < count or new_shape[new] == 1):
                result[new] = new_count * base
                new_count *= new_shape[new]
                new -= 1
            base, count, new_count = strides[axis - 1], 1, 1
    return tuple(result)


def reshape(x: Any, *, shape: Shape) -> Any:
    return x.reshape(shape)


def view_as_real(x: Any) -> Any:
    return x[..., None].view(np.dtype(f"f{x.itemsize // 2}"))


def view_as_complex(x: Any) -> Any:
    return x.view(np.dtype(f"c{x.itemsize * 2}"))[..., 0]


def clone(x: Any, *, order: Any = "K") -> Any:
    if order == "channels last":
        return np.moveaxis(np.moveaxis(x, 1, -1).copy(), -1, 1)
    return copy_of(x) if order == "K" else x.copy(order)


def expand(x: Any, *, shape: Shape) -> Any:
    if type(x) is not ndarray:
        x = np.asarray(x)
    new = len(shape) - x.ndim
    strides = (0,) * new + tuple([s if m == n else 0 for m, n, s in zip(x.shape, shape[new:], x.strides, strict=True)])
    if new and 1 in shape[:new]:
        strides = _strides_of_new_axes(shape, strides, new, x.itemsize)
    if x.flags.c_contiguous and x.size and x.dtype.kind != "V":
        return ndarray(shape, x.dtype, x, 0, strides)
    return numpy_as_strided(x, shape, strides)


def _strides_of_new_axes(shape: Shape, strides: tuple[int, ...], new: int, itemsize: int) -> tuple[int, ...]:
    """torch's strides for new leading axes: one of length 1 has the extent of the axis after it as its stride."""
    result = list(strides)
    for axis in reversed(range(new)):
        if shape[axis] == 1:
            result[axis] = shape[axis + 1] * result[axis + 1] if axis + 1 < len(shape) else itemsize
    return tuple(result)


def t(x: Any) -> Any:
    return x.T


def transpose(x: Any, *, axis0: int, axis1: int) -> Any:
    return x.swapaxes(axis0, axis1) if x.ndim else x.view()


def permute(x: Any, *, axes: tuple[int, ...]) -> Any:
    return x.transpose(axes)


def squeeze(x: Any, *, axis: Any) -> Any:
    if axis is None:
        return x.squeeze()
    if isinstance(axis, int):
        return x.squeeze(axis) if x.ndim and x.shape[axis] == 1 else x.view()
    return x.squeeze(tuple([a for a in axis if x.ndim and x.shape[a] == 1]))


def unsqueeze(x: Any, *, axis: int) -> Any:
    shape = x.shape
    longer = (*shape[:axis], 1, *shape[axis:])
    if x.flags.c_contiguous:
        return x.reshape(longer)
    width = x.strides[axis] * shape[axis] if axis < x.ndim else x.itemsize
    return numpy_as_strided(x, longer, (*x.strides[:axis], width, *x.strides[axis:]))


def select(x: Any, *, axis: int, index: int) -> Any:
    # With the Ellipsis a 0-dim result is an array that shares memory, and not a scalar.
    return x[index, ...] if axis == 0 else x[(everything,) * axis + (index, ...)]


def select_backward(x: Any, *, shape: Shape, axis: int, index: int) -> Any:
    result = np.zeros(shape, x.dtype)
    select(result, axis=axis, index=index)[...] = x
    return result


def slice(x: Any, *, axis: int, start: int, stop: int, step: int = 1) -> Any:
    part = span(start, stop, step)
    return x[part] if axis == 0 else x[(everything,) * axis + (part,)]


def slice_backward(x: Any, *, shape: Shape, axis: int, start: int, stop: int, step: int) -> Any:
    result = np.zeros(shape, x.dtype)
    slice(result, axis=axis, start=start, stop=stop, step=step)[...] = x
    return result


def diagonal(x: Any, *, offset: int, axis1: int, axis2: int) -> Any:
    if x.size and x.flags.writeable and -x.shape[axis1] < offset < x.shape[axis2]:
        found = x.diagonal(offset, axis1, axis2)
        found.flags.writeable = True
        return found
    rows, columns = x.shape[axis1], x.shape[axis2]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    kept = [a for a in range(x.ndim) if a not in (axis1, axis2)]
    # A view that starts at the diagonal's first element; its stride is the sum of both axes' strides.
    start = [everything] * x.ndim
    if length:
        start[axis2 if offset >= 0 else axis1] = span(abs(offset), None)
    first = x[tuple(start)]
    return numpy_as_strided(first, (*[x.shape[a] for a in kept], length),
                            (*[x.strides[a] for a in kept], x.strides[axis1] + x.strides[axis2]))


def diagonal_backward(x: Any, *, shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    result = np.zeros(shape, x.dtype)
    diagonal(result, offset=offset, axis1=axis1, axis2=axis2)[...] = x
    return result


def unfold(x: Any, *, axis: int, size: int, step: int) -> Any:
    if not x.ndim:
        return numpy_as_strided(x, (size,), (x.itemsize,))
    count = (x.shape[axis] - size) // step + 1
    return numpy_as_strided(x, (*x.shape[:axis], count, *x.shape[axis + 1:], size),
                            (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1:], x.strides[axis]))


def unfold_backward(x: Any, *, shape: Shape, axis: int, size: int, step: int) -> Any:
    result = np.zeros(shape, x.dtype)
    if not shape:
        return result + x.sum()
    reach = (x.shape[axis] - 1) * step + 1
    for offset in range(size):
        slice(result, axis=axis, start=offset, stop=offset + reach, step=step)[...] += x[..., offset]
    return result


def as_strided(x: Any, *, geometry: Geometry, x_geometry: Geometry) -> Any:
    shape, strides, offset = geometry
    itemsize = x.itemsize
    if not x.size and 0 in shape:
        return numpy_as_strided(x, shape, tuple([s * itemsize for s in strides]))
    if x.strides != tuple([s * itemsize for s in x_geometry[1]]):
        raise NotImplementedError("as_strided: writing in place through as_strided into a base that is not dense")
    distance = offset - x_geometry[2]
    line = numpy_as_strided(x, (abs(distance) + 1,), (itemsize if distance >= 0 else -itemsize,))
    return numpy_as_strided(line[abs(distance):], shape, tuple([s * itemsize for s in strides]))


def storage(x: np.ndarray) -> tuple[np.ndarray, int]:
    """The array that owns the memory of `x`, and the offset of `x` in it in bytes."""
    owner: Any = x
    base: Any = x.base
    while base is not None:
        if isinstance(base, ndarray):
            owner = base
        base = getattr(base, "base", None)
    return owner, address(x) - address(owner)


def address(x: np.ndarray) -> int:
    found: int = x.__array_interface__["data"][0]
    return found


def element_offsets(geometry: Geometry) -> np.ndarray:
    """The memory offset of each element of a geometry."""
    shape, strides, offset = geometry
    result = np.full(shape, offset, np.intp)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        result += (np.arange(n) * stride).reshape((n,) + (1,) * (len(shape) - axis - 1))
    return result


@quiet
def restride(x: Any, *, origin: Geometry, target: Geometry, shared: Geometry) -> Any:
    read, written, counted = (element_offsets(geometry) for geometry in (target, origin, shared))
    extent = 1 + max([int(p.max()) for p in (read, written) if p.size], default=0)
    memory = add_at(np.zeros(extent, x.dtype), written.ravel(), x.ravel())
    sharers = np.bincount(counted.ravel(), minlength=extent)[:extent]
    if sharers.max(initial=0) > 1:
        memory = memory / np.maximum(sharers, 1).astype(memory.real.dtype)
    return memory[read]


def cat(*xs: Any, axis: int) -> Any:
    """The result is row-major, unless all inputs are in channels_last order."""
    if xs[0].ndim > 3 and not xs[0].flags.c_contiguous and all(has_channels_last(x) for x in xs):
        axis_in_memory = xs[0].ndim - 1 if axis == 1 else axis - (axis > 1)
        return np.moveaxis(np.concatenate([np.moveaxis(x, 1, -1) for x in xs], axis_in_memory), -1, 1)
    try:
        joined = np.concatenate(xs, axis)
    except ValueError:  # torch skips vectors of length 0, whatever the other shapes are
        joined = np.concatenate([x for x in xs if x.shape != (0,)], axis)
    return joined if joined.flags.c_contiguous else np.ascontiguousarray(joined)


def lying_end_to_end(parts: Any, axis: int) -> Any:
    """The array whose consecutive parts along `axis` these are, as a view; None if they are not adjacent in memory."""
    first = parts[0]
    base, strides, shape = first.base, first.strides, first.shape
    if type(base) is not np.ndarray or not base.flags.c_contiguous:
        return None
    start, length = acceleration.address(first), 0
    for x in parts:
        if (x.base is not base or x.strides != strides or x.dtype is not first.dtype
                or x.shape[:axis] != shape[:axis] or x.shape[axis + 1:] != shape[axis + 1:]
                or acceleration.address(x) != start + length * strides[axis]):
            return None
        length += x.shape[axis]
    return np.ndarray((*shape[:axis], length, *shape[axis + 1:]), first.dtype, base, start - acceleration.address(base), strides)


def stack(*xs: Any, axis: int) -> Any:
    with_new_axis = (everything,) * axis + (None,)
    return np.concatenate([x[with_new_axis] for x in xs], axis)


def split(x: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
    parts, start = [], 0
    for size in sizes:
        parts.append(slice(x, axis=axis, start=start, stop=start + size))
        start += size
    return parts


split_with_sizes = split


def unbind(x: Any, *, axis: int) -> Any:
    return [select(x, axis=axis, index=i) for i in range(x.shape[axis])]


def repeat(x: Any, *, repeats: tuple[int, ...]) -> Any:
    lengths = (1,) * (len(repeats) - x.ndim) + x.shape
    result = np.empty(tuple([n for pair in zip(repeats, lengths, strict=True) for n in pair]), x.dtype)
    result[...] = x.reshape(tuple([n for length in lengths for n in (1, length)]))
    return result.reshape(tuple([r * n for r, n in zip(repeats, lengths, strict=True)]))


def flip(x: Any, *, axes: tuple[int, ...]) -> Any:
    return copy_in_order(np.flip(x, axes if x.ndim else ()), x)


def roll(x: Any, *, shifts: tuple[int, ...], axes: tuple[int, ...] | None) -> Any:
    return np.roll(x, shifts if axes is not None else shifts[0], axes)


def rot90(x: Any, *, k: int, axes: tuple[int, int]) -> Any:
    rotated = np.rot90(x, k, axes)  # a view; the copy below has the strides of torch's result
    if k % 4 == 0:
        return x.copy("C")
    return copy_in_order(rotated, np.swapaxes(empty_like(x), *axes) if k % 2 else x)


def tril(x: Any, *, diagonal: int) -> Any:
    return np.tril(x, diagonal)


def triu(x: Any, *, diagonal: int) -> Any:
    return np.triu(x, diagonal)


def constant_pad(x: Any, *, pads: tuple[tuple[int, int], ...], value: Any) -> Any:
    shape = tuple([n + before + after for n, (before, after) in zip(x.shape, pads, strict=True)])
    result = np.zeros(shape, x.dtype) if str(value) == "0" else np.full(shape, value, x.dtype)  # excludes -0.0
    inside = tuple([span(max(before, 0), n - max(after, 0)) for n, (before, after) in zip(shape, pads, strict=True)])
    kept = tuple([span(max(-before, 0), n - max(-after, 0)) for n, (before, after) in zip(x.shape, pads, strict=True)])
    result[inside] = x[kept]
    return result


# Added elements per axis up to which mirror padding copies slices one by one.
MAX_ADDED = 16


def _own_part(source: np.ndarray, n: int) -> int | None:
    """The start of the original axis within the padded one; None if it was cut, or more than MAX_ADDED were added."""
    if len(source) - n > MAX_ADDED:
        return None
    own = np.arange(n)
    return next((int(start) for start in np.flatnonzero(source == 0) if np.array_equal(source[start:start + n], own)), None)


def _added(source: np.ndarray, n: int, start: int, axis: int) -> list[tuple[Any, Any]]:
    """(subscript in the padded array, subscript in the original) of each added slice."""
    before = (everything,) * axis
    return [((*before, k), (*before, int(source[k]))) for k in (*range(start), *range(start + n, len(source)))]


def mirror_pad(x: Any, *, sources: tuple[tuple[int, np.ndarray], ...], mode: str) -> Any:
    for axis, source in sources:
        n = x.shape[axis]
        start = _own_part(source, n)
        if start is None:
            x = x.take(source, axis)
            continue
        result = np.empty((*x.shape[:axis], len(source), *x.shape[axis + 1:]), x.dtype)
        slice(result, axis=axis, start=start, stop=start + n)[...] = x
        for there, here in _added(source, n, start, axis):
            result[there] = x[here]
        x = result
    return x


def mirror_pad_backward(x: Any, *, shape: Shape, sources: tuple[tuple[int, np.ndarray], ...]) -> Any:
    for axis, source in reversed(sources):
        n = shape[axis]
        start = _own_part(source, n)
        if start is None:
            x = index_select_backward(x, source, shape=(*x.shape[:axis], n, *x.shape[axis + 1:]), axis=axis)
            continue
        result = slice(x, axis=axis, start=start, stop=start + n).copy()
        for there, here in _added(source, n, start, axis):
            result[here] += x[there]
        x = result
    return x
