"""Products of sparse and dense matrices."""

from __future__ import annotations

import math
from typing import Any

from whygrad.sparse import ops
from whygrad.sparse.arithmetic import SPARSE_PLUS_DENSE
from whygrad.sparse.conversions import is_sparse


def _matrices(name: str, a: Any, b: Any) -> None:
    for x in (a, b):
        if is_sparse(x) and x.dense_dim():
            raise RuntimeError(f"{name}: matrices expected, got {x.sparse_dim()}D tensor")
    if a._array.ndim != 2 or b._array.ndim != 2:
        raise RuntimeError(f"{name}: matrices expected, got {a._array.ndim}D and {b._array.ndim}D tensors")
    if a._array.shape[1] != b._array.shape[0] and is_sparse(a) and a.is_sparse and not is_sparse(b):
        raise RuntimeError(f"{name}: Argument #3 (dense): Expected dim 0 size {a._array.shape[1]}, got {b._array.shape[0]}")
    if a._array.shape[1] != b._array.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a._array.shape[0]}x{a._array.shape[1]} and "
                           f"{b._array.shape[0]}x{b._array.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name}: expected both matrices to have the same dtype, but got {a.dtype} and {b.dtype}")


def mm(input: Any, mat2: Any) -> Any:
    """The matrix product; dense, unless both factors are sparse."""
    _matrices("addmm", input, mat2)
    return ops.mm(input, mat2)


def mv(input: Any, vec: Any) -> Any:
    if is_sparse(vec) or vec._array.ndim != 1:
        raise NotImplementedError("mv(): the vector must be a dense one")
    _matrices("mv", input, vec.unsqueeze(1))
    return ops.mv(input, vec)


def matmul(input: Any, other: Any) -> Any:
    if input._array.ndim == 2 and other._array.ndim == 1 and is_sparse(input):
        return mv(input, other)
    if input._array.ndim == 1 and other._array.ndim == 2 and is_sparse(other):
        return mm(input.unsqueeze(0), other).squeeze(0)
    if input._array.ndim != 2 or other._array.ndim != 2:
        raise NotImplementedError("matmul(): batches of sparse matrices")
    return mm(input, other)


def _with_sum(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else product * alpha
    if is_sparse(input) and not is_sparse(product):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    return product if beta == 0 else (input if beta == 1 else input * beta) + product


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    return _with_sum(input, mm(mat1, mat2), beta, alpha)


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if is_sparse(input) or input._array.ndim == 2:
        product = mm(input, weight.t())
    else:
        *batch, features = input._array.shape
        rows = input.reshape(math.prod(batch), features)
        product = mm(weight, rows.t()).t().view(*batch, weight._array.shape[0])
    return product if bias is None else product + bias


def sparse_mm(a: Any, b: Any, reduce: Any = None) -> Any:
    """torch.sparse.mm: the gradient of the first factor has the factor's sparsity pattern."""
    if reduce is not None:
        raise NotImplementedError(f"torch.sparse.mm: reduce={reduce!r}")
    _matrices("addmm", a, b)
    if not is_sparse(a):
        return ops.mm(a, b)
    return ops.mm(a, b, name="SparseSparseMatmulBackward0") if is_sparse(b) else ops.masked_mm(a, b)


def sparse_addmm(mat: Any, mat1: Any, mat2: Any, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """torch.sparse.addmm."""
    return _with_sum(mat, sparse_mm(mat1, mat2), beta, alpha)
