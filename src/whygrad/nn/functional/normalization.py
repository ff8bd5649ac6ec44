"""Normalisation by statistics of the batch, channels or features, and by p-norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad.backends import raw
from whygrad.base import dtypes
from whygrad.base.door import Policy
from whygrad.core.record import apply
from whygrad.core.tensor import Size
from whygrad.functional.arguments import check_kinds, wrong_type
from whygrad.functional.dims import normalize_dim
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.promotion import cast
from whygrad.functional.run import nn_function, with_out
from whygrad.nn import functional as F
from whygrad.ops.table import TABLE

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]


@nn_function()
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """`input` over its p-norm along `dim`."""
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return with_out("div", input / length, out, input)


def _trailing_axes(function: str, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any) -> tuple[int, ...]:
    if not isinstance(normalized_shape, (tuple, list)):
        raise wrong_type(function, "normalized_shape", 2, "tuple of ints", normalized_shape)
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           f"element, but got normalized_shape = {list(shape)}")
    for given, name in ((weight, "weight"), (bias, "bias")):
        if given is not None and given._array.shape != shape:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                               f"{list(given._array.shape)} and normalized_shape = {list(shape)}")
    found = input._array.shape
    if found[-len(shape):] != shape:
        expected = ", ".join(["*", *map(str, shape)]) if function == "layer_norm" else "*" + ", ".join(map(str, shape))
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [{expected}], but got "
                           f"input of size{list(found)}")
    return tuple(range(len(found) - len(shape), len(found)))


HALVES = (dtypes.float16, dtypes.bfloat16)


def is_mixed(input: Any, *parameters: Any) -> bool:
    """Whether a normalisation of half precision has parameters in float32, as torch allows; other mixtures raise."""
    for parameter in parameters:
        if parameter is not None:
            if parameter._array.dtype == input._array.dtype:
                return False
            break
    else:
        return False
    if any(p is not None and p.dtype is not dtypes.float32 for p in parameters):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype not in HALVES:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return True


def _normalized(row: str, input: Any, weight: Any, bias: Any, **statics: Any) -> Any:
    if is_mixed(input, weight, bias):
        wide = apply(TABLE[row], cast(input, dtypes.float32.numpy), weight, bias, **statics)
        return cast(wide, input._array.dtype)
    return apply(TABLE[row], input, weight, bias, **statics)


@nn_function()
def layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
               eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over the last dims, then `* weight + bias`."""
    axis = _trailing_axes("layer_norm", input, normalized_shape, weight, bias)
    check_kinds("LayerNormKernelImpl", input, "fV")
    return _normalized("layer_norm", input, weight, bias, axis=axis, eps=eps)


@nn_function()
def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """`input` over its root mean square over the last dims, then `* weight`."""
    axis = _trailing_axes("rms_norm", input, normalized_shape, weight, None)
    wide = input.to(dtypes.float32) if input.dtype in HALVES else input
    if eps is None:
        eps = dtypes.finfo(wide.dtype).eps
    mean = wide.pow(2).mean(axis, keepdim=True)
    result = wide * apply(TABLE["add_number"], mean, value=eps).rsqrt()
    if weight is not None:
        result = result * weight
    return result.to(input.dtype)


def _check_batch(size: Sequence[int]) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


