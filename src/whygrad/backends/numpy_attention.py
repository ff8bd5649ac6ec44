"""NumPy's part in attention: the same as the rows say, with few passes over the largest array."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.numpy_reduction import is_half
from whygrad.backends.quiet import quiet

_whygrad_internal_ = True


def _precise(x: Any) -> Any:
    """Short floats are computed as float32."""
    return x.astype(np.float32) if is_half(x.dtype) else x


@quiet
def scaled_dot_product_flash_attention_for_cpu(q: Any, k: Any, v: Any, *masks: Any, scale: float) -> Any:
    weights = np.matmul(_precise(q), _precise(k).swapaxes(2, 3))
    weights *= weights.dtype.type(scale)
    for mask in masks:
        if mask.dtype == np.bool_:
            np.copyto(weights, -np.inf, where=~mask)
        else:
            weights += mask
    highest = np.maximum.reduce(weights, axis=3, keepdims=True)
    if masks:
        highest[highest == -np.inf] = 0  # all masked out: exp(-inf) is 0
    weights -= highest
    np.exp(weights, out=weights)
    total = np.add.reduce(weights, axis=3, keepdims=True)
    if masks:
        total[total == 0] = 1
    weights /= total
    return np.matmul(weights, _precise(v)).astype(q.dtype, copy=False), weights


def scaled_dot_product_flash_attention_for_cpu_backward(grad: Any, q: Any, k: Any, v: Any, weights: Any, *,
                                                        scale: float) -> Any:
    dtype = q.dtype
    grad, q, k, v = [_precise(x) for x in (grad, q, k, v)]
    slope = np.matmul(grad, v.swapaxes(2, 3))
    slope *= weights
    slope -= weights * np.add.reduce(slope, axis=3, keepdims=True)
    slope *= slope.dtype.type(scale)
    gradients = np.matmul(slope, k), np.matmul(slope.swapaxes(2, 3), q), np.matmul(weights.swapaxes(2, 3), grad)
    return [x.astype(dtype, copy=False) for x in gradients]
