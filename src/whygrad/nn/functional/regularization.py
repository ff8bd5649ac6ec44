"""Dropout in its variants, and embedding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.base.errors import warn
from whygrad.base.on_demand import on_demand
from whygrad.core.record import apply
from whygrad.core.tensor import wrap
from whygrad.core.write import bump
from whygrad.functional.arguments import not_implemented
from whygrad.functional.fresh import fresh
from whygrad.functional.inplace import write
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.random import in_memory_order
from whygrad.functional.run import made_under_transforms, nn_function, run
from whygrad.ops.table import TABLE
from whygrad.random import default_generator

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "embedding", "feature_alpha_dropout", "one_hot"]

# The negated lower bound of SELU, the value of dropped elements in alpha dropout.
SELU_DEPTH = 1.7580993408473766


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@made_under_transforms("random_by_element")
def _noise(input: Any, p: float, by_channel: bool, change: Callable[[np.ndarray], Any], one: float = 1.0) -> Any:
    """`change` applied to a mask in the input's dtype, `one` for kept elements and 0 for dropped ones; a tensor or a tuple."""
    changed = change(_kept(input._array, p, by_channel, one))
    return tuple(map(wrap, changed)) if isinstance(changed, tuple) else wrap(changed)


@outside_rows
def _kept(array: np.ndarray, p: float, by_channel: bool, one: float) -> np.ndarray:
    bernoulli = default_generator.stream.bernoulli
    if by_channel:
        return bernoulli(1 - p, array.shape[:2] + (1,) * (array.ndim - 2), array.dtype, one)
    return in_memory_order(array, lambda shape: bernoulli(1 - p, shape, array.dtype, one))


def _drop(input: Any, p: float, training: bool, inplace: bool, by_channel: bool = False, alpha: bool = False) -> Any:
    """Set dropped elements to zero, or with `alpha` to SELU's lower bound, and then restore mean and variance."""
    _check_probability(p)
    if p == 0 or not training or not input._array.size:
        return input
    if by_channel and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shift = None
    if p == 1 or input.is_meta:
        noise = wrap(np.zeros((), input._array.dtype))
    elif alpha:
        scale = 1.0 / math.sqrt((SELU_DEPTH * SELU_DEPTH * p + 1) * (1 - p))
        noise, shift = _noise(input, p, by_channel, lambda kept: (
            kept * kept.dtype.type(scale), (kept - 1) * (SELU_DEPTH * scale) + SELU_DEPTH * scale * p))
    else:
        if not (input.is_floating_point() or input.is_complex()):
            raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}")
        if input.is_complex():
            raise not_implemented("bernoulli_scalar_cpu_", input.dtype)
        kind = input._array.dtype.type
        noise = _noise(input, p, by_channel, lambda kept: kept, kind(1) / kind(1 - p))
    result = write("mul", input, input, noise) if inplace else run("mul", input, noise)
    if shift is None:
        return result
    return write("add", input, result, shift) if inplace else run("add", result, shift)


@nn_function()
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero elements with probability `p`, and scale the others by 1 / (1 - p)."""
    return _drop(input, p, training, inplace)


@nn_function()
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout that preserves the mean and variance of SELU activations."""
    return _drop(input, p, training, inplace, alpha=True)


@nn_function()
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Alpha dropout of whole channels."""
    return _drop(input, p, training, inplace, by_channel=True, alpha=True)


@nn_function()
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that "
                           "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a "
                           "channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    return _drop_in_batch(input, p, training, inplace, batched=input.ndim == 3)


@nn_function()
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (N, C, H, W)."""
    _check_probability(p)
    if input.ndim not in (3, 4):
        _warn_dimensions("dropout2d", input.ndim, 2, "3D or 4D")
    if input.ndim == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
             "is desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior "
             "will change in a future release to interpret the input as one without a batch dimension, i.e. "
             "shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
             "dropout1d instead.")
    return _drop(input, p, training, inplace, by_channel=True)


@nn_function()
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check_probability(p)
    if input.ndim not in (4, 5):
        _warn_dimensions("dropout3d", input.ndim, 3, "4D or 5D")
    return _drop_in_batch(input, p, training, inplace, batched=input.ndim == 5)


def _warn_dimensions(name: str, ndim: int, spatial: int, expected: str) -> None:
    warn(f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a "
         "future release. To retain the behavior and silence this warning, please use dropout instead. Note "
         f"that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a "
         f"channel dimension, and an optional batch dimension (i.e. {expected} "
         "inputs).")


def _drop_in_batch(input: Any, p: float, training: bool, inplace: bool, batched: bool) -> Any:
    if batched:
        return _drop(input, p, training, inplace, by_channel=True)
    input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _drop(input, p, training, inplace, by_channel=True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


@nn_function()
def embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    """The rows of `weight` at the indices `input`."""
    if input._array.dtype.kind != "i" or input._array.dtype.itemsize < 4:
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
                           f"Int; but got {input.type()} instead (while checking arguments for embedding)")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows = weight._array.shape[0]
    if padding_idx is None:
        padding_idx = -1
    else:
        if not (-rows <= padding_idx < rows or padding_idx == 0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        renormalize(weight, input._array, max_norm, norm_type)
    if sparse and weight.requires_grad:
        if scale_grad_by_freq:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        return on_demand.load_sparse().gathered.embedding(weight, input, padding_idx=padding_idx)
    return apply(TABLE["embedding"], weight, input, padding_idx=padding_idx, by_frequency=scale_grad_by_freq)


def renormalize(weight: Any, index: np.ndarray, max_norm: float, norm_type: float) -> None:
    """Rescale in place, unrecorded, the indexed rows whose norm exceeds `max_norm`."""
    table = weight._array
    named = np.unique(index)
    lengths = np.linalg.norm(table[named], ord=norm_type, axis=1)
    long = lengths > max_norm
    if long.any():
        table[named[long]] *= (max_norm / (lengths[long] + 1e-7)).astype(table.dtype)[:, None]
    bump(weight)


@nn_function()
def one_hot(input: Any, num_classes: int = -1) -> Any:
    """For each index a vector with a 1 at that position."""
    array = input._array
    if array.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if array.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return torch.zeros((*array.shape, num_classes), dtype=input.dtype)
    array = input._numbers
    if array is not input._array and num_classes == -1:
        raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
                           "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
    if array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    elif array.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if array is not input._array:
        return (input.unsqueeze(-1) == torch.arange(num_classes)).to(input.dtype)
    result = np.zeros((array.size, num_classes), np.int64)
    result[np.arange(array.size), array.reshape(-1)] = 1
    return fresh(result.reshape(*array.shape, num_classes), causes=input._cause)
