"""Attention of float32 as kernels, forward and back: which arrays they are for, and how their results lie in memory."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.backends.memory_order import axes_by_stride
from whygrad.kernels.attention_code import KEYS, QUERIES, AttentionPlan, backward, forward
from whygrad.kernels.calls import contiguous
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.panels import panel_width
from whygrad.kernels.stages import SERIAL, workspace

# Multiplications below which one thread does all.
SERIAL_WORK = 1 << 17
# Beside a panel most of whose columns are empty, matrix products are the better way.
FEWEST_QUERIES = 4


@lru_cache(maxsize=512)
def _plan(shape: tuple[int, ...], kv: tuple[int, ...], strides: tuple[tuple[int, ...], ...], scale: float, causal: bool,
          is_backward: bool) -> Any:
    """None if the kernels are not for such arrays."""
    samples, heads, queries, depth = shape
    _, shared, keys, _ = kv
    if any(s[3] != 4 or any(n % 4 for n in s) for s in strides) or queries < FEWEST_QUERIES:
        return None
    width, group = panel_width(), heads // shared
    blocks = -(-queries // width)
    units = samples * (shared if is_backward else heads * blocks)
    floats = 2 * depth * width + 2 * QUERIES * width + group * queries if is_backward else (2 * depth + KEYS + 2) * width
    each = -(-floats // host().lanes) * host().lanes
    serial = samples * heads * queries * keys * depth < SERIAL_WORK
    (bits,) = struct.unpack("q", struct.pack("d", scale))
    return AttentionPlan.of(
        each=each, shared=0, units=units, units_serial=SERIAL if serial else 0, heads=heads, group=group, queries=queries,
        keys=keys, depth=depth, blocks=blocks, causal=int(causal), scale=bits,
        strides=[n // 4 for s in strides for n in s[:3]])


@lru_cache(maxsize=512)
def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of a new array that lies in memory as one with these strides does, and how to transpose it then."""
    order = axes_by_stride(shape, [[abs(n) for n in strides]])
    return tuple([shape[axis] for axis in order]), tuple([order.index(axis) for axis in range(len(shape))])


@lru_cache(maxsize=512)
def _forward_plan(shape: tuple[int, ...], lying: tuple[int, ...], kv: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...],
                  scale: float, causal: bool) -> tuple[Any, ...]:
    """(plan, shape of the result as it lies in memory, how to transpose it), for arrays of these shapes and strides."""
    in_memory, axes = _order(shape, lying)
    strides = np.empty(in_memory, FLOAT32).transpose(axes).strides
    return _plan(shape, kv, (lying, k, v, strides), scale, causal, False), in_memory, axes


def scaled_dot_product_flash_attention_for_cpu(numpy: Callable[..., Any]) -> Callable[..., Any]:
    kernel = forward()

    def run(q: Any, k: Any, v: Any, *masks: Any, scale: float, causal: bool) -> Any:
        if not masks and q.dtype is k.dtype is v.dtype is FLOAT32:
            plan, in_memory, axes = _forward_plan(q.shape, q.strides, k.shape, k.strides, v.strides, scale, causal)
            if plan is not None:
                out, logarithms = np.empty(in_memory, FLOAT32).transpose(axes), np.empty(q.shape[:3], FLOAT32)
                kernel(plan, q, k, v, out, logarithms, workspace(plan))
                return out, logarithms
        return numpy(q, k, v, *masks, scale=scale, causal=causal)

    return run


def _new_gradients(q: Any, k: Any, v: Any) -> tuple[Any, ...]:
    """As torch has them: of one sample all heads of a row side by side. If the arrays are parts of one, as parts of one."""
    if q.base is not None and q.base is k.base is v.base and q.strides == k.strides == v.strides and q.shape == k.shape:
        samples, heads, rows, depth = q.shape
        together = np.empty((samples, rows, 3, heads, depth), FLOAT32).transpose(2, 0, 3, 1, 4)
        return together[0], together[1], together[2]
    return tuple([np.empty((n, t, h, d), FLOAT32).transpose(0, 2, 1, 3) for n, h, t, d in (x.shape for x in (q, k, v))])


def scaled_dot_product_flash_attention_for_cpu_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    kernel = backward()

    def run(grad: Any, q: Any, k: Any, v: Any, out: Any, logarithms: Any, *masks: Any, scale: float, causal: bool) -> Any:
        if not masks and grad.dtype is q.dtype is k.dtype is v.dtype is FLOAT32:
            if grad.strides[3] != 4:
                grad = np.ascontiguousarray(grad)
            g_q, g_k, g_v = gradients = _new_gradients(q, k, v)
            plan = _plan(q.shape, k.shape, (q.strides, k.strides, v.strides, out.strides, grad.strides, g_q.strides, g_k.strides,
                                            g_v.strides), scale, causal, True)
            if plan is not None:
                kernel(plan, q, k, v, out, grad, g_q, g_k, g_v, contiguous(logarithms), workspace(plan))
                return gradients
        return numpy(grad, q, k, v, out, logarithms, *masks, scale=scale, causal=causal)

    return run
