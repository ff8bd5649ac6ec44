"""Rows on the meta device: the shape and dtype of a result come from the rows themselves, without computing.

A tensor without values is treated as a batch of no elements. The row is applied to that batch as vmap applies it (see
batching/), so what comes out has everything but elements. A row whose result shares memory with its argument is applied as it
is, for that touches no element.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from whygrad.autograd.batched import batched
from whygrad.autograd.batching import VmapLevel, conv, looped, nn, rule_for
from whygrad.backends import raw
from whygrad.backends.memory_order import following, has_channels_last
from whygrad.base.meta_array import NO_DATA, MetaArray, meta_array, on_change
from whygrad.base.unread_array import contiguous_strides, without_memory
from whygrad.core.door import with_levels
from whygrad.core.modes import process_state, refresh
from whygrad.core.tensor import wrap
from whygrad.ops.table import Row


class MetaLevel(VmapLevel):
    """A batch of no elements."""

    def __init__(self) -> None:
        super().__init__(0)

    def dynamic_shape(self, name: str) -> Exception:
        return _not_there(name)


def _not_there(name: str) -> Exception:
    return NotImplementedError(f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake impl or "
                               "Meta kernel registered: the shape of its result is not known without values.")


def results(row: Row, arrays: list[Any], statics: dict[str, Any]) -> list[MetaArray] | None:
    """The results of a row without their values; None if all arguments have values."""
    metas = [x for x in arrays if type(x) is MetaArray]
    if not metas:
        return None
    if row.view:
        outs = getattr(raw, row.name)(*[x.view(np.ndarray) if type(x) is MetaArray else x for x in arrays], **statics)
        return [x.view(MetaArray) for x in (outs if isinstance(outs, (list, tuple)) else (outs,))]
    if row.broadcasts or row.variadic:
        _check_same_device(arrays)
    rule = rule_for(row)
    if rule is looped:
        raise _not_there(row.name)
    described = _by_samples if rule in OF_SAMPLES else _by_batch
    shown = [x for x in arrays if isinstance(x, np.ndarray) and x.ndim]
    return [meta_array(shape, dtype, _strides(row, i, shape, dtype.itemsize, shown, statics.get("order")))
            for i, (shape, dtype) in enumerate(described(row, arrays, statics))]


Described = list[tuple[tuple[int, ...], np.dtype]]


def _by_batch(row: Row, arrays: list[Any], statics: dict[str, Any]) -> Described:
    """Shapes and dtypes of the results for a batch of no elements."""
    level = MetaLevel()
    inputs = tuple([batched(wrap(np.empty((0, *x.shape), x.dtype)), level) if type(x) is MetaArray else
                    wrap(x) if isinstance(x, np.ndarray) else x for x in arrays])
    found: Any = with_levels((), rule_for(row), level, row, inputs, statics)
    wholes = [t._whole._array for t in (found if isinstance(found, list) else (found,))]
    return [(x.shape[1:], x.dtype) for x in wholes]


# Rules that put the elements of a batch into a longer first axis, that of the samples: here that axis has no elements.
OF_SAMPLES = (conv.convolve, conv.weight_gradient, nn.folded, nn.embedding_backward)


def _by_samples(row: Row, arrays: list[Any], statics: dict[str, Any]) -> Described:
    samples = arrays[0].shape[0]
    of_samples = [x is arrays[0] or rule_for(row) is not conv.convolve for x in arrays]  # the others are weights
    found = getattr(raw, row.name)(*[
        without_memory((0, *x.shape[1:]) if has else x.shape, x.dtype) if isinstance(x, np.ndarray) else x
        for x, has in zip(arrays, of_samples, strict=True)], **statics)
    return [((samples, *x.shape[1:]) if x.shape[:1] == (0,) else x.shape, x.dtype)
            for x in (found if isinstance(found, (tuple, list)) else (found,))]


def _check_same_device(arrays: list[Any]) -> None:
    if any(type(x) is np.ndarray and x.ndim for x in arrays):
        raise RuntimeError("Tensor on device cpu is not on the expected device meta!")


def _strides(row: Row, i: int, shape: tuple[int, ...], itemsize: int, arrays: list[Any], order: Any) -> tuple[int, ...] | None:
    """The strides of a result, as core/record.py lays it out in memory; None if it is contiguous. `order` is clone's."""
    if row.memory == "follow" and all(x.ndim <= len(shape) for x in arrays):
        return following(shape, itemsize, arrays)
    if not arrays or order == "C":
        return None
    if row.memory == "own" and arrays[0].shape == shape and order != "channels last":
        return following(shape, itemsize, arrays[:1])
    if order == "channels last" or (row.memory in ("channels", "own") and len(shape) == arrays[0].ndim
                                    and has_channels_last(arrays[0])):
        inner = contiguous_strides((shape[0], *shape[2:], shape[1]), itemsize)
        return (inner[0], inner[-1], *inner[1:-1])
    if row.memory == "columns" and i in row.matrices and len(shape) > 1:
        inner = contiguous_strides((*shape[:-2], shape[-1], shape[-2]), itemsize)
        return (*inner[:-2], inner[-1], inner[-2])
    return None


def written(row: Row, arrays: list[Any], target: np.ndarray) -> bool:
    """Whether a write in place is done with, because what is written to has no values."""
    if type(target) is MetaArray:
        if row.broadcasts and row.name != "copy":
            _check_same_device(arrays)
        return True
    if any(type(x) is MetaArray for x in arrays):
        raise NotImplementedError(NO_DATA)
    return False


def _mind(there_are_any: bool) -> None:
    process_state.meta = sys.modules[__name__] if there_are_any else None
    refresh()


on_change.append(_mind)
