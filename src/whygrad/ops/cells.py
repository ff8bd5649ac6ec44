"""Recurrent cells: the elementwise forward and backward of one step. The same definitions serve every vocabulary, the kernels
(kernels/recurrent_code.py) and torch's `lstm_cell` and `gru_cell`.

`sums` has one part per gate: the products with the hidden weight and the input, and the biases. The last gate of a GRU is the
exception: its sum is without the product with the input, which is `pre`. A `state` is [h], or [h, c] in an LSTM.
"""

from typing import Any, NamedTuple


class Back(NamedTuple):
    sums: list[Any]  # gradients of the sums
    pre: Any  # gradient of `pre`, where it is not that of the last sum
    h: Any  # gradient of h, without the part that passes through the hidden weight
    c: Any


class Cell(NamedTuple):
    gates: int
    states: int
    activations: int
    # forward(xp, sums, pre, state) returns the next state, and the activations, which the backward needs
    forward: Any
    # slopes(xp, activations, previous state): the local derivatives, which do not depend on the gradient
    slopes: Any
    # back(xp, gradients of the state, slopes)
    back: Any
    has_pre: bool = False  # see `pre` above


# h' = tanh(sum), or relu(sum)

def rnn_tanh(xp, sums, pre, state):
    h = xp.tanh(sums[0])
    return [h], [h]


def rnn_relu(xp, sums, pre, state):
    h = xp.relu(sums[0])
    return [h], [h]


# reset and update gates; new = tanh(pre + sum * reset); h' = (h - new) * update + new

def gru(xp, sums, pre, state):
    reset, update = xp.sigmoid(sums[0]), xp.sigmoid(sums[1])
    new = xp.tanh(pre + sums[2] * reset)
    return [(state[0] - new) * update + new], [reset, update, new, sums[2]]


def gru_slopes(xp, activations, state):
    reset, update, new, sum_new = activations
    to_new = (1 - update) * (1 - new * new)
    return [to_new * sum_new * reset * (1 - reset), (state[0] - new) * update * (1 - update), to_new * reset, to_new, update]


def gru_back(xp, g, slopes):
    to_reset, to_update, to_sum, to_pre, update = slopes
    return Back([g[0] * to_reset, g[0] * to_update, g[0] * to_sum], g[0] * to_pre, g[0] * update, None)


# input, forget and output gates; c' = forget * c + input * new; h' = output * tanh(c')

def lstm(xp, sums, pre, state):
    input, forget, new, output = xp.sigmoid(sums[0]), xp.sigmoid(sums[1]), xp.tanh(sums[2]), xp.sigmoid(sums[3])
    c = forget * state[1] + input * new
    bounded = xp.tanh(c)
    return [output * bounded, c], [input, forget, new, output, bounded]


def lstm_slopes(xp, activations, state):
    input, forget, new, output, bounded = activations
    return [new * input * (1 - input), state[1] * forget * (1 - forget), input * (1 - new * new), bounded * output * (1 - output),
            output * (1 - bounded * bounded), forget]


def lstm_back(xp, g, slopes):
    to_input, to_forget, to_new, to_output, to_c, forget = slopes
    g_h, g_c = g
    g_c = g_c + g_h * to_c
    return Back([g_c * to_input, g_c * to_forget, g_c * to_new, g_h * to_output], None, None, g_c * forget)


CELLS = {
    "rnn_tanh": Cell(1, 1, 1, rnn_tanh, lambda xp, activations, state: [1 - activations[0] * activations[0]],
                     lambda xp, g, slopes: Back([g[0] * slopes[0]], None, None, None)),
    "rnn_relu": Cell(1, 1, 1, rnn_relu, lambda xp, activations, state: activations,
                     lambda xp, g, slopes: Back([xp.threshold_backward(g[0], slopes[0], threshold=0)], None, None, None)),
    "gru": Cell(3, 1, 4, gru, gru_slopes, gru_back, has_pre=True),
    "lstm": Cell(4, 2, 5, lstm, lstm_slopes, lstm_back),
}
