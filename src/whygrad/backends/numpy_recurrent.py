"""NumPy's part in recurrent layers: an LSTM in few passes, and sequences of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.quiet import quiet

_whygrad_internal_ = True


@quiet
def mkldnn_rnn_layer(pre: Any, initial: Any, hidden: Any, *bias: Any, cell: str, sizes: Any, reverse: bool,
                     biased: bool) -> Any:
    """As `layer` in ops/recurrent.py for an LSTM of one batch size, without a projection."""
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


def _present(shape: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """For each of the padded steps, which sequences are that long; they lie in order of their length."""
    lasting = np.zeros(shape[0], np.int64)
    lasting[:len(sizes)] = sizes[:shape[0]]
    return np.arange(shape[1]) < lasting[:, None]


def pack_padded_sequence(x: Any, *, sizes: tuple[int, ...]) -> Any:
    return x[_present(x.shape, sizes)]


def pad_packed_sequence(x: Any, *, shape: tuple[int, ...], sizes: tuple[int, ...], value: float) -> Any:
    result = np.full(shape, value, x.dtype)
    result[_present(shape, sizes)] = x
    return result
