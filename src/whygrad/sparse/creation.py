"""Creation of sparse tensors from indices and values."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from whygrad.base import dtypes, errors
from whygrad.base.index_width import intp
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import check_place
from whygrad.functional.fresh import NOT_DIFFERENTIABLE
from whygrad.functional.run import FUNCTIONS as DENSE
from whygrad.sparse import array as numbers
from whygrad.sparse import ops
from whygrad.sparse.array import SparseArray
from whygrad.why import record as why


class Invariants(contextlib.ContextDecorator):
    """torch.sparse.check_sparse_tensor_invariants: whether every new sparse tensor is validated."""

    _enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state, self.saved = enable, False

    @staticmethod
    def is_enabled() -> bool:
        return Invariants._enabled

    @staticmethod
    def enable() -> None:
        Invariants._enabled = True

    @staticmethod
    def disable() -> None:
        Invariants._enabled = False

    def __enter__(self) -> None:
        self.saved, Invariants._enabled = Invariants._enabled, self.state

    def __exit__(self, *error: object) -> None:
        Invariants._enabled = self.saved


def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None) -> Any:
    """A sparse tensor with `values[k]` at the coordinates in column k of `indices`. Values with equal coordinates are added."""
    check_place("sparse_coo_tensor", None, device, pin_memory)
    if values is None:
        shape = tuple(indices if size is None else size)
        empty = numbers.coo(np.zeros((len(shape), 0), np.int64),
                            np.zeros(0, (dtype or dtypes.get_default_dtype()).numpy), shape)
        return _begun(empty, DENSE["zeros"](0, dtype=dtype), requires_grad, "SparseCooTensorWithDimsAndTensorsBackward0")
    values = _as_tensor(values, dtype)
    if not values._array.ndim:
        values = values.expand(1)
    places = _as_tensor(indices, None)._array.astype(np.int64)
    if places.ndim < 2:
        places = places.reshape(-1, 1) if places.size else places.reshape(0, values._array.shape[0])
    elif places.ndim > 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    sparse, nnz = places.shape
    rest = values._array.shape[1:]
    if size is None:
        if places.size and places.min() < 0:
            raise RuntimeError(f"found negative index {places.min()} for dim {int(np.argwhere(places == places.min())[0, 0])}")
        size = (*(places.max(1) + 1).tolist(), *rest) if nnz else (*(0,) * sparse, *rest)
    shape = tuple([int(n) for n in size])
    if len(shape) != sparse + len(rest):
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = "
                           f"{sparse}, dense_dim = {len(rest)}")
    if nnz != values._array.shape[0]:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: "
                           f"{values._array.shape[0]}")
    if shape[sparse:] != rest:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *shape[sparse:]]}, got {[nnz, *rest]}")
    # torch validates indices only on request, and may read out of bounds later. Here they are always checked.
    check_places(places, shape)
    pattern = numbers.coo(places, values._array, shape, bool(is_coalesced))
    return _begun(pattern, values, requires_grad, "SparseCooTensorWithDimsAndTensorsBackward0")


def check_places(places: np.ndarray, shape: tuple[int, ...]) -> None:
    if not places.size:
        return
    for dim, (low, high) in enumerate(zip(places.min(1).tolist(), places.max(1).tolist(), strict=True)):
        if low < 0:
            raise RuntimeError(f"found negative index {low} for dim {dim}")
        if high >= shape[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {high}")


def _as_tensor(data: Any, dtype: Any) -> Any:
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else data.to(dtype)  # type: ignore[attr-defined]
    return DENSE["tensor"](data, dtype=dtype)


def _begun(pattern: SparseArray, values: Any, requires_grad: bool, name: str) -> Any:
    """A sparse tensor connected to the graph of its values, or a leaf."""
    if requires_grad and values.dtype.category < 2:
        raise errors.noted(RuntimeError(NOT_DIFFERENTIABLE), "integers_require_grad", values.dtype)
    result = ops.from_values(values, pattern=pattern, name=name)
    if not result.requires_grad:
        result._cause = (why.Cause("created", why.site()),)
        result.requires_grad_(requires_grad)
    return result


def _compressed(layout: str, compressed: Any, plain: Any, values: Any, size: Any, *, dtype: Any = None, device: Any = None,
                pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None) -> Any:
    check_place(f"sparse_{layout}_tensor", None, device, pin_memory)
    values = _as_tensor(values, dtype)
    begins, others = (_as_tensor(x, None)._array for x in (compressed, plain))
    if begins.ndim != 1 or others.ndim != 1 or values._array.ndim != 1:
        raise NotImplementedError(f"sparse_{layout}_tensor(): batches of matrices, or dense dims")
    if size is None:
        pair = (begins.size - 1, int(others.max()) + 1 if others.size else 0)
        size = pair if layout == "csr" else pair[::-1]
    shape = tuple([int(n) for n in size])
    lines, width = shape if layout == "csr" else shape[::-1]
    names = ("crow_indices", "col_indices") if layout == "csr" else ("ccol_indices", "row_indices")
    _check_compressed(names, begins, others, values._array.shape[0], lines, width)
    ordered = bool((np.diff(others) > 0)[np.diff(np.repeat(np.arange(lines), intp(np.diff(begins)))) == 0].all())
    pattern = SparseArray(layout, (begins, others), values._array, shape, layout == "csr" and ordered)
    return _begun(pattern, values, requires_grad, "SparseCompressedTensorBackward0")


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A matrix with compressed rows."""
    return _compressed("csr", crow_indices, col_indices, values, size, **options)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> Any:
    """A matrix with compressed columns."""
    return _compressed("csc", ccol_indices, row_indices, values, size, **options)


