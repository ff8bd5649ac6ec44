"""Recurrent layers. A row computes one direction of one layer over all steps, given the products with the input.

These products are (steps, batch, width) or, for a packed sequence, a matrix of the stacked rows of all steps: step t has
`sizes[t]` rows, one for each sequence that is long enough, longest first. A state is a matrix: the hidden state `h`, followed
in an LSTM by the cell state `c`. The hidden weight is followed by the number of bias vectors given in `biases`: they are added
to the products with it (in a GRU), or include those of the products with the input.
"""

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from whygrad.ops.table import NoGrad, op


class Weights(NamedTuple):
    """The weights applied to a layer's previous state. `project` maps an LSTM's output to a smaller `h`."""

    hidden: Any
    bias: Any
    project: Any


class Cell(NamedTuple):
    """The forward and backward of one step.

    `step(xp, pre, state, weights)` returns the next state and the activations. `slopes(xp, acts, before, weights)` computes,
    for all steps at once, the local derivatives that the backward needs; `step_back(xp, g, slopes, weights)` gets their rows
    for one step and the gradient `g` of its state, and returns the gradients of `linear(h, hidden, bias)` and of the previous
    state. `finish(xp, g, g_linear, slopes)` returns, for all steps, the gradient of `pre` and, if there is a projection, the
    matrix it was applied to.
    """

    step: Any
    slopes: Any
    step_back: Any
    finish: Any


def columns(xp, x, *widths):
    """Split a matrix into columns of these widths, and the remaining ones."""
    edges = [*accumulate(widths, initial=0), x.shape[1]]
    return [xp.slice(x, axis=1, start=start, stop=stop, step=1) for start, stop in pairwise(edges)]


def rows(xp, x, start, stop):
    return x if stop - start == x.shape[0] else xp.slice(x, axis=0, start=start, stop=stop, step=1)


# h' = tanh(pre + linear(h)), or relu

def rnn_step(activation):
    def step(xp, pre, state, weights):
        h = getattr(xp, activation)(pre + xp.linear(state, weights.hidden, weights.bias))
        return h, h

    return step


def rnn_step_back(xp, g, slopes, weights):
    g_linear = g * slopes[0]
    return g_linear, xp.mm(g_linear, weights.hidden)


RNN_TANH = Cell(rnn_step("tanh"), lambda xp, acts, before, weights: [1 - acts * acts], rnn_step_back,
                lambda xp, g, g_linear, slopes: (g_linear, None))
RNN_RELU = RNN_TANH._replace(step=rnn_step("relu"),
                             slopes=lambda xp, acts, before, weights: [xp.threshold_backward(acts * 0 + 1, acts, threshold=0)])


# reset and update gates; n = tanh(pre + reset * linear(h)); h' = n + update * (h - n)

def gru_update(xp, reset, update, x_new, h_new, h):
    """(next h, candidate) from the activated gates and the candidate's products with input and hidden state."""
    new = xp.tanh(x_new + h_new * reset)
    return (h - new) * update + new, new


def gru_step(xp, pre, state, weights):
    size = state.shape[1]
    pre_gates, pre_new = columns(xp, pre, 2 * size)
    linear_gates, linear_new = columns(xp, xp.linear(state, weights.hidden, weights.bias), 2 * size)
    gates = xp.sigmoid(pre_gates + linear_gates)
    reset, update = columns(xp, gates, size)
    h, new = gru_update(xp, reset, update, pre_new, linear_new, state)
    return h, xp.cat(gates, new, linear_new, axis=1)


def gru_slopes(xp, acts, before, weights):
    size = before.shape[1]
    reset, update, new, linear_new = columns(xp, acts, size, size, size)
    to_new = (1 - update) * (1 - new * new)
    to_linear = xp.cat(to_new * linear_new * reset * (1 - reset), (before - new) * update * (1 - update), to_new * reset,
                       axis=1)
    return [to_linear, update, to_new]


