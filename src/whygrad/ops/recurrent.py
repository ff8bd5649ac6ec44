"""Recurrent layers. A row computes one direction of one layer over all steps, given the products with the input.

These products are (steps, batch, features) or, for a packed sequence, a matrix of the stacked rows of all steps: step t has
`sizes[t]` rows, one for each sequence that is long enough, longest first. A state is a matrix: the hidden state `h`, and in an
LSTM the cell state `c` in further columns. After the hidden weight come `biases` vectors, which are added to the products with
it (in a GRU), or also to those with the input. The cells themselves are defined in cells.py.
"""

import operator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from whygrad.ops.cells import CELLS
from whygrad.ops.table import NoGrad, op


class Weights(NamedTuple):
    """The weights applied to a layer's previous state. `project` maps an LSTM's output to a smaller `h`."""

    hidden: Any
    bias: Any
    project: Any


def columns(xp, x, *widths):
    """Split a matrix into columns of these widths, and the remaining ones."""
    edges = [*accumulate(widths, initial=0), x.shape[1]]
    return [xp.slice(x, axis=1, start=start, stop=stop, step=1) for start, stop in pairwise(edges)]


def rows(xp, x, start, stop):
    return x if stop - start == x.shape[0] else xp.slice(x, axis=0, start=start, stop=stop, step=1)


def step(xp, cell, pre, state, weights):
    """The next state, and the activations."""
    size = pre.shape[1] // cell.gates
    parts = [state] if cell.states == 1 else columns(xp, state, state.shape[1] - size)
    product = xp.linear(parts[0], weights.hidden, weights.bias)
    widths = [size] * (cell.gates - 1)
    if cell.has_pre:
        of_input, of_state = columns(xp, pre, *widths), columns(xp, product, *widths)
        sums, pre = [*map(operator.add, of_input[:-1], of_state), of_state[-1]], of_input[-1]
    else:
        sums, pre = columns(xp, pre + product, *widths), None
    (h, *memory), activations = cell.forward(xp, sums, pre, parts)
    if weights.project is not None:
        h = xp.mm(h, xp.t(weights.project))
    return joined(xp, [h, *memory]), joined(xp, activations)


def slopes_of(xp, cell, activations, before):
    """The values that the backward needs, for all steps: the derivatives of the cell, and the input of the projection."""
    size = activations.shape[1] // cell.activations
    activations = columns(xp, activations, *[size] * (cell.activations - 1))
    state = [before] if cell.states == 1 else columns(xp, before, before.shape[1] - size)
    return cell.slopes(xp, activations, state)


def step_back(xp, cell, g, slopes, weights):
    """The gradients of the sums, of the products with the input, and of the previous state."""
    parts = [g] if cell.states == 1 else columns(xp, g, g.shape[1] - slopes[0].shape[1])
    if weights.project is not None:
        parts[0] = xp.mm(parts[0], weights.project)
    back = cell.back(xp, parts, slopes)
    g_sums = joined(xp, back.sums)
    g_pre = g_sums if back.pre is None else joined(xp, [*back.sums[:-1], back.pre])
    g_h = xp.mm(g_sums, weights.hidden)
    if back.h is not None:
        g_h = back.h + g_h
    return g_sums, g_pre, g_h if back.c is None else joined(xp, [g_h, back.c])


def joined(xp, parts):
    return parts[0] if len(parts) == 1 else xp.cat(*parts, axis=1)


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
    width = weights.hidden.shape[1]
    outputs, activations, befores = [], [], []
    ended: list[Any] = []
    steps = steps_of(sizes or batches(pre), reverse)
    leading = pre.shape[:-1]
    pre = as_matrix(xp, pre)
    state = rows(xp, initial, 0, steps[0][1] - steps[0][0])
    for start, stop in steps:
        state = resized(xp, state, stop - start, initial, ended)
        befores.append(state)
        state, acts = step(xp, CELLS[cell], rows(xp, pre, start, stop), state, weights)
        outputs.append(state if state.shape[1] == width else columns(xp, state, width)[0])
        activations.append(acts)
    outputs, activations, befores = [in_order_of_data(xp, parts, reverse) for parts in (outputs, activations, befores)]
    return xp.reshape(outputs, shape=(*leading, width)), with_aside(xp, state, ended), activations, befores


