"""ops/scatter_reduce.py on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_index import add_at, along, changed_copy, combine_at
from whygrad.backends.numpy_layout import select, slice

UFUNCS: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}


def identity(reduce: str, dtype: Any) -> Any:
    """The identity of the reduction, the start value if the array's own elements are excluded."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


@quiet
@changed_copy
def scatter_reduce(x: Any, index: Any, src: Any, *, axis: int, reduce: str, include_self: bool, node: str = "",
                   function: str = "") -> None:
    if not index.size:
        return
    if not x.ndim:
        x = x.reshape(1)
    index = index if index.ndim else index.reshape(1)
    src = src[tuple([np.s_[:n] for n in index.shape])] if src.ndim else src.reshape(1)
    subscript = along(index, axis)
    if not include_self:
        x[tuple(subscript)] = identity(reduce, x.dtype)
    combine_at(x, subscript, src, UFUNCS[reduce])
    if reduce == "mean":
        counts = np.full(x.shape, int(include_self), np.int64)
        combine_at(counts, subscript, 1, np.add)
        divide: Any = np.floor_divide if x.dtype.kind in "iu" else np.divide
        divide(x, np.maximum(counts, 1).astype(x.dtype), out=x)


@quiet
@changed_copy
def put(x: Any, index: Any, src: Any, *, accumulate: bool) -> None:
    flat = x.reshape(-1)
    if accumulate:
        add_at(flat, index.reshape(-1), src.reshape(-1))
    else:
        flat[index.reshape(-1)] = src.reshape(-1)
    if not np.may_share_memory(flat, x):
        x[...] = flat.reshape(x.shape)


@changed_copy
def select_scatter(x: Any, src: Any, *, axis: int, index: int) -> None:
    select(x, axis=axis, index=index)[...] = src


@changed_copy
def slice_scatter(x: Any, src: Any, *, axis: int, start: int, stop: int, step: int) -> None:
    slice(x, axis=axis, start=start, stop=stop, step=step)[...] = src


@changed_copy
def diagonal_scatter(x: Any, src: Any, *, offset: int, axis1: int, axis2: int) -> None:
    part = np.diagonal(x, offset, axis1, axis2)
    part.flags.writeable = True
    part[...] = src


def as_strided_scatter(x: Any, src: Any, *, geometry: tuple[Any, Any, int]) -> Any:
    shape, strides, offset = geometry
    result = np.array(x, order="C")
    start = result.reshape(-1)[offset:]
    np.lib.stride_tricks.as_strided(start, shape, [n * x.itemsize for n in strides])[...] = src
    return result
