"""torch.nn.utils: gradient clipping, parameters as one vector, padded sequences, weights computed from other parameters."""

from whygrad.base.unsupported import absent_from
from whygrad.nn.utils import parametrizations, parametrize, rnn
from whygrad.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from whygrad.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from whygrad.nn.utils.fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from whygrad.nn.utils.init import skip_init
from whygrad.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from whygrad.nn.utils.weight_norm import remove_weight_norm, weight_norm

__getattr__ = absent_from("torch.nn.utils")

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval",
           "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector",
           "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn",
           "skip_init", "spectral_norm", "vector_to_parameters", "weight_norm"]