def _check_compressed(names: tuple[str, str], begins: np.ndarray, others: np.ndarray, nnz: int, lines: int, width: int) -> None:
    compressed, plain = names
    if begins.size != lines + 1:
        raise RuntimeError(f"{compressed}.shape[-1] must be equal to the number of {compressed[1:4]}s + 1 as required by the "
                           f"size, that is {lines + 1}, but got {begins.size}")
    if others.size != nnz:
        raise RuntimeError(f"number of {plain} ({others.size}) must be equal to the number of values ({nnz})")
    if begins[0] != 0 or begins[-1] != nnz or (np.diff(begins) < 0).any():
        raise RuntimeError(f"`{compressed}` must begin with 0, never go down, and end with the number of values, {nnz}")
    if others.size and not (others.min() >= 0 and others.max() < width):
        raise RuntimeError(f"`{plain}` must be at least 0 and less than {width}")


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, layout: Any,
                             **options: Any) -> Any:
    makers: dict[str, Any] = {"torch.sparse_csr": sparse_csr_tensor, "torch.sparse_csc": sparse_csc_tensor}
    if str(layout) not in makers:
        raise NotImplementedError(f"sparse_compressed_tensor(): whygrad has no tensors of layout {layout}")
    return makers[str(layout)](compressed_indices, plain_indices, values, size, **options)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A matrix with the rows of `diagonals` on its diagonals; element j of a row goes into column j."""
    if layout not in (None, "torch.sparse_coo") and str(layout) not in ("torch.sparse_coo", "torch.sparse_csr"):
        raise NotImplementedError(f"spdiags(): layout {layout}")
    rows, columns = shape
    wide = diagonals if diagonals._array.ndim == 2 else diagonals.unsqueeze(0)
    offset = offsets._array.reshape(-1, 1)
    column = np.broadcast_to(np.arange(wide._array.shape[1]), wide._array.shape)
    row = column - offset
    kept = ((row >= 0) & (row < rows) & (column < columns)).reshape(-1).nonzero()[0]
    places = np.array([row.reshape(-1)[kept], column.reshape(-1)[kept]], np.int64)
    result = sparse_coo_tensor(wrap(places), wide.reshape(-1)[wrap(kept)], tuple(shape))
    return result if layout is None else result.to_sparse(layout=layout)
