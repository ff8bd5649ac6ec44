"""Losses. One graph node in torch is one row here; the other losses compose ops as torch does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.autograd.grad_mode import is_grad_enabled, no_grad
from whygrad.backends import raw
from whygrad.base import dtypes
from whygrad.base.broadcasting import broadcast_shapes
from whygrad.base.errors import warn
from whygrad.core.record import apply, compiled
from whygrad.core.tensor import Size, Tensor
from whygrad.functional.arguments import check_kinds
from whygrad.functional.ctc import ctc_loss as torch_ctc_loss
from whygrad.functional.distance import pairwise_distance
from whygrad.functional.inplace import check_castable
from whygrad.functional.promotion import cast, promote
from whygrad.functional.run import nn_function
from whygrad.functional.softmax import log_softmax
from whygrad.nn import functional as F
from whygrad.ops.table import TABLE
from whygrad.why import record as why

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
           "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
           "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
           "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"]

_mse_loss = compiled(TABLE["mse_loss"], "tt")
_nll_loss = compiled(TABLE["nll_loss"], "tts")
_nll_loss_weighted = compiled(TABLE["nll_loss"], "ttt")


def _number_row(name: str) -> Callable[[Any, float], Any]:
    row = compiled(TABLE[f"{name}_number"], "t")
    return lambda x, value: row(x if x.dtype.category > 1 else x.to(dtypes.get_default_dtype()), value=value)


# Arithmetic with a Python number that records the node which torch's C++ does.
add_number, sub_number, mul_number, div_number = [_number_row(name) for name in ("add", "sub", "mul", "div")]


def matched(input: Any, target: Any) -> tuple[Any, Any]:
    """Both arguments promoted to one dtype and broadcast to one shape, with torch's warning if the shapes differ."""
    try:
        a, b = input._array, target._array
    except AttributeError:
        wrong = target if isinstance(input, Tensor) else input
        raise AttributeError(f"'{type(wrong).__name__}' object has no attribute 'size'") from None
    if a.shape != b.shape:
        warn(f"Using a target size ({Size(b.shape)}) that is different to the input size ({Size(a.shape)}). "
             "This will likely lead to incorrect results due to broadcasting. Please ensure they have the "
             "same size.")
        if why.watching is not None:
            why.watching.loss_broadcast(a.shape, b.shape)
        input, target = torch.broadcast_tensors(input, target)
    if a.dtype is not b.dtype:
        input, target = promote("loss", input, target)
    return input, target


def check_constant(function: str, argument: str, given: Any) -> None:
    """Refuse an argument that requires grad where torch has no derivative for it."""
    if given is not None and given.requires_grad and is_grad_enabled():
        raise RuntimeError(f"The function '{function}' is not differentiable with respect to argument '{argument}'. "
                           "This input cannot have requires_grad True.")


