"""Recurrent layers on NumPy arrays, with fewer passes than their definition, and sequences of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import numpy_activation
from whygrad.backends.fp_warnings import quiet
from whygrad.ops import recurrent
from whygrad.ops.cells import CELLS


class CellVocabulary:
    """The `xp` of the definitions in ops/cells.py: NumPy functions without the indirection of kernel slots."""

    tanh = staticmethod(np.tanh)
    sigmoid = staticmethod(numpy_activation.sigmoid)
    relu = staticmethod(numpy_activation.relu)
    threshold_backward = staticmethod(numpy_activation.threshold_backward)


def _split(x: Any, steps: int, batch: int, parts: int) -> Any:
    """Views of the parts of each row: (parts, steps, batch, size)."""
    return x.reshape(steps, batch, parts, x.shape[-1] // parts).transpose(2, 0, 1, 3)


@quiet
def recurrent_layer(pre: Any, initial: Any, hidden: Any, *rest: Any, cell: str, sizes: Any, reverse: bool, biases: int) -> Any:
    """`layer` of ops/recurrent.py. The common case (constant batch size, no projection) writes into arrays of all steps."""
    if sizes or len(rest) != biases or pre.dtype.char not in "fd":
        from whygrad.backends import raw

        return recurrent.layer(raw, pre, initial, hidden, *rest, cell=cell, sizes=sizes, reverse=reverse, biases=biases)
    made, (steps, batch, _), size = CELLS[cell], pre.shape, hidden.shape[1]
    outputs = np.empty((steps, batch, size), pre.dtype)
    activations = np.empty((steps * batch, made.activations * size), pre.dtype)
    befores = np.empty((steps * batch, made.states * size), pre.dtype)
    kept, states = _split(activations, steps, batch, made.activations), _split(befores, steps, batch, made.states)
    of_input = _split(pre, steps, batch, made.gates)
    weight = np.ascontiguousarray(hidden.T)
    state = [*_split(initial, 1, batch, made.states)[:, 0]]
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        for i, part in enumerate(state):
            states[i, t] = part
        sums = state[0].dot(weight)
        for bias in rest:
            sums += bias
        sums = _split(sums, 1, batch, made.gates)[:, 0]
        sums[:made.gates - made.has_pre] += of_input[:made.gates - made.has_pre, t]
        state, parts = made.forward(CellVocabulary, sums, of_input[-1, t], state)
        outputs[t] = state[0]
        for i, part in enumerate(parts):
            kept[i, t] = part
    return outputs, np.concatenate(state, 1), activations, befores


mkldnn_rnn_layer = recurrent_layer


@quiet
def recurrent_layer_backward(g_outputs: Any, g_last: Any, hidden: Any, activations: Any, befores: Any, *, cell: str,
                             reverse: bool) -> Any:
    if g_outputs.dtype.char not in "fd":
        from whygrad.backends import raw

        return recurrent.recurrent_layer_backward(raw, g_outputs, g_last, hidden, activations, befores, cell=cell,
                                                  reverse=reverse)
    made, (steps, batch, size) = CELLS[cell], g_outputs.shape
    slopes = made.slopes(CellVocabulary, _split(activations, steps, batch, made.activations),
                         _split(befores, steps, batch, made.states))
    g_sums = np.empty((steps * batch, made.gates * size), g_outputs.dtype)
    g_pre = np.empty_like(g_sums) if made.has_pre else g_sums
    of_sums, of_pre = _split(g_sums, steps, batch, made.gates), _split(g_pre, steps, batch, made.gates)
    rows = g_sums.reshape(steps, batch, made.gates * size)
    g_state = [*_split(g_last, 1, batch, made.states)[:, 0]]
    for t in range(steps) if reverse else range(steps - 1, -1, -1):
        g_state[0] = g_state[0] + g_outputs[t]
        back = made.back(CellVocabulary, g_state, [slope[t] for slope in slopes])
        for i, part in enumerate(back.sums):
            of_sums[i, t] = part
        if back.pre is not None:
            of_pre[:-1, t] = of_sums[:-1, t]
            of_pre[-1, t] = back.pre
        g_h = rows[t].dot(hidden)
        g_state = [g_h if back.h is None else back.h + g_h, *([] if back.c is None else [back.c])]
    return g_pre, g_sums, np.concatenate(g_state, 1)


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
