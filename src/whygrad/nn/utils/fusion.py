"""torch.nn.utils.fusion: a convolution or a linear layer and the batch norm behind it, in one layer for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import whygrad as torch
from whygrad.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(layer: Any, bn: Any, fuse: Any, **options: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    result = copy.deepcopy(layer)
    result.weight, result.bias = fuse(result.weight, result.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias,
                                      **options)
    return result


def _scaled(weight: Any, bias: Any, running_mean: Any, running_var: Any, eps: float, bn_weight: Any, bn_bias: Any,
            shape: list[int]) -> tuple[Any, Any]:
    """The weight times a factor for each channel, which stands along -1 in `shape`; and the bias that goes with it."""
    old_bias = torch.zeros_like(running_mean) if bias is None else bias
    scale = torch.rsqrt(running_var + eps)
    if bn_weight is not None:
        scale = scale * bn_weight
    new_bias = (old_bias - running_mean) * scale
    if bn_bias is not None:
        new_bias = new_bias + bn_bias
    bias_dtype = weight.dtype if bias is None else bias.dtype
    return (Parameter((weight * scale.reshape(shape)).to(weight.dtype), weight.requires_grad),
            Parameter(new_bias.to(bias_dtype), old_bias.requires_grad))


def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
                         transpose: bool = False) -> tuple[Any, Any]:
    """The weight and bias of a convolution (transposed or not) that does what the two layers do."""
    inner = [1] * (conv_w.ndim - 2)
    return _scaled(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [1, -1, *inner] if transpose else [-1, 1, *inner])


def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any,
                           bn_b: Any) -> tuple[Any, Any]:
    """The weight and bias of a linear layer that does what the two layers do."""
    return _scaled(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of `conv` that does what `conv` and `bn` do in evaluation."""
    return _fused(conv, bn, fuse_conv_bn_weights, transpose=transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of `linear` that does what `linear` and `bn` do in evaluation."""
    if bn.num_features not in (1, linear.out_features) and not (linear.training or bn.training):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
                             f"{linear.out_features} and bn.num_features={bn.num_features}")
    return _fused(linear, bn, fuse_linear_bn_weights)
