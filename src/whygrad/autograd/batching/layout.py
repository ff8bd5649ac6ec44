"""Batching of views and of rows that rearrange elements."""

from __future__ import annotations

import math
from typing import Any

from whygrad.autograd.batched import BatchLevel
from whygrad.autograd.batching.families import by, moved, shifted, shifted_with, wholes_of, with_axes
from whygrad.backends import tensor as xp
from whygrad.core.record import apply
from whygrad.functional.memory import Geometry, end_of
from whygrad.ops.table import Row


def t(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    whole = inputs[0]._whole
    return level.closed(xp.transpose(whole, axis0=1, axis1=2) if whole._array.ndim == 3 else xp.alias(whole))


def _ones(axis: Any, shape: tuple[int, ...]) -> Any:
    """The axes that `squeeze` takes away, in the whole; one that is not of length 1 stays."""
    asked = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple([a + 1 for a in asked if a < len(shape) and shape[a] == 1])


def expand(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    shape = statics["shape"]
    return level.closed(xp.expand(with_axes(inputs[0]._whole, len(shape)), shape=(level.size, *shape)))


def sum_to(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    shape, whole = statics["shape"], inputs[0]._whole
    extra = whole._array.ndim - 1 - len(shape)
    summed = xp.sum_to(whole, shape=(level.size, *(1,) * extra, *shape))
    return level.closed(xp.reshape(summed, shape=(level.size, *shape)))


def repeat(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    repeats = statics["repeats"]
    return level.closed(xp.repeat(with_axes(inputs[0]._whole, len(repeats)), repeats=(1, *repeats)))


def cat(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """A vector of length 0 fits anywhere, but not when it has a batch."""
    ndim = max([x._array.ndim for x in inputs])
    fitting = [x for x in inputs if x._array.shape != (0,) or ndim == 1]
    return shifted(level, row, tuple(fitting), statics)


def _rolled_flat(xp: Any, x: Any, *, shifts: Any, axes: Any) -> Any:
    if axes is not None:
        return xp.roll(x, shifts=shifts, axes=axes)
    flat = xp.reshape(x, shape=(math.prod(x.shape),))
    return xp.reshape(xp.roll(flat, shifts=shifts, axes=(0,)), shape=tuple(x.shape))


def roll(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    rule = shifted if statics["axes"] is not None else by(_rolled_flat)
    return rule(level, row, inputs, statics)


def _per_element(geometry: Geometry, size: int, step: int) -> Geometry:
    """A geometry for each element of a batch, `step` apart in memory."""
    shape, strides, offset = geometry
    return (size, *shape), (step, *strides), offset


def as_strided(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    array = inputs[0]._whole._array
    step = array.strides[0] // array.itemsize
    geometries = {name: _per_element(value, level.size, step) for name, value in statics.items()}
    return level.closed(apply(row, inputs[0]._whole, **geometries))


def restride(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    step = max([end_of(geometry) for geometry in statics.values()])
    geometries = {name: _per_element(value, level.size, step) for name, value in statics.items()}
    return level.closed(apply(row, inputs[0]._whole, **geometries))


def as_strided_scatter(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """`as_strided_scatter` sees `x` as elements in order."""
    step = math.prod(inputs[0]._array.shape)
    x, src = wholes_of(level, inputs)
    return level.closed(apply(row, x, src, geometry=_per_element(statics["geometry"], level.size, step)))


permute = shifted_with(axes=lambda axes, shape: (0, *moved(axes, 0)))
squeeze = shifted_with(axis=_ones)
constant_pad = shifted_with(pads=lambda pads, shape: ((0, 0), *pads))
mirror_pad = mirror_pad_backward = shifted_with(
    sources=lambda sources, shape: tuple([(axis + 1, places) for axis, places in sources]))
