"""Normalisations as torch's kernels have them: they return the mean and 1 / (standard deviation) besides the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whygrad.base import dtypes
from whygrad.core.record import apply
from whygrad.functional.arguments import check_kinds
from whygrad.functional.dims import normalize_dim
from whygrad.functional.run import FUNCTIONS, with_out
from whygrad.nn.functional import normalization
from whygrad.nn.functional.torch_names import torch_function
from whygrad.ops.table import TABLE


def _statistics(input: Any, dims: Sequence[int], keepdim: bool, eps: float, parameters: Sequence[Any]) -> tuple[Any, Any]:
    """Mean and 1 / sqrt(variance + eps), without a graph, in the dtype of the parameters."""
    wide = input.detach()
    if input.dtype in normalization.HALVES:
        wide = wide.to(dtypes.float32)
    dtype = next((p.dtype for p in parameters if p is not None), input.dtype)
    mean, var = wide.mean(dims, keepdim), wide.var(dims, correction=0, keepdim=keepdim)
    return mean.to(dtype), (var + eps).rsqrt().to(dtype)


@torch_function
def native_batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
                      eps: float, *, out: Any = None) -> tuple[Any, ...]:
    """`nn.functional.batch_norm`, with the weight first; in training also the statistics of the batch."""
    shape = input._array.shape
    if training and 0 in shape:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(shape)}")
    normalize_dim(1, len(shape))
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    output = normalization.batch_normalized(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if training:
        statistics = _statistics(input, (0, *range(2, len(shape))), False, eps, (weight, bias, running_mean))
    else:
        statistics = tuple([FUNCTIONS["empty"](0, dtype=input.dtype) for _ in range(2)])
    results = output, *statistics
    if out is None:
        return results
    for result, place in zip(results, out, strict=True):
        if place.dtype is not result.dtype:
            raise RuntimeError(f"expected scalar type {result.dtype.scalar_name} but found {place.dtype.scalar_name}")
    given = input, weight, bias
    return tuple([with_out("native_batch_norm", result, place, *given) for result, place in zip(results, out, strict=True)])


@torch_function
def native_layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any,
                      eps: float) -> tuple[Any, Any, Any]:
    """`nn.functional.layer_norm` and its statistics."""
    output = normalization.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = range(input._array.ndim - len(normalized_shape), input._array.ndim)
    return output, *_statistics(input, tuple(dims), True, eps, (weight, bias))


@torch_function
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                      eps: float) -> tuple[Any, Any, Any]:
    """`nn.functional.group_norm` of an input with N * C * HxW elements, and its statistics."""
    shape = input._array.shape
    normalization.check_groups(shape, C, group, weight, bias)
    if input._array.size != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    check_kinds("GroupNormKernelImpl", input, "fV")
    mixed = normalization.is_mixed(input, weight, bias)
    x = input.to(dtypes.float32) if mixed else input
    if shape[:2] != (N, C):
        x = x.reshape(N, C, HxW)
    output, mean, rstd = apply(TABLE["native_group_norm"], x, weight, bias, groups=group, eps=eps)
    output = output.reshape(shape) if shape[:2] != (N, C) else output
    return output.to(input.dtype) if mixed else output, mean, rstd
