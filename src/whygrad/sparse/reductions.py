"""Sums, softmax and norms of sparse tensors, over the stored elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.core.tensor import wrap
from whygrad.functional.dims import normalize_dim
from whygrad.functional.run import FUNCTIONS as DENSE
from whygrad.sparse import array as numbers
from whygrad.sparse import ops
from whygrad.sparse.array import SparseArray
from whygrad.sparse.conversions import coalesce, is_sparse, with_values
from whygrad.sparse.op import tensor_of


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or along some dims: then the result is sparse, unless no sparse dim is left."""
    if dtype is not None:
        input = input.to(dtype)
    if dim is None or dim == ():
        return ops.total(input)
    return _sum_along(input, dim, keepdim)


def sparse_sum(x: Any, dim: Any = None, dtype: Any = None) -> Any:
    """torch.sparse.sum: as `sum`, but the gradient has the input's sparsity pattern."""
    if dtype is not None:
        x = x.to(dtype)
    if dim is not None:
        return _sum_along(x, dim, False)
    x = coalesce(x) if x._array.layout == "coo" else x
    return ops.values_of(x).sum()


def _sum_along(x: Any, dim: Any, keepdim: bool) -> Any:
    if x._array.layout != "coo":
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    x = coalesce(x)
    ndim, sparse = x._array.ndim, x.sparse_dim()
    dims = sorted({normalize_dim(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))})
    kept = [axis for axis in range(sparse) if axis not in dims]
    shape = [1 if axis in dims else n for axis, n in enumerate(x._array.shape)]
    new = ops.values_of(x)
    if any(d >= sparse for d in dims):
        new = new.sum([d - sparse + 1 for d in dims if d >= sparse], keepdim)
    if kept:
        flat, groups = np.unique(numbers.flat_places(x._array.places[kept], tuple([x._array.shape[a] for a in kept])),
                                 return_inverse=True)
        new = ops.sum_groups(new, groups=wrap(groups), count=flat.size) if len(kept) < sparse else new
        places = numbers.unflat(flat, tuple([x._array.shape[axis] for axis in kept]))
    else:
        new = new.sum(0)
        if not keepdim:
            return new
        new, places = new.unsqueeze(0), np.zeros((0, 1), np.int64)
    if keepdim:
        whole = np.zeros((sparse, places.shape[1]), np.int64)
        whole[kept] = places
        places = whole
    else:
        shape = [n for axis, n in enumerate(shape) if axis not in dims]
    pattern = numbers.coo(places, new._array, tuple(shape), True)
    return ops.from_values(new, pattern=pattern, name="SparseSumBackward0")


def _softened(x: Any, dim: int, dtype: Any, log: bool) -> Any:
    """Softmax along a sparse dim, over the stored elements."""
    if dtype is not None:
        x = x.to(dtype)
    if not is_sparse(x):
        raise NotImplementedError("torch.sparse.softmax: a dense tensor; use torch.softmax")
    x = coalesce(x)
    dim = normalize_dim(dim, x._array.ndim)
    name = "SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0"
    if dim >= x.sparse_dim():
        function = DENSE["log_softmax" if log else "softmax"]
        return with_values(x, function(ops.values_of(x), dim - x.sparse_dim() + 1), name)
    rest = [axis for axis in range(x.sparse_dim()) if axis != dim]
    flat = numbers.flat_places(x._array.places[rest], tuple([x._array.shape[axis] for axis in rest]))
    found, inverse = np.unique(flat, return_inverse=True)
    groups, count = wrap(inverse), found.size
    old = ops.values_of(x)
    shifted = old - ops.max_groups(old, groups=groups, count=count).detach()[groups]
    sums = ops.sum_groups(shifted.exp(), groups=groups, count=count)
    return with_values(x, shifted - sums.log()[groups] if log else shifted.exp() / sums[groups], name)


def sparse_softmax(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return _softened(x, dim, dtype, log=False)


def sparse_log_softmax(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return _softened(x, dim, dtype, log=True)


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is not None:
        raise NotImplementedError("norm(): of a sparse tensor along a dim")
    input = coalesce(input) if input._array.layout == "coo" else input
    return ops.values_of(input).norm(p, dtype=dtype)


def zeros_like(input: Any, **options: Any) -> Any:
    """A sparse tensor of the same shape without stored elements."""
    a = input._array
    indices = (a.indices[0][:, :0],) if a.layout == "coo" else (np.zeros_like(a.indices[0]), a.indices[1][:0])
    dtype = options.get("dtype") or input.dtype
    return tensor_of(SparseArray(a.layout, indices, a.values[:0].astype(dtype.numpy), a.shape, a.layout != "coo"))


def any_of(x: Any) -> Any:
    return wrap(np.asarray(bool(x._array.values.any())))
