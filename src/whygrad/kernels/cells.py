"""What recurrent cells compute of each element, and how their gradients go back: as in ops/recurrent.py, for vectors.

`sums` are a step's products with the hidden weight, one for each gate, with the bias and, except for the new state of a
GRU, what the input adds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from whygrad.kernels.functions import sigmoid, tanh
from whygrad.kernels.values import Function, Value

Values = list[Value]


class Forward(NamedTuple):
    activations: Values  # kept for the way back
    state: Values  # h, and the memory c of an LSTM


class Backward(NamedTuple):
    linear: Values  # gradients of the products, for each gate
    new: Value | None  # the last gate's part of the input's gradient, where that is another one
    carried: Value | None  # what goes back to h beside the product
    memory: Value | None  # the gradient of c


class Cell(NamedTuple):
    gates: int
    added: int  # so many of the gates begin with what the input adds
    activations: int
    states: int
    # forward(f, sums, what the input adds to the last gate, state before)
    forward: Callable[[Function, Values, Value, Values], Forward]
    # backward(f, gradients of the state, activations, state before)
    backward: Callable[[Function, Values, Values, Values], Backward]


def _lstm(f: Function, sums: Values, pre: Value, before: Values) -> Forward:
    take, keep, new, show = sigmoid(f, sums[0]), sigmoid(f, sums[1]), tanh(f, sums[2]), sigmoid(f, sums[3])
    c = keep * before[1] + take * new
    bounded = tanh(f, c)
    return Forward([take, keep, new, show, bounded], [show * bounded, c])


def _lstm_back(f: Function, g: Values, activations: Values, before: Values) -> Backward:
    take, keep, new, show, bounded = activations
    g_h = g[0]
    g_c = g[1] + g_h * show * (1.0 - bounded * bounded)
    linear = [g_c * new * take * (1.0 - take), g_c * before[1] * keep * (1.0 - keep), g_c * take * (1.0 - new * new),
              g_h * bounded * show * (1.0 - show)]
    return Backward(linear, None, None, g_c * keep)


def _gru(f: Function, sums: Values, pre: Value, before: Values) -> Forward:
    reset, update = sigmoid(f, sums[0]), sigmoid(f, sums[1])
    new = tanh(f, pre + reset * sums[2])
    return Forward([reset, update, new, sums[2]], [new + update * (before[0] - new)])


def _gru_back(f: Function, g: Values, activations: Values, before: Values) -> Backward:
    reset, update, new, linear_new = activations
    g_new = g[0] * (1.0 - update) * (1.0 - new * new)
    linear = [g_new * linear_new * reset * (1.0 - reset), g[0] * (before[0] - new) * update * (1.0 - update), g_new * reset]
    return Backward(linear, g_new, g[0] * update, None)


def _tanh(f: Function, sums: Values, pre: Value, before: Values) -> Forward:
    h = tanh(f, sums[0])
    return Forward([h], [h])


def _tanh_back(f: Function, g: Values, activations: Values, before: Values) -> Backward:
    return Backward([g[0] * (1.0 - activations[0] * activations[0])], None, None, None)


def _relu(f: Function, sums: Values, pre: Value, before: Values) -> Forward:
    h = f.maximum(sums[0], 0.0)
    return Forward([h], [h])


def _relu_back(f: Function, g: Values, activations: Values, before: Values) -> Backward:
    return Backward([f.choose(activations[0] <= 0.0, 0.0, g[0])], None, None, None)


CELLS = {
    "lstm": Cell(4, 4, 5, 2, _lstm, _lstm_back),
    "gru": Cell(3, 2, 4, 1, _gru, _gru_back),
    "rnn_tanh": Cell(1, 1, 1, 1, _tanh, _tanh_back),
    "rnn_relu": Cell(1, 1, 1, 1, _relu, _relu_back),
}
