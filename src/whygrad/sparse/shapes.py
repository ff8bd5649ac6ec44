"""Indexing, concatenation and permutation of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base.index_width import intp
from whygrad.core.tensor import wrap
from whygrad.functional.dims import normalize_dim
from whygrad.functional.run import FUNCTIONS as DENSE
from whygrad.sparse import array as numbers
from whygrad.sparse import ops
from whygrad.sparse.conversions import is_sparse, to_sparse


def permute(input: Any, *dims: Any) -> Any:
    """The tensor with its sparse dims permuted."""
    axes = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    axes = tuple([normalize_dim(d, input._array.ndim) for d in axes])
    if len(axes) != input._array.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {input._array.ndim} is not equal to len(dims) = "
                           f"{len(axes)}")
    sparse = input.sparse_dim()
    if axes[sparse:] != tuple(range(sparse, input._array.ndim)):
        raise NotImplementedError("permute(): dense dims of a sparse tensor stay where they are")
    return ops.permute(input, axes=axes[:sparse])


def transpose(input: Any, dim0: int, dim1: int, name: str = "TransposeBackward0") -> Any:
    ndim = input._array.ndim
    axes = list(range(ndim))
    i, j = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
    if max(i, j) >= input.sparse_dim():
        raise RuntimeError("transpose: transposed dimensions must be sparse ")
    axes[i], axes[j] = axes[j], axes[i]
    return ops.permute(input, axes=tuple(axes[:input.sparse_dim()]), name=name)


def t(input: Any) -> Any:
    if input.dense_dim() or input.sparse_dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse "
                           f"and {input.dense_dim()} dense dimensions")
    return input if input._array.ndim < 2 else transpose(input, 0, 1, "TBackward0")


def cat(tensors: Any, dim: int = 0) -> Any:
    """Concatenation along a sparse dim."""
    if not all(is_sparse(x) and x.is_coalesced() is not None for x in tensors):
        raise NotImplementedError("cat(): sparse and dense tensors together")
    first = tensors[0]._array
    dim = normalize_dim(dim, first.ndim)
    if dim >= first.sparse_dim:
        raise NotImplementedError("cat(): along a dense dim of sparse tensors")
    places, start = [], 0
    for x in tensors:
        moved = x._array.places.copy()
        moved[dim] += start
        places.append(moved)
        start += x._array.shape[dim]
    shape = (*first.shape[:dim], start, *first.shape[dim + 1:])
    new = DENSE["cat"]([ops.values_of(x) for x in tensors])
    return ops.from_values(new, pattern=numbers.coo(np.concatenate(places, 1), new._array, shape), name="CatBackward0")


def select(input: Any, dim: int, index: int) -> Any:
    """One slice along a dim; dense if no sparse dim is left."""
    if input._array.layout != "coo":
        input = to_sparse(input)
    dim, a = normalize_dim(dim, input._array.ndim), input._array
    n = a.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(a.shape)} at dimension {dim}")
    shape = (*a.shape[:dim], *a.shape[dim + 1:])
    if dim >= a.sparse_dim:
        new = ops.values_of(input).select(dim - a.sparse_dim + 1, index)
        return ops.from_values(new, pattern=numbers.coo(a.places, new._array, shape, a.coalesced), name="SelectBackward0")
    kept = np.flatnonzero(a.places[dim] == index % n)
    new = ops.values_of(input)[wrap(kept)]
    if a.sparse_dim == 1:
        return new.sum(0)
    places = np.delete(a.places[:, kept], dim, 0)
    return ops.from_values(new, pattern=numbers.coo(places, new._array, shape, a.coalesced), name="SelectBackward0")


def getitem(x: Any, key: Any) -> Any:
    for part in reversed(key if isinstance(key, tuple) else (key,)):
        if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
            raise NotImplementedError("a sparse tensor can be indexed by integers only; use index_select, or t.to_dense()")
    for part in key if isinstance(key, tuple) else (key,):
        x = select(x, 0, int(part)) if is_sparse(x) else x[part]
    return x


def index_select(input: Any, dim: int, index: Any) -> Any:
    """The slices at `index` along a sparse dim."""
    dim, a = normalize_dim(dim, input._array.ndim), input._array
    if a.layout != "coo" or dim >= a.sparse_dim:
        raise NotImplementedError("index_select(): along a dense dim of a sparse tensor, or with compressed rows")
    order = a.places[dim].argsort(kind="stable")
    ordered = a.places[dim][order]
    wanted = index._array.reshape(-1)
    begin, end = np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, "right")
    counts = end - begin
    positions = np.repeat(np.arange(wanted.size), intp(counts))
    chosen = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, intp(counts)) + begin[positions]]
    places = a.places[:, chosen]
    places[dim] = positions
    shape = (*a.shape[:dim], wanted.size, *a.shape[dim + 1:])
    new = ops.values_of(input)[wrap(chosen)]
    return ops.from_values(new, pattern=numbers.coo(places, new._array, shape), name="IndexSelectBackward0")


def unsqueeze(input: Any, dim: int) -> Any:
    a = input._array
    dim = normalize_dim(dim, a.ndim + 1)
    if dim > a.sparse_dim or a.layout != "coo":
        raise NotImplementedError("unsqueeze(): among the dense dims of a sparse tensor")
    shape = (*a.shape[:dim], 1, *a.shape[dim:])
    pattern = numbers.coo(np.insert(a.places, dim, 0, 0), a.values, shape, a.coalesced)
    return ops.from_values(ops.values_of(input), pattern=pattern, name="UnsqueezeBackward0")