def layer_rule(xp, g, xs, out2, out3, cell, sizes, reverse, biases):
    weights = weights_of(*xs[2:], biases=biases)
    activations, before = xp.kept((out2, out3), lambda: layer(xp, *xs, cell=cell, sizes=sizes, reverse=reverse,
                                                              biases=biases)[2:])
    width, g_h = weights.hidden.shape[1], None
    if sizes or weights.project is not None:
        g_pre, g_sums, g_initial, g_h = walk_back(xp, g[0], g[1], weights, activations, before, cell, sizes, reverse)
    else:
        g_pre, g_sums, g_initial = xp.fused(recurrent_layer_backward, g[0], g[1], weights.hidden, activations, before, cell=cell,
                                            reverse=reverse)
    h = before if before.shape[1] == width else columns(xp, before, width)[0]
    gradients = [xp.reshape(g_pre, shape=xs[0].shape), g_initial, xp.mm(xp.t(g_sums), h), *of_biases(xp, g_sums, biases)]
    if weights.project is not None:
        *_, output, bounded = columns(xp, activations, *[activations.shape[1] // 5] * 4)
        gradients.append(xp.mm(xp.t(g_h), output * bounded))
    return gradients


def recurrent_layer_backward(xp, g_outputs, g_last, hidden, activations, before, *, cell, reverse):
    """`walk_back` for a constant batch size, without projection."""
    return walk_back(xp, g_outputs, g_last, Weights(hidden, None, None), activations, before, cell, None, reverse)[:3]


def walk_back(xp, g_outputs, g_last, weights, activations, before, cell, sizes, reverse):
    """The gradients of the products with the input, of the sums, of the initial state, and of h of every step."""
    slopes = slopes_of(xp, CELLS[cell], activations, before)
    parts: list[Any] = []
    g_begun: list[Any] = []
    steps = steps_of(sizes or batches(g_outputs), reverse)[::-1]
    g_outputs = as_matrix(xp, g_outputs)
    g_state = rows(xp, g_last, 0, steps[0][1] - steps[0][0])
    for start, stop in steps:
        g_state = resized(xp, g_state, stop - start, g_last, g_begun)
        g_state = plus_output(xp, g_state, rows(xp, g_outputs, start, stop))
        g_h = columns(xp, g_state, weights.hidden.shape[1])[0]
        g_sums, g_pre, g_state = step_back(xp, CELLS[cell], g_state, [rows(xp, s, start, stop) for s in slopes], weights)
        parts.append((g_pre, g_sums, g_h))
    g_pre, g_sums, g_h = [in_order_of_data(xp, part, not reverse) for part in zip(*parts, strict=True)]
    return g_pre, g_sums, with_aside(xp, g_state, g_begun), g_h


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

@op(batch="looped", x=lambda xp, g, x_shape, sizes: xp.pack_padded_sequence_backward(g, shape=x_shape, sizes=sizes))
def pack_padded_sequence(xp, x, *, sizes): ...


@op(batch="looped", x=lambda xp, g, sizes: xp.pack_padded_sequence(g, sizes=sizes))
def pack_padded_sequence_backward(xp, x, *, shape, sizes):
    return xp.pad_packed_sequence(x, shape=shape, sizes=sizes, value=0)


@op(batch="looped", node="CopySlices", x=lambda xp, g, sizes: xp.pack_padded_sequence(g, sizes=sizes))
def pad_packed_sequence(xp, x, *, shape, sizes, value): ...


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