@nn_function(autocast="float32")
def mse_loss(input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean", weight: Any = None) -> Any:
    """The squared difference."""
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    a, b = matched(input, target)
    if weight is not None:
        return _weighted((a - b).pow(2), weight, input, reduction)
    check_kinds("mse_cpu", a, "fV")
    return _mse_loss(a, b, reduction=reduction)


@nn_function(autocast="float32")
def l1_loss(input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean", weight: Any = None) -> Any:
    """The absolute difference."""
    reduction = reduction_of(reduction, size_average, reduce)
    a, b = matched(input, target)
    if "b" in (input._array.dtype.kind, target._array.dtype.kind):
        return input - target  # which is refused
    difference = (a - b).abs()
    return reduce_loss(difference, reduction) if weight is None else _weighted(difference, weight, input, reduction)


def _weighted(loss: Any, weight: Any, input: Any, reduction: str) -> Any:
    _check_weight(weight, input)
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduce_loss(loss, reduction)


def _check_weight(weight: Any, input: Any) -> None:
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


@nn_function(autocast="float32")
def smooth_l1_loss(input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Any:
    """Squared below `beta`, absolute above."""
    reduction = reduction_of(reduction, size_average, reduce)
    a, b = matched(input, target)
    if beta == 0.0:
        return reduce_loss((a - b).abs(), reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    check_kinds("smooth_l1_cpu", a, "fV")
    return apply(TABLE["smooth_l1_loss"], a, b, reduction=reduction, beta=beta)


@nn_function(autocast="float32")
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """Squared below `delta`, linear above."""
    a, b = matched(input, target)
    reduction = reduction if weight is not None else reduction_of(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    check_castable(a.dtype, input.dtype)
    check_kinds("huber_cpu", a, "fV")
    if weight is None:
        if a.dtype is input.dtype:
            return apply(TABLE["huber_loss"], a, b, reduction=reduction, delta=delta)
        # Unlike the other losses, its elements are stored in the dtype of the input.
        return reduce_loss(cast(apply(TABLE["huber_loss"], a, b, reduction="none", delta=delta), input._array.dtype), reduction)
    _check_weight(weight, input)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return reduce_loss(apply(TABLE["huber_loss"], a, b, reduction="none", delta=delta) * weight, reduction)


@nn_function(autocast="float32")
def nll_loss(input: Any, target: Any, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
             reduce: bool | None = None, reduction: str = "mean") -> Any:
    """The negated input at each target class, for inputs (C), (N, C) or (N, C, d1, ...)."""
    return _nll(input, target, weight, reduction_of(reduction, size_average, reduce), ignore_index)


def _nll(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    array, targets = input._array, target._array
    shape = array.shape
    _check_nll(input, target, weight)
    row = _nll_loss if weight is None else _nll_loss_weighted
    if array.ndim <= 2:
        return row(input, target, weight, ignore_index=ignore_index, reduction=reduction, spatial=False)
    if array.ndim == 4:
        return row(input, target, weight, ignore_index=ignore_index, reduction=reduction, spatial=True)
    positions = targets.size // shape[0] if shape[0] else 0
    loss = row(input.contiguous().view(shape[0], shape[1], 1, positions), target.view(shape[0], 1, positions), weight,
               ignore_index=ignore_index, reduction=reduction, spatial=True)
    return loss.view(targets.shape) if reduction == "none" else loss


def _check_nll(input: Any, target: Any, weight: Any) -> None:
    shape, targets = input._array.shape, target._array.shape
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) > 1 and targets[:1] != shape[:1]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size "
                         f"({targets[0] if targets else 0}).")
    if len(shape) <= 2:
        if len(targets) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if len(shape) == 1 and targets not in ((), (1,)):
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {targets[0]}")
    elif len(shape) == 4 and len(targets) != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of dimension: "
                           f"{len(targets)}")
    elif targets[1:] != shape[2:]:
        if len(shape) == 4:
            raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(targets)}")
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(targets)}")
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_name}")
    classes = shape[min(1, len(shape) - 1)]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got "
                           f"weight tensor of shape: {list(weight._array.shape)}")
    if weight is not None:
        check_constant("nll_loss2d_forward" if len(shape) > 2 else "nll_loss_forward", "weight", weight)
        if weight.dtype is not input.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")


@nn_function(autocast="float32")
def cross_entropy(input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Any:
    """The loss of logits against class indices, or against class probabilities of the same shape."""
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = reduction_of(reduction, size_average, reduce)
    shape = input._array.shape
    class_dim = 0 if len(shape) == 1 else 1
    if target._array.shape == shape:
        return _cross_entropy_of_probabilities(input, target, weight, reduction, ignore_index, label_smoothing,
                                               class_dim)
    if label_smoothing > 0.0:
        if label_smoothing > 1.0:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        return _smoothed_cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing, class_dim)
    if len(shape) > 1 and target._array.shape[:1] != shape[:1]:
        _check_nll(input, target, weight)  # torch, too, looks at the batch size before it computes
    return _nll(log_softmax(input, class_dim), target, weight, reduction, ignore_index)


def _cross_entropy_of_probabilities(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int,
                                    label_smoothing: float, class_dim: int) -> Any:
    if target._array.dtype.kind not in "fVc":
        raise RuntimeError("Expected floating point type for target with class probabilities, got "
                           f"{target.dtype.scalar_name}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input._array.shape[class_dim]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError("cross_entropy: weight tensor should be defined either for all "
                           f"{classes} classes or no classes but got weight tensor of shape: "
                           f"{list(weight._array.shape)}")
    log_probabilities = log_softmax(input, class_dim)
    if label_smoothing > 0.0:
        if label_smoothing > 1.0:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        target = add_number(mul_number(target, 1 - label_smoothing), label_smoothing / classes if classes else math.inf)
    product = log_probabilities * target
    if weight is not None:
        product = product * _along_class(weight, input._array.ndim)
    if reduction == "none":
        return -product.sum(class_dim)
    total = -product.sum()
    if reduction == "sum":
        return total
    samples = input._array.size // classes if classes else 0
    return div_number(total, samples) if samples else mul_number(total, math.nan)


