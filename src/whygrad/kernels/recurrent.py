"""Recurrent layers of float32 as kernels: all steps of a layer in one call, forward and back."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.kernels import recurrent_code as code
from whygrad.kernels.calls import contiguous, maker
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.pool import pool
from whygrad.kernels.stages import SERIAL, workspace
from whygrad.ops.cells import CELLS

# Multiplications below which one thread does all.
SERIAL_WORK = 1 << 18
# Sequences that a portion has at least, if a thread takes its sequences in two portions.
PORTION = 24


def _suits(*arrays: Any) -> bool:
    return all(type(x) is np.ndarray and x.dtype is FLOAT32 and x.size for x in arrays)


@lru_cache(maxsize=256)
def _planned(cell: str, steps: int, batch: int, size: int, reverse: bool, back: bool, biased: bool,
             threads: int) -> tuple[Any, Any]:
    """(plan, kernel) of the way forward or back."""
    gates, lanes = CELLS[cell].gates, host().lanes
    vectors, ragged = -(-size // lanes), size % lanes != 0
    blocks = code.panel_blocks(vectors, 1 if back else gates)
    together = -(-batch // threads)
    if together >= 2 * PORTION:
        together = -(-together // 2)
    serial = SERIAL if steps * batch * gates * size * size < SERIAL_WORK else 0
    from_the_end = reverse is not back
    plan = code.StepsPlan.of(
        each=0, shared=(vectors * lanes) ** 2 * gates, panels=vectors // blocks,
        panels_serial=serial or (SERIAL if size < 64 else 0), units=-(-batch // together), units_serial=serial, steps=steps,
        batch=batch, size=size, together=together, first=steps - 1 if from_the_end else 0, onward=-1 if from_the_end else 1)
    kernel = code.backward(cell, blocks, ragged) if back else code.forward(cell, blocks, ragged, biased)
    return plan, kernel


@maker
def recurrent_layer(pre: Any, initial: Any, hidden: Any, *rest: Any, cell: str, sizes: Any, reverse: bool, biases: int) -> Any:
    made, size = CELLS[cell], hidden.shape[-1]
    numbers = made.gates * size
    if (sizes or len(rest) != biases or not _suits(pre, initial, hidden, *rest) or pre.ndim != 3 or pre.shape[2] != numbers
            or hidden.shape != (numbers, size) or initial.shape != (pre.shape[1], made.states * size)
            or any(bias.shape != (numbers,) for bias in rest)):
        return None
    steps, batch, _ = pre.shape
    rows = steps * batch
    plan, kernel = _planned(cell, steps, batch, size, reverse, False, biases > 0, pool().threads())
    outputs, last = np.empty((steps, batch, size), FLOAT32), np.empty(initial.shape, FLOAT32)
    activations = np.empty((rows, made.activations * size), FLOAT32)
    befores = np.empty((rows, made.states * size), FLOAT32)
    first = rows - batch if reverse else 0
    befores[first:first + batch] = initial
    bias = None if not biases else contiguous(rest[0]) if biases == 1 else rest[0] + rest[1]
    kernel(plan, contiguous(pre), contiguous(hidden), bias, workspace(plan), outputs, activations, befores, last)
    return outputs, last, activations, befores


mkldnn_rnn_layer = recurrent_layer


@maker
def recurrent_layer_backward(g_outputs: Any, g_last: Any, hidden: Any, activations: Any, befores: Any, *, cell: str,
                             reverse: bool) -> Any:
    if not _suits(g_outputs, g_last, hidden, activations, befores):
        return None
    made = CELLS[cell]
    steps, batch, size = g_outputs.shape
    plan, kernel = _planned(cell, steps, batch, size, reverse, True, False, pool().threads())
    g_linear = np.empty((steps * batch, made.gates * size), FLOAT32)
    g_pre = np.empty_like(g_linear) if made.has_pre else None
    g_state = np.array(g_last, order="C")
    kernel(plan, contiguous(g_outputs), contiguous(hidden), contiguous(activations), contiguous(befores), workspace(plan), g_pre,
           g_linear, g_state)
    return g_linear if g_pre is None else g_pre, g_linear, g_state
