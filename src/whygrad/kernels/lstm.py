"""An LSTM over a whole sequence: products by BLAS, and all that happens between two of them in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.blocks import Blocks, block_kernel
from whygrad.kernels.functions import sigmoid, tanh
from whygrad.kernels.values import Value

_whygrad_internal_ = True

FLOAT32 = np.dtype(np.float32)


def _forward(blocks: Blocks, j: Value, width: int) -> None:
    """(h @ W, what the input adds, c before) -> (activations, c, h)"""
    f = blocks.f
    gates = [blocks.load(0, part, j, width) + blocks.load(1, part, j, width) for part in range(4)]
    take, keep, new, show = sigmoid(f, gates[0]), sigmoid(f, gates[1]), tanh(f, gates[2]), sigmoid(f, gates[3])
    c = keep * blocks.load(2, 0, j, width) + take * new
    bounded = tanh(f, c)
    for part, value in enumerate((take, keep, new, show, bounded)):
        blocks.store(value, 3, part, j)
    blocks.store(c, 4, 0, j)
    blocks.store(show * bounded, 5, 0, j)


def _backward(blocks: Blocks, j: Value, width: int) -> None:
    """(gradient of the output, of h through the next step, of c, activations, c before) -> (of the gates, of c before)"""
    take, keep, new, show, bounded = (blocks.load(3, part, j, width) for part in range(5))
    g_h = blocks.load(0, 0, j, width) + blocks.load(1, 0, j, width)
    g_c = blocks.load(2, 0, j, width) + g_h * show * (1.0 - bounded * bounded)
    slopes = (g_c * new * take * (1.0 - take), g_c * blocks.load(4, 0, j, width) * keep * (1.0 - keep),
              g_c * take * (1.0 - new * new), g_h * bounded * show * (1.0 - show))
    for part, slope in enumerate(slopes):
        blocks.store(slope, 5, part, j)
    blocks.store(g_c * keep, 6, 0, j)


def mkldnn_rnn_layer(numpy: Callable[..., Any]) -> Callable[..., Any]:
    step = block_kernel("lstm_step", (4, 4, 1, 5, 1, 1), frozenset({3, 4, 5}), _forward)

    def run(pre: Any, initial: Any, hidden: Any, *bias: Any, cell: str, sizes: Any, reverse: bool, biased: bool) -> Any:
        if pre.dtype is not FLOAT32 or hidden.dtype is not FLOAT32 or not pre.size or initial.shape[1] * 2 != pre.shape[2]:
            return numpy(pre, initial, hidden, *bias, cell=cell, sizes=sizes, reverse=reverse, biased=biased)
        steps, batch, size = pre.shape[0], pre.shape[1], pre.shape[2] // 4
        pre = np.ascontiguousarray(pre)
        for b in bias:
            pre = pre + b
        # States before each step and after the last one, in the order of the steps.
        h, c = np.empty((2, steps + 1, batch, size), FLOAT32)
        h[0], c[0] = initial[:, :size], initial[:, size:]
        activations = np.empty((steps, batch, 5 * size), FLOAT32)
        weight = np.ascontiguousarray(hidden.T)
        gates = np.empty((batch, 4 * size), FLOAT32)
        order = range(steps - 1, -1, -1) if reverse else range(steps)
        for i, t in enumerate(order):
            np.dot(h[i], weight, out=gates)
            step(gates, pre[t], c[i], activations[t], c[i + 1], h[i + 1], size)
        way = slice(None, None, -1) if reverse else slice(None)
        befores = np.concatenate((h[:-1][way], c[:-1][way]), 2)
        rows = steps * batch
        return (np.ascontiguousarray(h[1:][way]), np.concatenate((h[-1], c[-1]), 1), activations.reshape(rows, 5 * size),
                befores.reshape(rows, 2 * size))

    return run


def lstm_layer_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    step = block_kernel("lstm_step_back", (1, 1, 1, 5, 1, 4, 1), frozenset({5, 6}), _backward)

    def run(g_outputs: Any, g_last: Any, hidden: Any, activations: Any, befores: Any, *, reverse: bool) -> Any:
        steps, batch, size = g_outputs.shape
        if any(x.dtype is not FLOAT32 for x in (g_outputs, g_last, hidden, activations, befores)) or not g_outputs.size:
            return numpy(g_outputs, g_last, hidden, activations, befores, reverse=reverse)
        g_outputs = np.ascontiguousarray(g_outputs)
        activations = activations.reshape(steps, batch, 5 * size)
        before_h, before_c = (np.ascontiguousarray(x) for x in (befores[:, :size], befores[:, size:]))
        c = before_c.reshape(steps, batch, size)
        g_gates = np.empty((steps, batch, 4 * size), FLOAT32)
        g_h, g_c = np.ascontiguousarray(g_last[:, :size]), np.ascontiguousarray(g_last[:, size:])
        for t in range(steps) if reverse else range(steps - 1, -1, -1):
            step(g_outputs[t], g_h, g_c, activations[t], c[t], g_gates[t], g_c, size)
            np.dot(g_gates[t], hidden, out=g_h)
        flat = g_gates.reshape(steps * batch, 4 * size)
        return g_gates, np.concatenate((g_h, g_c), 1), flat.T.dot(before_h), np.add.reduce(flat, 0)

    return run
