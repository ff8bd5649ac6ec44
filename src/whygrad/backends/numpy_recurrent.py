"""Recurrent layers on NumPy arrays: a fused LSTM, and sequences of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet


@quiet
def mkldnn_rnn_layer(pre: Any, initial: Any, hidden: Any, *bias: Any, cell: str, sizes: Any, reverse: bool,
                     biases: int) -> Any:
    """`layer` of ops/recurrent.py for an LSTM with a constant batch size and without projection."""
    steps, batch, size = pre.shape[0], pre.shape[1], pre.shape[2] // 4
    outputs = np.empty((steps, batch, size), pre.dtype)
    activations = np.empty((steps, batch, 5 * size), pre.dtype)
    befores = np.empty((steps, batch, 2 * size), pre.dtype)
    weight = np.ascontiguousarray(hidden.T)
    h, c = initial[:, :size], initial[:, size:]
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        befores[t, :, :size] = h
        befores[t, :, size:] = c
        gates = h.dot(weight)
        gates += pre[t]
        for b in bias:
            gates += b
        new = np.tanh(gates[:, 2 * size:3 * size])
        np.negative(gates, out=gates)
        np.exp(gates, out=gates)
        gates += 1
        acts = activations[t]
        np.reciprocal(gates, out=acts[:, :4 * size])
        acts[:, 2 * size:3 * size] = new
        c = acts[:, size:2 * size] * c
        c += np.multiply(new, acts[:, :size], out=new)
        bounded = np.tanh(c, out=acts[:, 4 * size:])
        h = np.multiply(acts[:, 3 * size:4 * size], bounded, out=outputs[t])
    rows = steps * batch
    return outputs, np.concatenate((h, c), 1), activations.reshape(rows, 5 * size), befores.reshape(rows, 2 * size)


def recurrent_layer_backward(g_outputs: Any, g_last: Any, hidden: Any, activations: Any, befores: Any, *, cell: str,
                             reverse: bool) -> Any:
    """The backward of a layer with a constant batch size: gradients of the products with the input, of the products with
    the hidden weight (stacked rows of all steps), and of the initial state. None if the definition must be used."""
    if cell != "lstm" or g_outputs.dtype.itemsize < 4:
        return None
    steps, batch, size = g_outputs.shape
    take, keep, new, show, bounded = activations.reshape(steps, batch, 5, size).transpose(2, 0, 1, 3)
    c = befores[:, size:].reshape(steps, batch, size)
    to_c = show * (1 - bounded * bounded)
    slopes = (new * take * (1 - take), c * keep * (1 - keep), take * (1 - new * new))
    to_show = bounded * show * (1 - show)
    g_gates = np.empty((steps, batch, 4 * size), g_outputs.dtype)
    g_h, g_c = g_last[:, :size], g_last[:, size:]
    for t in range(steps) if reverse else range(steps - 1, -1, -1):
        g_h = g_h + g_outputs[t]
        g_c = g_c + g_h * to_c[t]
        for part, slope in enumerate(slopes):
            np.multiply(g_c, slope[t], out=g_gates[t, :, part * size:(part + 1) * size])
        np.multiply(g_h, to_show[t], out=g_gates[t, :, 3 * size:])
        g_h, g_c = g_gates[t].dot(hidden), g_c * keep[t]
    flat = g_gates.reshape(steps * batch, 4 * size)
    return flat, flat, np.concatenate((g_h, g_c), 1)


def stack_states(*lasts: Any, width: int) -> Any:
    layers, batch, dtype = len(lasts), len(lasts[0]), lasts[0].dtype
    h, c = np.empty((layers, batch, width), dtype), np.empty((layers, batch, lasts[0].shape[1] - width), dtype)
    for i, last in enumerate(lasts):
        h[i], c[i] = last[:, :width], last[:, width:]
    return h, c


def _present(shape: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """Mask (steps, batch) of the sequences that reach each step; they are sorted by length."""
    lasting = np.zeros(shape[0], np.int64)
    lasting[:len(sizes)] = sizes[:shape[0]]
    return np.arange(shape[1]) < lasting[:, None]


def pack_padded_sequence(x: Any, *, sizes: tuple[int, ...]) -> Any:
    return x[_present(x.shape, sizes)]


def pad_packed_sequence(x: Any, *, shape: tuple[int, ...], sizes: tuple[int, ...], value: float) -> Any:
    result = np.full(shape, value, x.dtype)
    result[_present(shape, sizes)] = x
    return result
