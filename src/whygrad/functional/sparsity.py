"""What dense tensors say about sparsity. The sparse ones have a package of their own, loaded when the first one is asked for."""

from __future__ import annotations

from typing import Any

from whygrad.base.on_demand import on_demand
from whygrad.core.tensor import Tensor
from whygrad.functional.run import public


@public(function=False)
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """A dense tensor is one already."""
    return self if dtype is None else self.to(dtype)  # type: ignore[attr-defined]


@public(function=False)
def sparse_dim(self: Tensor) -> int:
    """How many dims are sparse."""
    return 0


@public(function=False)
def dense_dim(self: Tensor) -> int:
    """How many dims are dense."""
    return self._array.ndim


def _made_sparse(name: str) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return on_demand.load_sparse().functions.METHODS[name](self, *args, **kwargs)

    public(function=False, name=name, doc="The same elements, sparse.")(method)


for _name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "sparse_mask"):
    _made_sparse(_name)


def _of_sparse_only(name: str, layout: str) -> None:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if layout:
            raise RuntimeError(f"{name} expected {layout} layout but got Strided")
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: it is for tensors of "
                                  "other layouts")

    public(function=False, name=name, doc="For sparse tensors only.")(method)


for _layout, _names in (("sparse coordinate tensor", ("coalesce", "is_coalesced", "indices")), ("sparse tensor", ("values",)),
                        ("sparse row compressed tensor", ("crow_indices", "col_indices")),
                        ("sparse column compressed tensor", ("ccol_indices", "row_indices")),
                        ("", ("_indices", "_values", "_nnz", "sparse_resize_", "to_padded_tensor"))):
    for _name in _names:
        _of_sparse_only(_name, _layout)