def gru_step_back(xp, g, slopes, weights):
    to_linear, update, _ = slopes
    g_linear = xp.cat(g, g, g, axis=1) * to_linear
    return g_linear, g * update + xp.mm(g_linear, weights.hidden)


def gru_finish(xp, g, g_linear, slopes):
    g_gates, _ = columns(xp, g_linear, 2 * g.shape[1])
    return xp.cat(g_gates, g * slopes[2], axis=1), None


GRU = Cell(gru_step, gru_slopes, gru_step_back, gru_finish)


# input, forget, new and output gates; c' = forget * c + input * new; h' = project(output * tanh(c'))

def lstm_update(xp, input, forget, new, output, c):
    """(next h before projection, next c, tanh(next c)) from the activated gates."""
    c = forget * c + input * new
    bounded = xp.tanh(c)
    return output * bounded, c, bounded


def lstm_step(xp, pre, state, weights):
    size = weights.hidden.shape[0] // 4
    h, c = columns(xp, state, state.shape[1] - size)
    two, new, output = columns(xp, pre + xp.linear(h, weights.hidden, weights.bias), 2 * size, size)
    two, new, output = xp.sigmoid(two), xp.tanh(new), xp.sigmoid(output)
    input, forget = columns(xp, two, size)
    h, c, bounded = lstm_update(xp, input, forget, new, output, c)
    if weights.project is not None:
        h = xp.mm(h, xp.t(weights.project))
    return xp.cat(h, c, axis=1), xp.cat(two, new, output, bounded, axis=1)


def lstm_slopes(xp, acts, before, weights):
    size = acts.shape[1] // 5
    _, c = columns(xp, before, before.shape[1] - size)
    input, forget, new, output, bounded = columns(xp, acts, size, size, size, size)
    from_c = xp.cat(new * input * (1 - input), c * forget * (1 - forget), input * (1 - new * new), axis=1)
    slopes = [output * (1 - bounded * bounded), from_c, bounded * output * (1 - output), forget]
    return slopes if weights.project is None else [*slopes, output * bounded]


def lstm_step_back(xp, g, slopes, weights):
    to_c, from_c, to_output, forget, *_ = slopes
    g_h, g_c = columns(xp, g, g.shape[1] - forget.shape[1])
    if weights.project is not None:
        g_h = xp.mm(g_h, weights.project)
    g_c = g_c + g_h * to_c
    g_linear = xp.cat(xp.cat(g_c, g_c, g_c, axis=1) * from_c, g_h * to_output, axis=1)
    return g_linear, xp.cat(xp.mm(g_linear, weights.hidden), g_c * forget, axis=1)


LSTM = Cell(lstm_step, lstm_slopes, lstm_step_back,
            lambda xp, g, g_linear, slopes: (g_linear, slopes[4] if len(slopes) == 5 else None))

CELLS = {"rnn_tanh": RNN_TANH, "rnn_relu": RNN_RELU, "gru": GRU, "lstm": LSTM}


def steps_of(sizes, reverse):
    """(first row, row after the last) of each step, in the order of computation."""
    steps = list(pairwise(accumulate(sizes, initial=0)))
    return steps[::-1] if reverse else steps


def weights_of(hidden, *rest, biases):
    bias = None if not biases else rest[0] if biases == 1 else rest[0] + rest[1]
    return Weights(hidden, bias, rest[biases] if len(rest) > biases else None)


def batches(x):
    """The number of rows of each step, for a constant batch size."""
    return x.shape[1:2] * x.shape[0]


def as_matrix(xp, x):
    """The stacked rows of all steps."""
    return x if len(x.shape) == 2 else xp.reshape(x, shape=(x.shape[0] * x.shape[1], x.shape[2]))


def in_order_of_data(xp, parts, reverse):
    return xp.cat(*(parts[::-1] if reverse else parts), axis=0)


def resized(xp, state, count, source, aside):
    """The state for `count` sequences: those of sequences that end are moved to `aside`, new ones are taken from `source`."""
    had = state.shape[0]
    if count < had:
        aside.append(rows(xp, state, count, had))
        return rows(xp, state, 0, count)
    return xp.cat(state, rows(xp, source, had, count), axis=0) if count > had else state


