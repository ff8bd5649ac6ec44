"""SparseArray: the data of a sparse tensor, its `_array`.

It has a shape and a dtype, and raises when NumPy uses it. There are three layouts: coordinates ("coo": `indices[0]` has one
column per element), and compressed rows or columns ("csr", "csc": the start of each, and the other coordinate). The leading
dims are sparse; with "coo" an element may be an array itself (the dense dims).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from whygrad.base.index_width import intp
from whygrad.base.refusing import RefusingArray

Shape = tuple[int, ...]

# Elements of a row beyond LONG are multiplied separately in `matmul`.
LONG = 64
# Elements of the temporary products in `product_at`, which should stay in the cache.
BLOCK = 1 << 17


class SparseArray(RefusingArray):
    """Immutable except for the contents of `values`."""

    kind, instead = "sparse", "use t.to_dense() first"

    def __init__(self, layout: str, indices: tuple[np.ndarray, ...], values: np.ndarray, shape: Shape,
                 coalesced: bool = False) -> None:
        self.layout = layout
        self.indices = indices
        self.values = values
        self.shape = shape
        # True if the coordinates are sorted and unique.
        self.coalesced = coalesced

    def tensor(self) -> Any:
        """A sparse tensor with this array."""
        from whygrad.sparse.op import tensor_of

        return tensor_of(self)

    def to_dense(self) -> np.ndarray:
        return to_dense(self)

    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.values.itemsize)
    nbytes = property(lambda self: self.values.nbytes)
    sparse_dim = property(lambda self: len(self.indices[0]) if self.layout == "coo" else 2)
    nnz = property(lambda self: len(self.values))

    def with_values(self, values: np.ndarray) -> SparseArray:
        """The same coordinates with other values."""
        return SparseArray(self.layout, self.indices, values, self.shape[:self.sparse_dim] + values.shape[1:], self.coalesced)

    def copy(self, order: str = "K") -> SparseArray:
        return SparseArray(self.layout, tuple([i.copy() for i in self.indices]), self.values.copy(), self.shape, self.coalesced)

    def astype(self, dtype: Any, copy: bool = True) -> SparseArray:
        return self.with_values(self.values.astype(dtype, copy=copy))

    real = property(lambda self: self.with_values(self.values.real))

    @cached_property
    def places(self) -> np.ndarray:
        """The coordinates of each element, a row for each sparse dim."""
        if self.layout == "coo":
            return self.indices[0]
        compressed = np.repeat(np.arange(len(self.indices[0]) - 1), intp(np.diff(self.indices[0])))
        pair = (compressed, self.indices[1]) if self.layout == "csr" else (self.indices[1], compressed)
        return np.array(pair, np.int64)

    @cached_property
    def flat(self) -> np.ndarray:
        """The row-major flat index of each element."""
        return flat_places(self.places, self.shape)

    @cached_property
    def by_rows(self) -> Runs:
        return Runs(self.places[0], None if self.coalesced or self.layout == "csr" else self.places[0].argsort(kind="stable"))

    @cached_property
    def by_columns(self) -> Runs:
        return Runs(self.places[1], None if self.layout == "csc" else self.places[1].argsort(kind="stable"))

    def __add__(self, other: Any) -> Any:
        """The sum of two gradients; dense if one of them is."""
        if isinstance(other, SparseArray):
            return add(self, other)
        result = np.array(other, copy=True)
        add_into(result, self)
        return result

    __radd__ = __add__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if ufunc is np.conjugate and method == "__call__":
            return self.with_values(self.values.conj())
        if ufunc is np.add and method == "__call__" and inputs[1] is self:  # the accumulation of gradients
            if out is None:
                return self + inputs[0]
            add_into(out[0], self)
            return out[0]
        return self.refuse()


class Runs:
    """The elements sorted by one coordinate: a run for each of its values, the longest runs first.

    `order` is the permutation that sorts the elements, or None; each run has its coordinate, its start and its length.
    """

    def __init__(self, coordinate: np.ndarray, order: np.ndarray | None) -> None:
        self.order = order
        ordered = coordinate if order is None else coordinate[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        lengths = np.diff(starts, append=ordered.size)
        ranks = lengths.argsort(kind="stable")[::-1]
        self.starts, self.lengths, self.coordinates = starts[ranks], lengths[ranks], ordered[starts[ranks]]

    def longer_than(self, length: int) -> int:
        """The number of runs longer than `length`."""
        return int(self.lengths.size - np.searchsorted(self.lengths[::-1], length, "right"))


def flat_places(places: np.ndarray, shape: Shape) -> np.ndarray:
    if not len(places):
        return np.zeros(places.shape[1], np.int64)
    result = places[0]
    for coordinates, n in zip(places[1:], shape[1:], strict=False):
        result = result * n + coordinates
    return result


def unflat(flat: np.ndarray, shape: Shape) -> np.ndarray:
    return np.array(np.unravel_index(flat, shape), np.int64).reshape(len(shape), flat.size)


def coo(places: np.ndarray, values: np.ndarray, shape: Shape, coalesced: bool = False) -> SparseArray:
    return SparseArray("coo", (places,), values, shape, coalesced)


def coalesce(x: SparseArray) -> SparseArray:
    """The array with sorted and unique coordinates; values with equal coordinates are added."""
    if x.coalesced and x.layout == "coo":
        return x
    if x.coalesced and x.layout == "csr":
        return coo(x.places, x.values, x.shape, True)
    flat, inverse = np.unique(x.flat, return_inverse=True)
    values = np.zeros((flat.size, *x.values.shape[1:]), x.values.dtype)
    combine(values, inverse, x.values)
    return coo(unflat(flat, x.shape[:x.sparse_dim]), values, x.shape, True)


def combine(target: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Add values along the first axis; repeated indices accumulate."""
    ufunc = np.logical_or if target.dtype.kind == "b" else np.add
    if target.ndim > 1:
        width = math.prod(target.shape[1:])
        places = (places[:, None] * width + np.arange(width)).reshape(-1)
    ufunc.at(target.reshape(-1), places, values.reshape(-1))


