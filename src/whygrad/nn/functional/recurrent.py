"""Recurrent networks as functions: whole stacks of layers, and single cells. torch has them in its main namespace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.backends import tensor
from whygrad.base import door
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.linalg import linear
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.run import private, public
from whygrad.nn.functional.regularization import dropout as drop
from whygrad.ops import cells
from whygrad.ops.table import TABLE

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def run_stack(cell: str, input: Any, batch_sizes: Any, states: Sequence[Any], params: Sequence[Any], has_biases: bool,
              num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool = False) -> tuple[Any, ...]:
    """(output, last h of each layer and direction, and for an LSTM their last c)."""
    if batch_first:
        input = input.transpose(0, 1)
    sizes = None if batch_sizes is None else tuple(batch_sizes.tolist())
    if input._array.shape[0] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    batch = sizes[0] if sizes else input._array.shape[1]
    gate_rows, width = params[1]._array.shape
    memory = gate_rows // GATES[cell] if cell == "lstm" else 0
    directions = 2 if bidirectional else 1
    _check_states(cell, states, num_layers * directions, batch, width, memory)
    initial = _initial_states(states)
    each = len(params) // (num_layers * directions)
    row = TABLE["mkldnn_rnn_layer" if _is_mkldnn(cell, input, sizes, width == memory) else "recurrent_layer"]
    last_states = []
    for layer in range(num_layers):
        _check_layer(cell, input, params[layer * directions * each:(layer + 1) * directions * each], each, has_biases)
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            output, last = run_layer(row, cell, input, initial[index], params[index * each:(index + 1) * each], sizes,
                                     direction == 1, has_biases)
            outputs.append(output)
            last_states.append(last)
        input = outputs[0] if len(outputs) == 1 else torch.cat(outputs, -1)
        if layer < num_layers - 1:
            input = drop(input, dropout, train)
    if not memory:
        return input.transpose_(0, 1) if batch_first else input, torch.stack(last_states)
    h, c = apply(TABLE["stack_states"], *last_states, width=width)
    # Under autocast outputs may have a smaller dtype than c, and were widened when both were concatenated.
    h = h if h._array.dtype == input._array.dtype else h.to(input.dtype)
    return input.transpose(0, 1) if batch_first else input, h, c


def _initial_states(states: Sequence[Any]) -> list[Any]:
    """For each layer and direction a matrix of h and, in an LSTM, c behind it."""
    for s in states:
        if s._cause or s._node is not None or s._meta is not None or s._view is not None or type(s._array) is not np.ndarray:
            return [torch.cat([s[i] for s in states], 1) if len(states) > 1 else states[0][i] for i in range(len(states[0]))]
    # Without history or causes, as the zeros that a module makes: there is nothing to record.
    return [wrap(state) for state in _side_by_side(*[s._array for s in states])]


@outside_rows
def _side_by_side(*states: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.concatenate(states, 2))


def _check_states(cell: str, states: Sequence[Any], layers: int, batch: int, width: int, memory: int) -> None:
    if cell == "lstm" and len(states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    for state, size in zip(states, (width, memory), strict=False):
        shape = state._array.shape
        if len(shape) > 1 and shape[1] != batch:
            raise RuntimeError(f"The size of tensor a ({shape[1]}) must match the size of tensor b ({batch}) "
                               "at non-singleton dimension 0")
        if shape != (layers, batch, size):
            raise RuntimeError(f"{cell}: expected a state of shape {[layers, batch, size]}, got {list(shape)}")


def _check_layer(cell: str, input: Any, params: Sequence[Any], each: int, has_biases: bool) -> None:
    """Whether the parameters of a layer, in all directions, fit to its input and to each other."""
    for start in range(0, len(params), each):
        weight, hidden, *rest = [p._array.shape for p in params[start:start + each]]
        gate_rows = hidden[0]
        fit = weight == (gate_rows, input._array.shape[-1]) and gate_rows % GATES[cell] == 0
        if has_biases:
            fit = fit and rest[:2] == [(gate_rows,), (gate_rows,)]
            rest = rest[2:]
        state = (hidden[1], gate_rows // GATES[cell])
        if not fit or (rest != [state] if rest else state[0] != state[1]):
            shapes = [list(p._array.shape) for p in params[start:start + each]]
            raise RuntimeError(f"{cell}: weights and biases of shapes {shapes} do not fit to each other, or to an input of "
                               f"{input._array.shape[-1]} numbers")


@private(autocast="recurrent layer")
def run_layer(row: Any, cell: str, input: Any, initial: Any, params: Sequence[Any], sizes: tuple[int, ...] | None,
              reverse: bool, has_biases: bool) -> tuple[Any, Any]:
    """One layer in one direction: its output, and its last state."""
    weight, hidden, *rest = params
    biases = 2 if has_biases else 0
    if biases and cell == "gru":  # the reset gate is applied between the two biases
        products, biases = linear(input, weight, rest.pop(0)), 1
    else:
        products = linear(input, weight)
    output, last, _, _ = apply(row, products, initial, hidden, *rest, cell=cell, sizes=sizes, reverse=reverse, biases=biases)
    return output, last


def _is_mkldnn(cell: str, input: Any, sizes: Any, is_plain: bool) -> bool:
    """Whether torch runs a whole layer as one MKL-DNN node. It does not with projections."""
    return cell == "lstm" and is_plain and sizes is None and input._array.dtype == np.float32 and input._array.size > 0


def _define_stack(cell: str, doc: str) -> Callable[..., tuple[Any, ...]]:
    count = 2 if cell == "lstm" else 1

    def stack(input: Any, *args: Any) -> tuple[Any, ...]:
        packed = isinstance(args[0 if count == 2 else 1], Tensor)
        batch_sizes, hx, *options = args if packed else (None, *args)
        if hx is None:
            raise TypeError(f"{cell}(): argument 'hx' must be {'tuple of Tensors' if count == 2 else 'Tensor'}, not NoneType")
        return run_stack(cell, input, batch_sizes, hx if count == 2 else (hx,), *options)

    stack.__name__ = stack.__qualname__ = cell
    stack.__doc__ = (f"{doc}\n\n`(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, "
                     "or for a packed sequence `(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, "
                     "bidirectional)`.")
    return door.function(f"torch.{cell}", stack)


rnn_tanh = _define_stack("rnn_tanh", "Layers of h' = tanh(linear(x) + linear(h)).")
rnn_relu = _define_stack("rnn_relu", "Layers of h' = relu(linear(x) + linear(h)).")
gru = _define_stack("gru", "Layers of gated recurrent units.")
lstm = _define_stack("lstm", "Layers with a long short-term memory.")


def _check_cell(input: Any, states: Sequence[Any], w_ih: Any, w_hh: Any) -> None:
    size, width = input._array.shape[1], w_ih._array.shape[1]
    if size != width:
        raise RuntimeError(f"input has inconsistent input_size: got {size} expected {width}")
    hidden = w_hh._array.shape[1]
    for i, state in enumerate(states):
        batch, size = len(input._array), state._array.shape
        if size[0] != batch:
            raise RuntimeError(f"Input batch size {batch} doesn't match hidden{i} batch size {size[0]}")
        if size[1] != hidden:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {size[1]}, expected {hidden}")


def _sum_of_products(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return torch.add(linear(hx, w_hh, b_hh), linear(input, w_ih, b_ih))


@public(method=False)
def rnn_tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """tanh(linear(x) + linear(h))."""
    _check_cell(input, (hx,), w_ih, w_hh)
    return _sum_of_products(input, hx, w_ih, w_hh, b_ih, b_hh).tanh()


@public(method=False)
def rnn_relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """relu(linear(x) + linear(h))."""
    _check_cell(input, (hx,), w_ih, w_hh)
    return _sum_of_products(input, hx, w_ih, w_hh, b_ih, b_hh).relu()


@public(method=False)
def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a gated recurrent unit."""
    _check_cell(input, (hx,), w_ih, w_hh)
    return gru_step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), hx)


def gru_step(x_products: Any, h_products: Any, hx: Any) -> Any:
    """The next h, from the products of input and h with the weights."""
    x_reset, x_update, x_new = torch.unsafe_chunk(x_products, 3, 1)
    h_reset, h_update, h_new = torch.unsafe_chunk(h_products, 3, 1)
    (h,), _ = cells.gru(tensor, [h_reset + x_reset, h_update + x_update, h_new], x_new, [hx])
    return h


@public(method=False)
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, Any]:
    """One step of a long short-term memory: (h, c)."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, c = hx
    _check_cell(input, hx, w_ih, w_hh)
    return lstm_step(_sum_of_products(input, h, w_ih, w_hh, b_ih, b_hh), c)


def lstm_step(products: Any, c: Any) -> tuple[Any, Any]:
    """The next h and c, from the sum of all products with the weights."""
    (h, c), _ = cells.lstm(tensor, products.unsafe_chunk(4, 1), None, [None, c])
    return h, c