def _along_class(weight: Any, ndim: int) -> Any:
    return weight if ndim == 1 else weight.view(1, -1, *(1,) * (ndim - 2))


def _smoothed_cross_entropy(input: Any, target: Any, weight: Any, reduction: str, ignore_index: int,
                            label_smoothing: float, class_dim: int) -> Any:
    log_probabilities = log_softmax(input, class_dim)
    loss = _nll(log_probabilities, target, weight, reduction, ignore_index)
    spread = log_probabilities if weight is None else log_probabilities * _along_class(weight, input._array.ndim)
    ignored = target == ignore_index
    spread = (-spread.sum(class_dim)).masked_fill(ignored, 0.0)
    if reduction != "none":
        spread = spread.sum()
    if reduction == "mean":
        counted = ~ignored
        spread = spread / (counted.sum() if weight is None else weight[target[counted]].sum())
    classes = input._array.shape[class_dim]
    share = label_smoothing / classes if classes else math.inf
    return mul_number(loss, 1 - label_smoothing) + mul_number(spread, share)


def outside(xp: Any, x: Any) -> Any:
    """The number of elements outside [0, 1]."""
    return xp.sum(xp.where((x >= 0) & (x <= 1), 0.0, 1.0))


@nn_function(autocast="float32")
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Any:
    """The loss of probabilities against targets between 0 and 1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.shape, weight.shape))
    for given in (target, weight):
        if given is not None and given.dtype is not input.dtype:
            raise RuntimeError(f"Found dtype {given.dtype.scalar_name} but expected {input.dtype.scalar_name}")
    check_constant("binary_cross_entropy", "weight", weight)
    for array, name in ((input._numbers, "input"), (target._numbers, "target")):
        if raw.in_one_pass(outside, array):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return apply(TABLE["binary_cross_entropy"], input, target, weight, reduction=reduction)


@nn_function(autocast="float32")
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
                                     reduce: bool | None = None, reduction: str = "mean",
                                     pos_weight: Any = None) -> Any:
    """sigmoid and binary cross entropy in one, without overflow."""
    reduction = reduction_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if target._array.dtype.kind not in "fVc":
        raise RuntimeError(f"result type {input.dtype.scalar_name} can't be cast to the desired output type "
                           f"{target.dtype.scalar_name}")
    check_kinds("log_sigmoid_cpu", input, "fV")
    check_constant("binary_cross_entropy_with_logits", "weight", weight)
    check_constant("binary_cross_entropy_with_logits", "pos_weight", pos_weight)
    shape = input._array.shape
    if pos_weight is not None and (common := broadcast_shapes(pos_weight._array.shape, shape)) != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")
    if weight is not None:
        broadcast_shapes(shape, weight._array.shape)
    dtype = target._array.dtype  # torch writes the loss over 1 - target
    input, target, weight, pos_weight = promote("binary_cross_entropy_with_logits", input, target, weight, pos_weight)
    loss = apply(TABLE["binary_cross_entropy_with_logits"], input, target, weight, pos_weight, reduction=reduction)
    return loss if loss._array.dtype is dtype else cast(loss, dtype)


@nn_function(autocast="float32")
def kl_div(input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence of log-probabilities `input` from `target`."""
    batch_mean = False
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    elif reduction == "mean":
        warn("reduction: 'mean' divides the total loss by both the batch size and the support "
             "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
             "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
             "release.")
    elif reduction == "batchmean":
        batch_mean, reduction = True, "sum"
    reduction = reduction_of(reduction)
    for x in (input, target):
        if x._array.dtype.kind not in "fV":
            raise RuntimeError(f"kl_div: {'Complex' if x._array.dtype.kind == 'c' else 'Integral'} inputs not supported.")
    loss = target.exp() * (target - input) if log_target else torch.xlogy(target, target) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.shape[0] if batch_mean and input.ndim else loss


@nn_function(autocast="float32")
def poisson_nll_loss(input: Any, target: Any, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8,
                     reduce: bool | None = None, reduction: str = "mean") -> Any:
    """The loss of a Poisson rate (or its logarithm) against counts."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * add_number(input, eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


@nn_function()
def gaussian_nll_loss(input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Any:
    """The loss of a mean and variance against observations."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif (var._numbers < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(n for m, n in zip(input.shape, var.shape, strict=True) if m != n) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


def _constant_like(x: Any, value: float) -> Any:
    return torch.full_like(x.detach(), value)


