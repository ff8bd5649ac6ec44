"""Attention on NumPy arrays: as defined in ops/attention.py, with fewer passes over the matrix of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.memory_order import copy_in_order
from whygrad.backends.numpy_reduction import is_half


def _in_float32(x: Any) -> Any:
    """Half precision as float32."""
    return x.astype(np.float32) if is_half(x.dtype) else x


def _scores(q: Any, k: Any, masks: tuple[Any, ...], scale: float, causal: bool) -> Any:
    found = np.matmul(q, k.swapaxes(2, 3))
    found *= found.dtype.type(scale)
    if causal:
        masks = (*masks, np.tri(*found.shape[2:], dtype=np.bool_))
    for mask in masks:
        if mask.dtype == np.bool_:
            np.copyto(found, -np.inf, where=~mask)
        else:
            found += mask
    return found


def _for_each_head(x: Any, heads: int) -> Any:
    return x if x.shape[1] == heads else x.repeat(heads // x.shape[1], 1)


def _for_own_heads(g: Any, own: int) -> Any:
    samples, heads, *rest = g.shape
    return g if own == heads else np.add.reduce(g.reshape(samples, own, heads // own, *rest), axis=2)


@quiet
def scaled_dot_product_flash_attention_for_cpu(q: Any, k: Any, v: Any, *masks: Any, scale: float, causal: bool) -> Any:
    k, v = (_for_each_head(_in_float32(x), q.shape[1]) for x in (k, v))
    weights = _scores(_in_float32(q), k, masks, scale, causal)
    highest = np.maximum.reduce(weights, axis=3, keepdims=True)
    if masks:
        highest[highest == -np.inf] = 0  # a fully masked row: exp(-inf - 0) is 0, whereas -inf - -inf is NaN
    weights -= highest
    np.exp(weights, out=weights)
    total = np.add.reduce(weights, axis=3, keepdims=True)
    if masks:
        total[total == 0] = 1
    weights /= total
    out = np.matmul(weights, v).astype(q.dtype, copy=False)
    sums = highest[..., 0] + np.log(total[..., 0])
    return out if q.flags.c_contiguous else copy_in_order(out, q), sums


@quiet
def scaled_dot_product_flash_attention_for_cpu_backward(grad: Any, q: Any, k: Any, v: Any, out: Any, sums: Any, *masks: Any,
                                                        scale: float, causal: bool) -> Any:
    dtype, own = q.dtype, k.shape[1]
    grad, q, k, v, out, sums = [_in_float32(x) for x in (grad, q, k, v, out, sums)]
    k, v = _for_each_head(k, q.shape[1]), _for_each_head(v, q.shape[1])
    weights = _scores(q, k, masks, scale, causal)
    weights -= sums[..., None]
    np.exp(weights, out=weights)
    slope = np.matmul(grad, v.swapaxes(2, 3))
    slope -= np.add.reduce(grad * out, axis=3, keepdims=True)
    slope *= weights
    slope *= slope.dtype.type(scale)
    g_k, g_v = np.matmul(slope.swapaxes(2, 3), q), np.matmul(weights.swapaxes(2, 3), grad)
    gradients = np.matmul(slope, k), _for_own_heads(g_k, own), _for_own_heads(g_v, own)
    return [x.astype(dtype, copy=False) for x in gradients]
