"""The operations on sparse tensors that have derivatives of their own; functions.py makes the others out of them.

`pattern` is a SparseArray of which only the coordinates are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.numpy_convert import cast_values
from whygrad.base import dtypes
from whygrad.core.tensor import wrap
from whygrad.sparse import array as numbers
from whygrad.sparse.array import SparseArray
from whygrad.sparse.op import sparse_op
from whygrad.sparse.tensor import SparseTensor


def dense(g: Any) -> Any:
    return to_dense(g, masked=True) if isinstance(g, SparseTensor) else g


def turned(g: Any) -> Any:
    return permute(g, axes=(1, 0)) if isinstance(g, SparseTensor) else g.t()


def product(a: Any, b: Any) -> Any:
    """The matrix product of dense or sparse factors."""
    return mm(a, b) if isinstance(a, SparseTensor) or isinstance(b, SparseTensor) else a @ b


def times(g: Any, number: Any) -> Any:
    return scale(g, number=number) if isinstance(g, SparseTensor) else g * number


@sparse_op("SparseCooTensorWithDimsAndTensorsBackward0", values=lambda g, pattern: pick(g, pattern=pattern))
def from_values(values: Any, *, pattern: SparseArray) -> Any:
    """A sparse tensor with these values."""
    return pattern.with_values(values)


def _at_places(g: Any, x: Any) -> Any:
    """The gradient of a tensor from that of its values. Values added into one element have equal gradients: the first is used."""
    if x._array.coalesced or x._array.layout != "coo":
        return from_values(g, pattern=x._array)
    first = np.unique(x._array.flat, return_index=True)[1]
    return from_values(g[wrap(first)], pattern=numbers.coalesce(x._array))


@sparse_op("ValuesBackward0", x=_at_places)
def values_of(x: Any) -> Any:
    return x.values


def _spread(g: Any, x: Any, pattern: SparseArray) -> Any:
    result = from_values(g, pattern=pattern)
    return result if isinstance(x, SparseTensor) else dense(result)


@sparse_op("SparseMaskBackward0", x=lambda g, x, pattern: _spread(g, x, pattern))
def pick(x: Any, *, pattern: SparseArray) -> Any:
    """The elements of a dense or sparse tensor at the coordinates of `pattern`."""
    return numbers.values_at(x, pattern.places, pattern.shape)


def _masked(g: Any, x: Any, masked: bool) -> Any:
    if not masked:
        return to_sparse(g, sparse_dim=x._array.sparse_dim, layout=x._array.layout)
    pattern = numbers.coalesce(x._array) if x._array.layout == "coo" else x._array
    return from_values(pick(g, pattern=pattern), pattern=pattern)


@sparse_op("ToDenseBackward0", x=lambda g, x, masked: _masked(g, x, masked))
def to_dense(x: Any, *, masked: bool) -> Any:
    return numbers.to_dense(x)


@sparse_op("ToSparseBackward0", x=lambda g: dense(g))
def to_sparse(x: Any, *, sparse_dim: int, layout: str) -> Any:
    found = numbers.from_dense(x, sparse_dim)
    return found if layout == "coo" else numbers.compressed(found, layout)


@sparse_op("ToSparseBackward1", x=lambda g, origin: (
    to_layout(g, layout=origin, origin=g._array.layout) if isinstance(g, SparseTensor) else g))
def to_layout(x: Any, *, layout: str, origin: str) -> Any:
    """The same matrix in another sparse layout."""
    return numbers.coalesce(x) if layout == "coo" else numbers.compressed(x, layout)


@sparse_op("CoalesceBackward0", x=lambda g: g)
def coalesce(x: Any) -> Any:
    return numbers.coalesce(x)


@sparse_op("CloneBackward0", x=lambda g: g)
def clone(x: Any) -> Any:
    return x.copy()


@sparse_op("ToCopyBackward0", x=lambda g, origin: g.to(origin))
def cast(x: Any, *, dtype: dtypes.dtype, origin: dtypes.dtype) -> Any:
    return x.with_values(cast_values(x.values, dtype.numpy))


@sparse_op("MulBackward0", x=lambda g, number: times(g, number))
def scale(x: Any, *, number: Any) -> Any:
    return x.with_values(np.asarray(x.values * number))


@sparse_op("DivBackward0", x=lambda g, number: g / number)
def divide(x: Any, *, number: Any) -> Any:
    return x.with_values(x.values / number)


@sparse_op("NegBackward0", x=lambda g: times(g, -1))
def neg(x: Any) -> Any:
    return x.with_values(-x.values)


@sparse_op("AddBackward0", a=lambda g: g, b=lambda g, alpha: times(g, alpha) if alpha != 1 else g)
def add(a: Any, b: Any, *, alpha: Any) -> Any:
    """The sum of a dense or sparse tensor and a sparse one."""
    other = b if alpha == 1 else b.with_values(np.asarray(b.values * alpha))
    if isinstance(a, SparseArray):
        return numbers.add(a, other)
    result = a.copy()
    numbers.add_into(result, other)
    return result


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(np.argsort(axes).tolist())


@sparse_op("PermuteBackward0",
           x=lambda g, axes: permute(g, axes=_inverse(axes)) if isinstance(g, SparseTensor) else g.permute(_inverse(axes)))
def permute(x: Any, *, axes: tuple[int, ...]) -> Any:
    return numbers.permuted(x, axes)


@sparse_op("MmBackward0", a=lambda g, b: product(g, turned(b)), b=lambda g, a: product(turned(a), g))
def mm(a: Any, b: Any) -> Any:
    """A matrix product with one or two sparse factors."""
    if isinstance(a, SparseArray) and isinstance(b, SparseArray):
        result = numbers.matmul_sparse(a, b)
        return result if a.layout == "coo" else numbers.compressed(result, a.layout)
    if isinstance(a, SparseArray):
        return numbers.matmul(a, b)
    return numbers.matmul(b, a.T, transposed=True).T.copy()


@sparse_op("MvBackward0", a=lambda g, b: g.outer(b), b=lambda g, a: mv(turned(a), g))
def mv(a: Any, b: Any) -> Any:
    return numbers.matmul(a, b[:, None])[:, 0]


def _masked_product(g: Any, a: Any, b: Any) -> Any:
    """The gradient of the sparse factor, at its own coordinates only."""
    pattern = numbers.coalesce(a._array) if a._array.layout == "coo" else a._array
    if isinstance(g, SparseTensor) or isinstance(b, SparseTensor):
        return from_values(pick(product(g, turned(b)), pattern=pattern), pattern=pattern)
    return from_values(product_at(g, b.t(), pattern=pattern), pattern=pattern)


@sparse_op("SparseAddmmBackward0", a=lambda g, a, b: _masked_product(g, a, b), b=lambda g, a: product(turned(a), g))
def masked_mm(a: Any, b: Any) -> Any:
    """torch.sparse.mm: as `mm`, but the gradient of the first factor has the factor's sparsity pattern."""
    return numbers.matmul(a, b)


@sparse_op("ProductAtBackward0",
           a=lambda g, b, pattern: product(from_values(g, pattern=pattern), b.t()),
           b=lambda g, a, pattern: product(a.t(), from_values(g, pattern=pattern)))
def product_at(a: Any, b: Any, *, pattern: SparseArray) -> Any:
    return numbers.product_at(a, b, pattern.places)


@sparse_op("SumBackward0", x=lambda g, x: g.expand(x.shape))
def total(x: Any) -> Any:
    return np.asarray(x.values.sum(dtype=x.dtype if x.dtype.kind in "fcV" else np.int64))


@sparse_op("SparseSumBackward0", values=lambda g, groups: g[groups])
def sum_groups(values: Any, *, groups: Any, count: int) -> Any:
    """The sum of the values of each group; `groups` is a tensor of group numbers."""
    result = np.zeros((count, *values.shape[1:]), values.dtype)
    numbers.combine(result, groups._array, values)
    return result


@sparse_op("SparseMaxBackward0", values=lambda g: None)
def max_groups(values: Any, *, groups: Any, count: int) -> Any:
    """The maximum of each group, without gradient."""
    result = np.full((count, *values.shape[1:]), -np.inf, values.dtype)
    np.maximum.at(result, groups._array, values)
    return result