def to_dense(x: SparseArray) -> np.ndarray:
    result = np.zeros(x.shape, x.dtype)
    add_into(result, x)
    return result


def add_into(target: np.ndarray, x: SparseArray) -> None:
    if x.coalesced or x.layout != "coo":
        target[tuple(x.places)] += x.values
    elif target.flags.c_contiguous:
        combine(target.reshape(math.prod(target.shape[:x.sparse_dim]), *target.shape[x.sparse_dim:]), x.flat, x.values)
    else:
        np.add.at(target, tuple(x.places), x.values)


def from_dense(x: np.ndarray, sparse_dim: int) -> SparseArray:
    dense_axes = tuple(range(sparse_dim, x.ndim))
    mask: Any = x.astype(bool, copy=False) if x.dtype.kind == "b" else x != 0
    places = np.array((mask.any(dense_axes) if dense_axes else mask).nonzero(), np.int64) if sparse_dim else (
        np.zeros((0, int(bool(mask.any()))), np.int64))
    values = x[tuple(places)] if sparse_dim else x.reshape(1, *x.shape)[:places.shape[1]]
    return coo(places, np.ascontiguousarray(values), x.shape, True)


def compressed(x: SparseArray, layout: str) -> SparseArray:
    """The array with compressed rows ("csr") or columns ("csc")."""
    if x.layout == layout:
        return x
    x = coalesce(x)
    first, second = x.places if layout == "csr" else x.places[::-1]
    values = x.values
    if layout == "csc":
        order = first.argsort(kind="stable")
        first, second, values = first[order], second[order], values[order]
    begins = np.zeros(x.shape[0 if layout == "csr" else 1] + 1, np.int64)
    np.cumsum(np.bincount(intp(first), minlength=begins.size - 1), out=begins[1:])
    return SparseArray(layout, (begins, np.ascontiguousarray(second)), values, x.shape, layout == "csr")


def permuted(x: SparseArray, axes: tuple[int, ...]) -> SparseArray:
    """The array with its sparse dims permuted."""
    shape = tuple([x.shape[axis] for axis in axes]) + x.shape[len(axes):]
    if x.layout != "coo":
        return x if axes == (0, 1) else SparseArray("csc" if x.layout == "csr" else "csr", x.indices, x.values, shape)
    result = coo(x.places[list(axes)], x.values, shape, x.coalesced and axes == tuple(range(len(axes))))
    if axes == (1, 0):  # a matrix and its transpose share their cached runs
        result.__dict__["by_rows"] = x.by_columns
    return result


