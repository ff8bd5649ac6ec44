"""torch.sparse and sparse tensors: COO with gradients, and CSR and CSC matrices.

Supported: creation, printing, saving and conversion; coalesce; products with dense and sparse matrices; arithmetic; sums and
softmax; functions that map zero to zero; sparse gradients, as of nn.Embedding(sparse=True). Everything else raises
NotImplementedError.
"""

from __future__ import annotations

from typing import Any

import whygrad
from whygrad.base import dtypes, layouts
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Size
from whygrad.sparse import dispatch, functions, gathered
from whygrad.sparse.creation import Invariants as check_sparse_tensor_invariants
from whygrad.sparse.creation import sparse_compressed_tensor as sparse_compressed_tensor
from whygrad.sparse.creation import sparse_coo_tensor as sparse_coo_tensor
from whygrad.sparse.creation import sparse_csc_tensor as sparse_csc_tensor
from whygrad.sparse.creation import sparse_csr_tensor as sparse_csr_tensor
from whygrad.sparse.creation import spdiags
from whygrad.sparse.products import sparse_addmm as addmm
from whygrad.sparse.products import sparse_mm as mm
from whygrad.sparse.reductions import sparse_log_softmax as log_softmax
from whygrad.sparse.reductions import sparse_softmax as softmax
from whygrad.sparse.reductions import sparse_sum as sum
from whygrad.sparse.tensor import SparseTensor

__getattr__ = absent_from("torch.sparse")

__all__ = ["SparseSemiStructuredTensor", "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "spdiags",
           "sum", "to_sparse_semi_structured"]


class _SparseType(type):
    """The metaclass of the legacy constructors torch.sparse.FloatTensor and the like."""

    dtype: Any
    is_cuda = False
    layout = layouts.sparse_coo

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance.is_sparse and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if not args:
            return sparse_coo_tensor((0,), dtype=cls.dtype)
        if isinstance(args[0], (Size, int)):
            return sparse_coo_tensor(args[0] if isinstance(args[0], Size) else args, dtype=cls.dtype)
        return sparse_coo_tensor(*args)


for _dtype in dtypes.WITH_TENSOR_TYPE[:-1]:  # not BoolTensor
    _name = f"{_dtype.scalar_name}Tensor"
    globals()[_name] = _SparseType(_name, (), {"dtype": _dtype, "__module__": "torch.sparse"})


class SparseSemiStructuredTensor:
    """A name for isinstance; torch supports it on CUDA only."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("SparseSemiStructuredTensor is for CUDA tensors only")


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Raises, as torch does without CUDA."""
    raise RuntimeError(f"Error original_tensor.device= {original_tensor.device} is not supported! Only CUDA tensors are "
                       "currently supported.")

