"""float16 and bfloat16: computed in float32 and rounded once, as torch does.

NumPy knows bfloat16 through ml_dtypes, and takes a Python number beside it for float32; float16 it rounds after every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Rows of several steps, or with Python numbers in them, and functions of NumPy that do not take bfloat16.
IN_FLOAT32 = frozenset({
    "add_number", "add_scaled", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm", "batch_norm", "cdist",
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "clamp",
    "clamp_max", "clamp_min", "copysign", "div_number", "div_rounded", "elu", "elu_backward", "elu_backward_of_result",
    "elu_inplace", "embedding_bag_weights_backward", "erf", "floor_divide", "fmod", "gelu", "gelu_backward", "hardshrink",
    "hardsigmoid", "hardsigmoid_backward", "hardswish", "hardswish_backward", "hardtanh", "hardtanh_backward",
    "hermite_polynomial_h", "hermite_polynomial_he", "huber_loss", "laguerre_polynomial_l", "leaky_relu", "leaky_relu_backward",
    "leaky_relu_inplace", "legendre_polynomial_p", "lerp", "log_sigmoid", "log_softmax", "log_softmax_backward", "logit",
    "logsumexp", "mish", "mul_number", "multi_margin_loss", "mvlgamma", "nan_to_num", "ndtr", "nll_loss", "nll_loss_backward",
    "pow_number", "remainder", "remainder_of_number", "renorm", "round_decimals", "rsqrt", "safe_softmax",
    "scaled_dot_product_flash_attention_for_cpu", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sigmoid", "silu", "smooth_l1_loss", "softmax_backward",
    "softplus", "softplus_backward", "softshrink", "sub_number", "sub_scaled", "threshold", "threshold_backward",
    "threshold_inplace", "trilinear", "xlogy"})


def is_bfloat16(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "V" and x.dtype.itemsize == 2


def is_short(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Computed in float32, and rounded once at the end."""

    def widened(*arrays: Any, **statics: Any) -> Any:
        for x in arrays:
            if is_short(x):
                break
        else:
            return function(*arrays, **statics)
        out = function(*[x.astype(np.float32) if is_short(x) else x for x in arrays], **statics)
        return tuple([rounded(y, x.dtype) for y in out]) if isinstance(out, tuple) else rounded(out, x.dtype)

    return widened


def rounded(x: Any, dtype: np.dtype) -> Any:
    return x.astype(dtype) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f" else x
