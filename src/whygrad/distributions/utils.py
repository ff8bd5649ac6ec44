"""Shared by the distributions: broadcasting of parameters, probabilities and logits, lazy properties, triangular matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import enable_grad
from whygrad.base import dtypes
from whygrad.core.tensor import Size, Tensor

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

# Tensors get their methods when the package is loaded, so type checkers do not know them.
Values = Any
Real = Any  # a tensor or a number

euler_constant = 0.57721566490153286060
_Number = (bool, int, float)


def broadcast_all(*values: Real) -> tuple[Values, ...]:
    """Tensors of one shape. Numbers become tensors, of the dtype of the first tensor among the values."""
    for v in values:
        if not isinstance(v, (Tensor, *_Number)) and not hasattr(v, "__torch_function__"):
            raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                             "__torch_function__.")
    dtype = next((v.dtype for v in values if isinstance(v, Tensor)), dtypes.get_default_dtype())
    return torch.broadcast_tensors(*[torch.tensor(v, dtype=dtype) if isinstance(v, _Number) else v for v in values])


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any = None) -> Values:
    return torch.empty(shape, dtype=dtype).normal_()


def empty_like_parameter(parameter: Values, shape: Size) -> Values:
    """An empty tensor for samples, in the parameter's dtype."""
    return torch.empty(shape, dtype=parameter.dtype)


def _sum_rightmost(value: Values, dim: int) -> Values:
    """Sum out the last `dim` dims."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Values, is_binary: bool = False) -> Values:
    """Probabilities from log odds (binary), or from log probabilities along the last dim, normalised or not."""
    return logits.sigmoid() if is_binary else logits.softmax(dim=-1)


def clamp_probs(probs: Values) -> Values:
    """Probabilities kept away from 0 and 1 by the dtype's precision."""
    eps = dtypes.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Values, is_binary: bool = False) -> Values:
    """Log odds (binary), or log probabilities."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed once, with gradients enabled, and then replaced by an instance attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower_part(n: int, diag: int) -> Values:
    """A mask of the elements on and below a diagonal."""
    return torch.ones(n, n, dtype=dtypes.bool_).tril(diag)


def tril_matrix_to_vec(mat: Values, diag: int = 0) -> Values:
    """The elements on and below a diagonal of each matrix, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower_part(n, diag)]


def vec_to_tril_matrix(vec: Values, diag: int = 0) -> Values:
    """Square matrices with the elements of each vector on and below a diagonal: the inverse of `tril_matrix_to_vec`."""
    count = vec.shape[-1]
    # n rows have n (n + 1) / 2 + diag n elements there, minus those outside the square; solved for n.
    root = ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    n = (root - (1 + 2 * diag)) / 2
    if round(n) - n > dtypes.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of "
                         "a square D x D matrix.")
    mat = vec.new_zeros((*vec.shape[:-1], round(n), round(n)))
    mat[..., _lower_part(round(n), diag)] = vec
    return mat