@nn_function(autocast="float32")
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Any:
    """The distance itself where target is 1, what it lacks of `margin` where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    where, zeros = torch.where, _constant_like(input, 0)
    lacking = (_constant_like(input, margin) - input).clamp_min(0)
    return reduce_loss(where(target != 1, lacking, zeros) + where(target != -1, input, zeros), reduction)


@nn_function(autocast="float32")
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Any:
    """max(0, -target * (input1 - input2) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.shape}, input2: {input2.shape}, target: {target.shape} ")
    return reduce_loss(add_number(-target * (input1 - input2), margin).clamp_min(0), reduction)


@nn_function(autocast="float32")
def soft_margin_loss(input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> Any:
    """log(1 + exp(-target * input))."""
    reduction = reduction_of(reduction, size_average, reduce)
    broadcast_shapes(input._array.shape, target._array.shape)
    return apply(TABLE["soft_margin_loss"], *promote("soft_margin_loss", input, target), reduction=reduction)


@nn_function()
def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Any:
    """The binary cross entropy of logits, averaged over the classes."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(dim=-1) / input.shape[-1]
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return reduce_loss(loss, reduction)


def _check_scores(input: Any) -> None:
    shape = input._array.shape
    if len(shape) > 2 or 0 in shape[-1:]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}")


@nn_function(autocast="float32")
def multi_margin_loss(input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Any:
    """The hinge loss of each wrong class within `margin` of the right one."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    _check_scores(input)
    samples = input._array.shape[0] if input._array.ndim == 2 else 1
    if target._array.ndim > 1 or target._array.size != samples or (input._array.ndim == 2 and not target._array.ndim):
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples "
                           f"(batch size). Expected target size [{samples}], but got {list(target._array.shape)}. Input has "
                           f"shape {list(input._array.shape)}.")
    classes = input._array.shape[-1] if input._array.ndim else 1
    if weight is not None and weight._array.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight._array.shape)}")
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_name}")
    return apply(TABLE["multi_margin_loss"], input, target, weight, p=p, margin=margin, reduction=reduction)


@nn_function(autocast="float32")
def multilabel_margin_loss(input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> Any:
    """How far unwanted classes come within 1 of wanted ones; labels end at the first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_scores(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if target._array.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_name}")
    labels, classes = target._numbers, input._array.shape[-1] if input._array.ndim else 1
    if labels.size and not -1 <= labels.min() <= labels.max() < classes:
        raise RuntimeError("argument #2 'target' is out of range")
    return apply(TABLE["multilabel_margin_loss"], input, target, reduction=reduction)


@nn_function(autocast="float32")
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None,
                          reduce: bool | None = None, reduction: str = "mean") -> Any:
    """1 - cosine where target is 1, what the cosine exceeds `margin` by where it is -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    dim = target.ndim
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if (input1.ndim, input2.ndim) != (dim + 1, dim + 1):
        raise RuntimeError(f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    square1 = add_number((input1 * input1).sum(dim), 1e-12)
    square2 = add_number((input2 * input2).sum(dim), 1e-12)
    cosine = (input1 * input2).sum(dim) / (square1 * square2).sqrt()
    where, zeros = torch.where, _constant_like(cosine, 0)
    positive = where(target == 1, _constant_like(cosine, 1) - cosine, zeros)
    negative = where(target == -1, sub_number(cosine, margin).clamp_min(0), zeros)
    return reduce_loss(positive + negative, reduction)


def _check_triplet(anchor: Any, positive: Any, negative: Any, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
                           f"{negative.ndim}D inputs")


@nn_function(autocast="float32")
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    reduction = reduction_of(reduction, size_average, reduce)
    _check_triplet(anchor, positive, negative, margin)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss((add_number(near, margin) - far).clamp_min(0), reduction)


@nn_function()
def triplet_margin_with_distance_loss(anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Any:
    """`triplet_margin_loss` with a custom distance function."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_triplet(anchor, positive, negative, margin)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return reduce_loss((margin + near - far).clamp_min(0), reduction)


@nn_function(autocast="float32")
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Any:
    """Minus the log-likelihood of the label sequences `targets` under log-probabilities (steps, batch, classes)."""
    code = ("none", "mean", "sum").index(reduction_of(reduction))
    return torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity)


def reduction_of(reduction: Any, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """"none", "mean" or "sum"."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    found: str = reduction
    return found


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    averaged = size_average is None or size_average
    reduced = reduce is None or reduce
    found = ("mean" if averaged else "sum") if reduced else "none"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def reduce_loss(loss: Any, reduction: str) -> Any:
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
