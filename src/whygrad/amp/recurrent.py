"""Recurrent layers under autocast: composed step by step as in torch, with only the products in the lower precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import whygrad as torch
from whygrad.amp.casting import has_projection
from whygrad.functional.linalg import linear
from whygrad.nn.functional.recurrent import gru_step, lstm_step


def run_layer(cell: str, input: Any, initial: Any, params: Sequence[Any], sizes: tuple[int, ...] | None, reverse: bool,
              has_biases: bool) -> tuple[Any, Any]:
    """`nn.functional.recurrent.run_layer`, composed of ops that autocast applies to."""
    weight, hidden, *rest = params
    b_ih, b_hh = rest[:2] if has_biases else (None, None)
    project = rest[-1] if has_projection(params) else None
    width = hidden.shape[1]
    state = [initial[:, :width], initial[:, width:]] if cell == "lstm" else [initial]
    products: Any = linear(input, weight, b_ih)
    lengths = list(sizes) if sizes else [products.shape[1]] * products.shape[0]
    steps = list(torch.split(products, lengths)) if sizes else list(products.unbind(0))
    order = range(len(steps) - 1, -1, -1) if reverse else range(len(steps))
    outputs: list[Any] = [None] * len(steps)
    finished: list[list[Any]] = []
    now = [s[:lengths[order[0]]] for s in state]
    for t in order:
        length, running = lengths[t], now[0].shape[0]
        if length > running:  # in the reverse direction, further sequences begin
            now = [torch.cat([n, s[running:length]]) for n, s in zip(now, state, strict=True)]
        elif length < running:  # in the forward direction, some sequences have ended
            finished.append([n[length:] for n in now])
            now = [n[:length] for n in now]
        now = _next(cell, steps[t], now, hidden, b_hh)
        if project is not None:
            now[0] = linear(now[0], project)
        outputs[t] = now[0]
    last = [torch.cat([part[i] for part in (now, *reversed(finished))]) if finished else now[i] for i in range(len(now))]
    return torch.cat(outputs) if sizes else torch.stack(outputs), torch.cat(last, 1) if len(last) > 1 else last[0]


def _next(cell: str, products: Any, state: list[Any], hidden: Any, bias: Any) -> list[Any]:
    own = linear(state[0], hidden, bias)
    if cell == "gru":
        return [gru_step(products, own, state[0])]
    if cell == "lstm":
        return list(lstm_step(own + products, state[1]))
    total = own + products
    return [total.tanh() if cell == "rnn_tanh" else total.relu()]