def values_at(x: Any, places: np.ndarray, shape: Shape) -> np.ndarray:
    """The elements of a dense or sparse array at these coordinates."""
    if not isinstance(x, SparseArray):
        return x[tuple(places)] if len(places) else x.reshape(1, *x.shape).repeat(places.shape[1], 0)
    x = coalesce(x)
    wanted = flat_places(places, shape)
    where = np.searchsorted(x.flat, wanted)
    where[where == x.nnz] = 0
    result = np.zeros((wanted.size, *x.values.shape[1:]), x.dtype)
    if x.nnz:
        found = x.flat[where] == wanted
        result[found] = x.values[where[found]]
    return result


def add(a: SparseArray, b: SparseArray) -> SparseArray:
    """The elementwise sum: coalesced if both arguments are, otherwise their coordinates and values are concatenated."""
    # torch concatenates values that are not contiguous, even if the coordinates are the same.
    in_one = a.layout != "coo" or (a.values.flags.c_contiguous and b.values.flags.c_contiguous)
    if a.layout == b.layout and in_one and all(np.array_equal(i, j) for i, j in zip(a.indices, b.indices, strict=True)):
        return a.with_values(a.values + b.values)
    if a.layout != "coo" or b.layout != "coo":
        return compressed(add(coalesce(a), coalesce(b)), a.layout)
    if a.sparse_dim != b.sparse_dim:
        raise NotImplementedError("the sum of sparse tensors with different numbers of sparse dims")
    both = coo(np.concatenate([a.places, b.places], 1), np.concatenate([a.values, b.values]), a.shape)
    return coalesce(both) if a.coalesced and b.coalesced else both


def matmul(x: SparseArray, y: np.ndarray, transposed: bool = False) -> np.ndarray:
    """The product of a sparse and a dense matrix, or of the transposed sparse one.

    Step j adds the j-th element of each row times a row of `y`, for all rows with more than j elements. As few rows are long,
    elements beyond LONG are handled by a separate product.
    """
    runs, other = (x.by_columns, x.places[0]) if transposed else (x.by_rows, x.places[1])
    values = x.values
    if runs.order is not None:
        values, other = values[runs.order], other[runs.order]
    sums = y.take(other[runs.starts], 0)
    sums *= values[runs.starts][:, None]
    for j in range(1, LONG):
        count = runs.longer_than(j)
        if not count:
            break
        elements = runs.starts[:count] + j
        products = y.take(other[elements], 0)
        products *= values[elements][:, None]
        sums[:count] += products
    for i in range(runs.longer_than(LONG)):
        begin, end = runs.starts[i] + LONG, runs.starts[i] + runs.lengths[i]
        sums[i] += values[begin:end] @ y.take(other[begin:end], 0)
    result = np.zeros((x.shape[1 if transposed else 0], y.shape[1]), y.dtype)
    result[runs.coordinates] = sums
    return result


def product_at(a: np.ndarray, b: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The elements of a @ b at these coordinates only."""
    step = max(1, BLOCK // max(1, a.shape[1]))
    parts = [np.einsum("ij,ij->i", a.take(places[0, i:i + step], 0), b.T.take(places[1, i:i + step], 0))
             for i in range(0, places.shape[1], step)]
    return np.concatenate(parts) if parts else np.zeros(0, a.dtype)


def matmul_sparse(a: SparseArray, b: SparseArray) -> SparseArray:
    """The product of two sparse matrices: each element of `a` is multiplied by a row of `b`."""
    a, b = coalesce(a), coalesce(b)
    begins = np.searchsorted(b.places[0], np.arange(b.shape[0] + 1))
    counts = np.diff(begins)[a.places[1]]
    mine = np.repeat(np.arange(a.nnz), intp(counts))
    theirs = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, intp(counts)) + begins[a.places[1]][mine]
    places = np.array([a.places[0][mine], b.places[1][theirs]], np.int64)
    return coalesce(coo(places, a.values[mine] * b.values[theirs], (a.shape[0], b.shape[1])))
