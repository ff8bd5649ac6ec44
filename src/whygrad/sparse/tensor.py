"""SparseTensor: a Tensor whose `_array` is a SparseArray. Its operations are listed in functions.py; all others raise."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from whygrad.base import dtypes, layouts, printing
from whygrad.base.door import SPECS
from whygrad.core.node import row_node
from whygrad.core.tensor import Tensor, cut, grad_fn, wrap
from whygrad.functional.overriding import as_instance
from whygrad.sparse.array import SparseArray

LAYOUTS = {"coo": layouts.sparse_coo, "csr": layouts.sparse_csr, "csc": layouts.sparse_csc}
# The layouts' names in torch's messages.
LAYOUT_NAMES = {"coo": "Sparse", "csr": "SparseCsr", "csc": "SparseCsc"}


class SparseTensor(Tensor):
    """A tensor that stores only its nonzero elements."""

    __slots__ = ()

    _array: Any
    _prints_as_tensor = True

    layout = property(lambda self: LAYOUTS[self._array.layout])

    @property
    def is_sparse(self) -> bool:
        return self._array.layout == "coo"  # type: ignore[no-any-return]

    @property
    def is_sparse_csr(self) -> bool:
        return self._array.layout == "csr"  # type: ignore[no-any-return]

    @property  # type: ignore[misc]
    def data(self) -> Tensor:
        return as_sparse(wrap(self._array), cut(self, "detach", ".data"))

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, SparseTensor):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                               "tensor type.")
        self._array = value._array

    def detach(self) -> Any:
        """The same coordinates and values, without history."""
        return as_sparse(SPECS["torch.detach"].implementation(self))

    def sparse_dim(self) -> int:
        return self._array.sparse_dim  # type: ignore[no-any-return]

    def dense_dim(self) -> int:
        return self._array.ndim - self._array.sparse_dim  # type: ignore[no-any-return]

    def _nnz(self) -> int:
        return self._array.nnz  # type: ignore[no-any-return]

    def is_coalesced(self) -> bool:
        self._check_layout("is_coalesced", "coo")
        return self._array.coalesced  # type: ignore[no-any-return]

    def _coalesced_(self, coalesced: bool) -> Any:
        self._array = SparseArray("coo", self._array.indices, self._array.values, self._array.shape, coalesced)
        return self

    def _check_layout(self, function: str, *wanted: str) -> None:
        if self._array.layout not in wanted:
            words = {"coo": "coordinate", "csr": "row compressed", "csc": "column compressed"}[wanted[0]]
            raise RuntimeError(f"{function} expected sparse {words} tensor layout but got {LAYOUT_NAMES[self._array.layout]}")

    def _indices(self) -> Tensor:
        self._check_layout("_indices", "coo")
        return wrap(self._array.indices[0])

    def _values(self) -> Tensor:
        return wrap(self._array.values)

    def indices(self) -> Tensor:
        self._check_layout("indices", "coo")
        if not self._array.coalesced:
            raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
        return wrap(self._array.indices[0])

    def crow_indices(self) -> Tensor:
        self._check_layout("crow_indices", "csr")
        return wrap(self._array.indices[0])

    def col_indices(self) -> Tensor:
        self._check_layout("col_indices", "csr")
        return wrap(self._array.indices[1])

    def ccol_indices(self) -> Tensor:
        self._check_layout("ccol_indices", "csc")
        return wrap(self._array.indices[0])

    def row_indices(self) -> Tensor:
        self._check_layout("row_indices", "csc")
        return wrap(self._array.indices[1])

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            return self.dtype.tensor_type.replace("torch.", "torch.sparse.")
        if isinstance(dtype, str):
            dtype = next(d for d in dtypes.BY_NAME.values() if d.tensor_type == dtype.replace("torch.sparse.", "torch."))
        return self.to(getattr(dtype, "dtype", dtype))  # type: ignore[attr-defined]

    def cpu(self, memory_format: Any = None) -> Any:
        return self

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return False

    def stride(self, dim: Any = None) -> Any:
        if self._array.layout != "coo":
            raise RuntimeError(f"Sparse {self._array.layout.upper()} tensors do not have strides")
        return 0 if dim is not None else (0,) * self._array.ndim

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise TypeError(f"can't convert {LAYOUT_NAMES[self._array.layout]} layout tensor to numpy. Use Tensor.to_dense() first.")

    def tolist(self) -> NoReturn:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    data_ptr = tolist

    def item(self) -> Any:
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self.to_dense().item()  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return shown(self)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        result = self.detach()
        result._array = self._array.copy()
        result._lazy_version = None
        result.requires_grad_(self.requires_grad)
        memo[id(self)] = result
        if self._grad is not None:
            result._grad = copy.deepcopy(self._grad, memo)
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        x = self._array
        return rebuild, (x.layout, x.indices, x.values, x.shape, x.coalesced, self.requires_grad, self.__dict__)


def _in_dtype(name: str, dtype: dtypes.dtype) -> Any:
    def method(self: Any, memory_format: Any = None) -> Any:
        return self.to(dtype)

    method.__name__ = method.__qualname__ = name
    return method


for _name, _dtype in (("float", dtypes.float32), ("double", dtypes.float64), ("half", dtypes.float16),
                      ("bfloat16", dtypes.bfloat16), ("int", dtypes.int32), ("long", dtypes.int64), ("short", dtypes.int16),
                      ("char", dtypes.int8), ("byte", dtypes.uint8), ("bool", dtypes.bool_)):
    setattr(SparseTensor, _name, _in_dtype(_name, _dtype))


def as_sparse(t: Any, causes: Any = None) -> Any:
    """A plain Tensor that was created with a SparseArray, as a SparseTensor."""
    result = as_instance(SparseTensor, t)
    if causes is not None:
        result._cause = causes
    return result


def rebuild(layout: str, indices: Any, values: Any, shape: Any, coalesced: bool, requires_grad: bool,
            attributes: dict[str, Any]) -> Any:
    """The constructor that pickles call."""
    result = as_sparse(wrap(SparseArray(layout, indices, values, shape, coalesced)))  # type: ignore[arg-type]
    result.__dict__.update(attributes)
    return result.requires_grad_(requires_grad)


PARTS = {"coo": ("indices",), "csr": ("crow_indices", "col_indices"), "csc": ("ccol_indices", "row_indices")}


def shown(t: Any) -> str:
    x, indent = t._array, len("tensor(")
    parts = [_part(name, array, indent) for name, array in zip((*PARTS[x.layout], "values"), (*x.indices, x.values), strict=True)]
    notes = [f"size={x.shape}", f"nnz={x.nnz}"]
    if t.dtype not in (dtypes.get_default_dtype(), dtypes.get_default_complex_dtype(), dtypes.int64, dtypes.bool_):
        notes.append(f"dtype={t.dtype}")
    notes.append(f"layout={t.layout}")
    node, _ = row_node(grad_fn(t))
    if node is not None:
        notes.append(f"grad_fn=<{type(node).__name__}>")
    elif t.requires_grad:
        notes.append("requires_grad=True")
    text = f",\n{' ' * indent}".join(parts)
    prefix = "Parameter containing:\n" if getattr(t, "_is_param", False) else ""
    return f"{prefix}tensor({printing.append_notes(text, notes, indent, new_line=x.layout == 'coo')})"


def _part(name: str, array: Any, indent: int) -> str:
    opening = f"{name}=tensor("
    body = printing.body(array, indent + len(opening))
    size = f", size={array.shape}" if array.size == 0 else ""
    return f"{opening}{body}{size})"