def with_aside(xp, state, aside):
    return xp.cat(state, *aside[::-1], axis=0) if aside else state


def layer(xp, pre, initial, *arrays, cell, sizes, reverse, biases):
    """(h of every step, last state, and for the backward: activations, previous state of each step)."""
    weights = weights_of(*arrays, biases=biases)
    step, width = CELLS[cell].step, weights.hidden.shape[1]
    outputs, activations, befores = [], [], []
    ended: list[Any] = []
    steps = steps_of(sizes or batches(pre), reverse)
    leading = pre.shape[:-1]
    pre = as_matrix(xp, pre)
    state = rows(xp, initial, 0, steps[0][1] - steps[0][0])
    for start, stop in steps:
        state = resized(xp, state, stop - start, initial, ended)
        befores.append(state)
        state, acts = step(xp, rows(xp, pre, start, stop), state, weights)
        outputs.append(state if state.shape[1] == width else columns(xp, state, width)[0])
        activations.append(acts)
    outputs, activations, befores = [in_order_of_data(xp, parts, reverse) for parts in (outputs, activations, befores)]
    return xp.reshape(outputs, shape=(*leading, width)), with_aside(xp, state, ended), activations, befores


def layer_rule(xp, g, xs, out2, out3, cell, sizes, reverse, biases):
    weights = weights_of(*xs[2:], biases=biases)
    in_one_piece = None if sizes or weights.project is not None else getattr(xp, "recurrent_layer_backward", None)
    walked = in_one_piece and in_one_piece(g[0], g[1], weights.hidden, out2, out3, cell=cell, reverse=reverse)
    if walked:
        g_pre, g_linear, g_initial = walked
        h = columns(xp, out3, weights.hidden.shape[1])[0]
        gradients = [xp.reshape(g_pre, shape=xs[0].shape), g_initial, xp.mm(xp.t(g_linear), h)]
        return [*gradients, *of_biases(xp, g_linear, biases)]
    acts, before = xp.kept((out2, out3), lambda: layer(xp, *xs, cell=cell, sizes=sizes, reverse=reverse,
                                                       biases=biases)[2:])
    _, slopes_of, step_back, finish = CELLS[cell]
    slopes = slopes_of(xp, acts, before, weights)
    g_outputs, g_last = as_matrix(xp, g[0]), g[1]
    g_states, g_linears = [], []
    g_begun: list[Any] = []
    steps = steps_of(sizes or batches(g[0]), reverse)[::-1]
    g_state = rows(xp, g_last, 0, steps[0][1] - steps[0][0])
    for start, stop in steps:
        g_state = resized(xp, g_state, stop - start, g_last, g_begun)
        g_state = plus_output(xp, g_state, rows(xp, g_outputs, start, stop))
        g_states.append(g_state)
        g_linear, g_state = step_back(xp, g_state, [rows(xp, s, start, stop) for s in slopes], weights)
        g_linears.append(g_linear)
    g_linear, g_states = [in_order_of_data(xp, parts, not reverse) for parts in (g_linears, g_states)]
    width = weights.hidden.shape[1]
    g_h, h = [x if x.shape[1] == width else columns(xp, x, width)[0] for x in (g_states, before)]
    g_pre, projected = finish(xp, g_h, g_linear, slopes)
    gradients = [xp.reshape(g_pre, shape=xs[0].shape), with_aside(xp, g_state, g_begun), xp.mm(xp.t(g_linear), h)]
    gradients += of_biases(xp, g_linear, biases)
    if projected is not None:
        gradients.append(xp.mm(xp.t(g_h), projected))
    return gradients


def of_biases(xp, g_linear, biases):
    """The gradients of the biases. They are equal, but each is an array of its own, because a hook may write into it."""
    if not biases:
        return []
    total = xp.sum(g_linear, axis=(0,))
    return [total, *[xp.clone(total) for _ in range(biases - 1)]]


