"""In-place operations on sparse tensors. They are not recorded: they serve gradients and optimizers."""

from __future__ import annotations

from typing import Any

from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump
from whygrad.functional.run import METHODS as DENSE_METHODS
from whygrad.sparse import array as numbers
from whygrad.sparse.arithmetic import add, div, mul, neg
from whygrad.sparse.array import SparseArray
from whygrad.sparse.conversions import is_sparse, same_shape, to_dense
from whygrad.sparse.op import tensor_of
from whygrad.sparse.reductions import zeros_like


def add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """In-place addition; to a dense tensor, a sparse one is added at its coordinates."""
    if is_sparse(self):
        return _rewritten("add_", self, add(self, other, alpha=alpha), other)
    if grad_state.grad and (self.requires_grad or other.requires_grad):
        return DENSE_METHODS["add_"](self, to_dense(other), alpha=alpha)
    same_shape("add", self, other)
    numbers.add_into(self._array, scaled_array(other, alpha, self._array.dtype))
    bump(self)
    return self


def scaled_array(x: Any, alpha: Any, dtype: Any) -> SparseArray:
    new = x._array.values if alpha == 1 else x._array.values * alpha
    return x._array.with_values(new.astype(dtype, copy=False))  # type: ignore[no-any-return]


def sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return add_(self, other, alpha=-alpha)


def _rewritten(name: str, x: Any, result: Any, *others: Any) -> Any:
    if grad_state.grad and any(t.requires_grad for t in (x, *others) if isinstance(t, Tensor)):
        raise NotImplementedError(f"{name}(): in-place operations on sparse tensors are not recorded; use torch.no_grad()")
    x._array = result._array
    bump(x)
    return x


def mul_(self: Any, other: Any) -> Any:
    if not is_sparse(self):
        raise NotImplementedError("mul_(): a dense tensor by a sparse one")
    return _rewritten("mul_", self, mul(self, other), other)


def div_(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    return _rewritten("div_", self, div(self, other, rounding_mode=rounding_mode), other)


def neg_(self: Any) -> Any:
    return _rewritten("neg_", self, neg(self))


def zero_(self: Any) -> Any:
    return _rewritten("zero_", self, zeros_like(self))


def copy_(self: Any, other: Any, non_blocking: bool = False) -> Any:
    if not is_sparse(self) or not is_sparse(other):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{self.type()} and src type = {other.type()}")
    return _rewritten("copy_", self, other.to(self.dtype).clone(), other)


def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Change the shape and keep the elements."""
    a = self._array
    if (sparse_dim, dense_dim) != (self.sparse_dim(), self.dense_dim()):
        raise NotImplementedError("sparse_resize_(): another number of sparse or dense dims")
    return _rewritten("sparse_resize_", self, tensor_of(SparseArray("coo", a.indices, a.values, tuple(size), a.coalesced)))