@nn_function()
def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 for each channel, by the statistics of the batch (in training) or the running ones."""
    if training:
        _check_batch(input.shape)
    if eps < 0.0 or (training and eps == 0.0):
        kind = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {kind}, but got {eps}")
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float,
                eps: float) -> Any:
    if not input._array.size:  # as torch does it: nothing is checked or tracked, but there is a graph
        scaled = input.clone() if weight is None else input.clone() * weight.select(0, 0)
        return scaled if bias is None else scaled + bias.select(0, 0)
    return batch_normalized(input, running_mean, running_var, weight, bias, training, momentum, eps)


def batch_normalized(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float,
                     eps: float) -> Any:
    channels = input._array.shape[1] if input._array.ndim > 1 else 0
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    for name, given in {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}.items():
        if given is None:
            if not training and name.startswith("running"):
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif given._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {given._array.size}")
    normalize_dim(1, input._array.ndim)
    check_kinds("batch_norm", input, "fV")
    is_mixed(input, weight, bias, running_mean, running_var)
    if not training:
        return apply(TABLE["batch_norm"], input, weight, bias, running_mean.detach(), running_var.detach(), eps=eps)
    known = None
    if running_mean is not None or running_var is not None:
        if type(input._array) is np.ndarray:
            known = _track(input._array, running_mean, running_var, momentum)
        elif not input.is_meta:
            _track_batched(input, running_mean, running_var, momentum)
    return apply(TABLE["batch_norm"], input, weight, bias, None, None, eps=eps, known=known)


@outside_rows
def _track(batch: np.ndarray, running_mean: Any, running_var: Any, momentum: float) -> tuple[np.ndarray, np.ndarray]:
    """Update the running statistics in place (with the unbiased variance), without a version bump, as in torch.

    Returns the mean and variance of the batch.
    """
    count = batch.size // batch.shape[1]
    mean, square = raw.channel_moments(batch)
    for running, found in ((running_mean, mean), (running_var, square * (count / (count - 1) if count > 1 else math.nan))):
        if running is not None:
            running._array *= 1 - momentum
            running._array += momentum * found.reshape(-1)
    return mean, square


def _track_batched(input: Any, running_mean: Any, running_var: Any, momentum: float) -> None:
    """`_track` under vmap."""
    for running in (running_mean, running_var):
        if running is not None and type(running._array) is np.ndarray:
            raise RuntimeError("Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
                               "updated in place, were not batched.\nIf you are using a module and do not need eval mode, "
                               "please set `track_running_stats` to be False.If you are using a prebuilt module and do not "
                               "need eval mode, please see the functorch website for resources on how to patch your module to "
                               "work with vmap")
    detached = input.detach()
    dims = (0, *range(2, input.ndim))
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(detached.mean(dims) * momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(detached.var(dims) * momentum)


@nn_function()
def instance_norm(input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
                  use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Any:
    """`batch_norm` of each sample separately."""
    shape = input._array.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {Size(shape)}")
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    samples, channels = shape[:2]
    repeated: list[Any] = [None if t is None else t.repeat(samples) for t in (weight, bias, running_mean, running_var)]
    weight, bias, mean, var = repeated
    in_one = input.contiguous().view(1, samples * channels, *shape[2:])
    result = _batch_norm(in_one, mean, var, weight, bias, use_input_stats, momentum, eps)
    for running, each in ((running_mean, mean), (running_var, var)):
        if running is not None and use_input_stats:
            if type(each._array) is np.ndarray:
                running._array[...] = each._array.reshape(samples, channels).mean(axis=0)
            else:
                running.copy_(each.view(samples, channels).mean(0))
    return result.view(shape)


def check_groups(shape: Sequence[int], channels: int, groups: int, weight: Any, bias: Any) -> None:
    if channels % groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(shape)} and num_groups={groups}")
    for given, name in ((weight, "weight"), (bias, "bias")):
        if given is not None and given._array.shape != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {list(given._array.shape)} and input of shape {list(shape)}")


@nn_function()
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over each group of channels of each sample, then `* weight + bias` for each channel."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    _check_batch([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]])
    check_groups(shape, shape[1], num_groups, weight, bias)
    check_kinds("GroupNormKernelImpl", input, "fV")
    return _normalized("group_norm", input, weight, bias, groups=num_groups, eps=eps)


@nn_function(autocast=Policy("float32", lambda given: given["input"].ndim > 3))
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """`input` over a power of the mean square of its neighbouring channels."""
    if input.ndim < 3:
        raise ValueError("Expected 3D or higher dimensionality                          input (got "
                         f"{input.ndim} dimensions)")
    if input._array.size == 0:
        return input
    square, around = input.mul(input), (size // 2, (size - 1) // 2)
    if input.ndim == 3:
        mean = F.avg_pool2d(F.pad(square.unsqueeze(1), (0, 0, *around)), (size, 1), stride=1).squeeze(1)
    else:
        samples, channels, rows, *_ = input.shape
        volume = F.pad(square.view(samples, 1, channels, rows, -1), (0, 0, 0, 0, *around))
        mean = F.avg_pool3d(volume, (size, 1, 1), stride=1).squeeze(1).view(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)
