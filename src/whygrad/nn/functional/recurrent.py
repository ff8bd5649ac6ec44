"""Recurrent networks as functions: whole stacks of layers, and single cells. torch has them in its main namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from whygrad._apply import apply
from whygrad.functional.linalg import linear
from whygrad.nn.functional.regularization import dropout as drop
from whygrad.nn.torch_functions import torch
from whygrad.ops.table import TABLE

_whygrad_internal_ = True


def recurrent(cell: str, input: Any, batch_sizes: Any, states: Sequence[Any], params: Sequence[Any], has_biases: bool,
              num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> list[Any]:
    """[output, last h of each layer and direction, last c of each if there is one].

    `states` has h of each layer and direction in one tensor, then for an LSTM c; `params` the weights, as
    `RNNBase._flat_weights`. `batch_sizes` is given for a packed sequence.
    """
    sizes = None if batch_sizes is None else tuple(batch_sizes.tolist())
    if batch_first:
        input = input.transpose(0, 1)
    if (len(sizes) if sizes else input.shape[0]) == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    row = TABLE["mkldnn_rnn_layer" if _torch_uses_mkldnn(cell, input, sizes, states) else "recurrent_layer"]
    lasts = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            weight, hidden, *rest = params[index * each:(index + 1) * each]
            state = [s[index] for s in states]
            pre = linear(input, weight, rest.pop(0) if has_biases else None)
            output, last, _, _ = apply(row, pre, torch.cat(state, 1) if len(state) > 1 else state[0], hidden, *rest,
                                       cell=cell, sizes=sizes, reverse=direction == 1, biased=has_biases)
            outputs.append(output)
            lasts.append(last)
        input = outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
        if layer < num_layers - 1:
            input = drop(input, dropout, train)
    if batch_first:
        input = input.transpose(0, 1)
    width = states[0].shape[2]
    if len(states) == 1:
        return [input, torch.stack(lasts)]
    return [input, torch.stack([last[:, :width] for last in lasts]), torch.stack([last[:, width:] for last in lasts])]


def _torch_uses_mkldnn(cell: str, input: Any, sizes: Any, states: Sequence[Any]) -> bool:
    return (cell == "lstm" and sizes is None and input._array.dtype == np.float32 and input._array.size > 0
            and states[0].shape == states[1].shape)
