"""Conversions between dense and sparse tensors, and between sparse layouts."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes, layouts
from whygrad.base.devices import META
from whygrad.functional.convert import read_to
from whygrad.sparse import ops
from whygrad.sparse.tensor import SparseTensor


def is_sparse(x: Any) -> bool:
    return type(x) is SparseTensor


def same_shape(name: str, a: Any, b: Any) -> None:
    if a._array.shape != b._array.shape:
        raise RuntimeError(f"{name}: expected 'self' and 'other' to have same sizes, but self has size {list(a._array.shape)} "
                           f"while other has size {list(b._array.shape)} (FYI: op2-sparse addition does not currently support "
                           "broadcasting)")


def promoted(*tensors: Any) -> list[Any]:
    dtype = dtypes.result_dtype([(t.dtype, max(t._array.ndim, 1)) for t in tensors])
    return [t if t.dtype is dtype else t.to(dtype) for t in tensors]


def to_dtype(x: Any, dtype: dtypes.dtype) -> Any:
    return ops.cast(x, dtype=dtype, origin=x.dtype)


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another dtype; itself if it has that dtype already."""
    place, dtype, make_copy, memory_format = read_to(self, args, kwargs)
    if place is META:
        raise NotImplementedError("to(): sparse tensors on the meta device")
    if memory_format not in (None, layouts.preserve_format):
        raise RuntimeError(f"unsupported memory format option {memory_format}")
    return self if dtype is self.dtype and not make_copy else to_dtype(self, dtype)


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The dense tensor with the same elements."""
    result = ops.to_dense(self, masked=masked_grad is not False)
    return result if dtype is None else result.to(dtype)


def to_sparse(x: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
    """The sparse tensor of the nonzero elements."""
    if blocksize is not None or dense_dim is not None or str(layout) in ("torch.sparse_bsr", "torch.sparse_bsc"):
        raise NotImplementedError("to_sparse(): whygrad has no sparse tensors of blocks")
    wanted = "coo" if layout is None else str(layout).removeprefix("torch.sparse_")
    if is_sparse(x):
        return x if wanted == x._array.layout else ops.to_layout(x, layout=wanted, origin=x._array.layout)
    ndim = x._array.ndim
    if wanted != "coo" and ndim != 2:
        raise NotImplementedError(f"to_sparse(): a {ndim}-dim tensor with compressed rows; whygrad has matrices only")
    if sparse_dim is None:
        return ops.to_sparse(x, sparse_dim=ndim, layout=wanted, name="ToSparseBackward1")
    if not 0 <= sparse_dim <= ndim or (ndim and not sparse_dim):
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {sparse_dim} is given")
    return ops.to_sparse(x, sparse_dim=sparse_dim, layout="coo")


def _to(layout: str) -> Any:
    def to(x: Any, dense_dim: Any = None) -> Any:
        if dense_dim:
            raise NotImplementedError(f"to_sparse_{layout}(): dense dims in a tensor with compressed rows")
        x_layout = x._array.layout if is_sparse(x) else None
        if x_layout == layout:
            return x
        if x._array.ndim != 2:
            raise NotImplementedError(f"to_sparse_{layout}(): whygrad compresses matrices only")
        name = f"ToSparse{layout.capitalize()}Backward0"
        if x_layout is None:
            return ops.to_sparse(x, sparse_dim=2, layout=layout, name=name)
        return ops.to_layout(x, layout=layout, origin=x_layout, name=name)

    to.__name__ = to.__qualname__ = f"to_sparse_{layout}"
    return to


to_sparse_csr, to_sparse_csc = _to("csr"), _to("csc")


def coalesce(x: Any) -> Any:
    x._check_layout("coalesce", "coo")
    return x if x._array.coalesced else ops.coalesce(x)


def values(x: Any) -> Any:
    if x._array.layout == "coo" and not x._array.coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return ops.values_of(x)


def sparse_mask(x: Any, mask: Any) -> Any:
    """The elements of `x` at the coordinates of a sparse tensor."""
    if not is_sparse(mask):
        raise NotImplementedError("sparse_mask(): the mask must be a sparse tensor")
    if x._array.shape != mask._array.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(x._array.shape)} but mask has "
                           f"size {list(mask._array.shape)}")
    return with_values(mask, ops.pick(x, pattern=mask._array), "SparseMaskBackward0")


def with_values(x: Any, new: Any, name: str = "SparseCooTensorWithDimsAndTensorsBackward0") -> Any:
    return ops.from_values(new, pattern=x._array, name=name)


def clone(input: Any, *, memory_format: Any = None) -> Any:
    return ops.clone(input)