def plus_output(xp, g_state, g_output):
    """The gradient of a step's state: its `h` is also the step's output."""
    width = g_output.shape[1]
    if width == g_state.shape[1]:
        return g_state + g_output
    g_h, g_c = columns(xp, g_state, width)
    return xp.cat(g_h + g_output, g_c, axis=1)


KEPT = NoGrad("what a layer keeps for its backward pass is not a result")


@op(batch="defined", kernel="recurrent", curve="layer",
    node=lambda kinds, statics: "CatBackward0" if statics["sizes"] else "StackBackward0",
    outputs=("h", "last", KEPT, KEPT),
    xs=lambda xp, g, xs, out2, out3, cell, sizes, reverse, biases:
    layer_rule(xp, g, xs, out2, out3, cell, sizes, reverse, biases))
def recurrent_layer(xp, *xs, cell, sizes, reverse, biases):
    return layer(xp, *xs, cell=cell, sizes=sizes, reverse=reverse, biases=biases)


# torch's kernel for a float32 LSTM. Its backward reads the output, which must not be overwritten until then.
@op(batch="defined", kernel="recurrent", curve="layer", outputs=("h", "last", KEPT, KEPT),
    xs=lambda xp, g, xs, out0, out2, out3, cell, sizes, reverse, biases:
    layer_rule(xp, g, xs, out2, out3, cell, sizes, reverse, biases))
def mkldnn_rnn_layer(xp, *xs, cell, sizes, reverse, biases):
    return layer(xp, *xs, cell=cell, sizes=sizes, reverse=reverse, biases=biases)


@op(batch="defined", node="StackBackward0", outputs=("h", "c"), linear="xs",
    xs=lambda xp, g, xs_shape: [xp.cat(*[xp.select(part, axis=0, index=i) for part in g], axis=1) for i in range(len(xs_shape))])
def stack_states(xp, *xs, width):
    """The last states of several LSTM layers, stacked: (all h, all c)."""
    pairs = [columns(xp, x, width) for x in xs]
    return tuple([xp.stack(*parts, axis=0) for parts in zip(*pairs, strict=True)])


# Sequences of different lengths: packed without gaps, or padded to (steps, batch, ...).

@op(batch="looped",
    x=lambda xp, g, x_shape, sizes: xp.pack_padded_sequence_backward(g, shape=x_shape, sizes=sizes))
def pack_padded_sequence(xp, x, *, sizes):
    return xp.pack_padded_sequence(x, sizes=sizes)


@op(batch="looped",
    x=lambda xp, g, sizes: xp.pack_padded_sequence(g, sizes=sizes))
def pack_padded_sequence_backward(xp, x, *, shape, sizes):
    return xp.pad_packed_sequence(x, shape=shape, sizes=sizes, value=0)


@op(batch="looped", node="CopySlices",
    x=lambda xp, g, sizes: xp.pack_padded_sequence(g, sizes=sizes))
def pad_packed_sequence(xp, x, *, shape, sizes, value):
    return xp.pad_packed_sequence(x, shape=shape, sizes=sizes, value=value)


def unpadded(xp, g, shapes, length, batch_axis, left):
    """The parts of `g` that are not padding."""
    parts = []
    for i, shape in enumerate(shapes):
        start = length - shape[0] if left else 0
        parts.append(xp.slice(xp.select(g, axis=batch_axis, index=i), axis=0, start=start, stop=start + shape[0], step=1))
    return parts


@op(batch="defined", node="CopySlices",
    xs=lambda xp, g, xs_shape, length, batch_axis, left: unpadded(xp, g, xs_shape, length, batch_axis, left))
def pad_sequence(xp, *xs, length, batch_axis, value, left):
    padded = []
    for x in xs:
        missing = length - x.shape[0]
        pads = ((missing, 0) if left else (0, missing), *((0, 0),) * (len(x.shape) - 1))
        padded.append(xp.constant_pad(x, pads=pads, value=value))
    return xp.stack(*padded, axis=batch_axis)
