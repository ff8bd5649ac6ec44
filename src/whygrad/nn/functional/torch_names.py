"""The functions of torch.nn.functional that the torch namespace has with another signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whygrad.autograd.grad_mode import no_grad
from whygrad.base import door
from whygrad.base.dtypes import bool_
from whygrad.functional.run import FUNCTIONS
from whygrad.nn import functional as F

empty_like, ones_like = FUNCTIONS["empty_like"], FUNCTIONS["ones_like"]


def torch_function(f: Callable[..., Any]) -> Any:
    """Behind the door; what stands here is not loaded with the torch namespace."""
    f.__doc__ = f.__doc__ or f"`nn.functional.{f.__name__}`."
    return door.function(f"torch.{f.__name__}", f)


REDUCTIONS = ("none", "mean", "sum")
INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


@torch_function
def layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enable: bool = True) -> Any:
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@torch_function
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enabled: bool = True) -> Any:
    return F.group_norm(input, num_groups, weight, bias, eps)


@torch_function
def batch_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
               eps: float, cudnn_enabled: bool) -> Any:
    """`nn.functional.batch_norm`, with the weight first."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@torch_function
def instance_norm(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
                  momentum: float, eps: float, cudnn_enabled: bool) -> Any:
    """`nn.functional.instance_norm`, with the weight first."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@torch_function
def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Any:
    """`nn.functional.embedding`, with the weight first."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, scale_grad_by_freq=scale_grad_by_freq,
                       sparse=sparse)


@torch_function
def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """`nn.functional.adaptive_max_pool1d_with_indices`."""
    return F.adaptive_max_pool1d_with_indices(input, output_size)


@torch_function
def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    if generator is not None:
        raise NotImplementedError("torch.rrelu with a generator is not supported; use manual_seed")
    return F.rrelu(input, lower, upper, training)


def _dropout(name: str, function: Callable[..., Any]) -> None:
    def dropout(input: Any, p: float, train: bool) -> Any:
        return function(input, p, train)

    def dropout_(input: Any, p: float, train: bool) -> Any:
        return function(input, p, train, True)

    for made, public_name in ((dropout, name), (dropout_, f"{name}_")):
        made.__name__ = made.__qualname__ = public_name
        made.__doc__ = f"`nn.functional.{function.__name__}`."
        globals()[public_name] = torch_function(made)


_dropout("dropout", F.dropout)
_dropout("alpha_dropout", F.alpha_dropout)
_dropout("feature_alpha_dropout", F.feature_alpha_dropout)
_dropout("feature_dropout", F.dropout2d)


@torch_function
def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """`nn.functional.dropout` and its mask."""
    if not train and train is not None:
        return input, ones_like(input, dtype=bool_)
    mask = empty_like(input).bernoulli_(1 - p).bool()
    return input * mask * (1 / (1 - p) if p < 1 else 0.0), mask


@torch_function
def native_channel_shuffle(input: Any, groups: int) -> Any:
    return F.channel_shuffle(input, groups)


@torch_function
def affine_grid_generator(theta: Any, size: Sequence[int], align_corners: bool) -> Any:
    return F.affine_grid(theta, list(size), align_corners)


@torch_function
def convolution(input: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                transposed: bool, output_padding: Sequence[int], groups: int) -> Any:
    """`nn.functional.conv1d` to `conv3d`, and the transposed ones."""
    name = f"conv{'_transpose' if transposed else ''}{input.dim() - 2}d"
    stride, padding, dilation, output_padding = [list(sizes) * (input.dim() - 2) if len(sizes) == 1 else list(sizes)
                                                 for sizes in (stride, padding, dilation, output_padding)]
    if transposed:
        return getattr(F, name)(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, name)(input, weight, bias, stride, padding, dilation, groups)


@torch_function
def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """The rows at these positions scaled down to `max_norm`, in place."""
    with no_grad():
        F.embedding(indices, input, max_norm=max_norm, norm_type=norm_type)
    return input


def _grid_sampler(name: str) -> None:
    def sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
        return F.grid_sample(input, grid, INTERPOLATIONS[interpolation_mode], PADDINGS[padding_mode], align_corners)

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = "`nn.functional.grid_sample`, with its modes as numbers."
    globals()[name] = torch_function(sampler)


for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):
    _grid_sampler(_name)


# Losses: the reduction is a number.

@torch_function
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None,
                                     reduction: int = 1) -> Any:
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=REDUCTIONS[reduction],
                                              pos_weight=pos_weight)


@torch_function
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0, reduction: int = 1) -> Any:
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


@torch_function
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1, reduction: int = 1) -> Any:
    return F.hinge_embedding_loss(input, target, margin, reduction=REDUCTIONS[reduction])


@torch_function
def kl_div(input: Any, target: Any, reduction: int = 1, *, log_target: bool = False) -> Any:
    return F.kl_div(input, target, reduction=REDUCTIONS[reduction], log_target=log_target)


@torch_function
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0, reduction: int = 1) -> Any:
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


@torch_function
def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=REDUCTIONS[reduction])


@torch_function
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, reduction: int = 1) -> Any:
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=REDUCTIONS[reduction])
