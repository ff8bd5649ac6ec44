"""Recurrent layers as kernels against their definition in float64, for sequences of any number and size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import refuse, with_threads

from whygrad.backends import raw
from whygrad.kernels.registry import make
from whygrad.ops.cells import CELLS
from whygrad.ops.recurrent import layer, layer_rule


class ByDefinition:
    """NumPy's vocabulary without the shortcut."""

    def fused(self, definition, *arrays, **statics):
        return definition(self, *arrays, **statics)

    def __getattr__(self, name):
        return getattr(raw, name)


def arguments(rng, cell, steps, batch, size, biases):
    gates, states = CELLS[cell].gates, CELLS[cell].states
    shapes = [(steps, batch, gates * size), (batch, states * size), (gates * size, size)] + [(gates * size,)] * biases
    return [(rng.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) == 2 else 1)).astype("f4") for shape in shapes]


def forward_and_back(xs, g, statics):
    """All results of the kernels, and what the layer gives in float64 by its definition."""
    kept = make("recurrent_layer", refuse)(*xs, sizes=None, **statics)
    back = {"cell": statics["cell"], "reverse": statics["reverse"]}
    walked = make("recurrent_layer_backward", refuse)(*g, xs[2], kept[2], kept[3], **back)
    return [*kept, *walked]


def by_definition(xs, g, statics):
    xp = ByDefinition()
    xs, g = ([x.astype("f8") for x in arrays] for arrays in (xs, g))
    with np.errstate(all="ignore"):
        kept = layer(xp, *xs, sizes=None, **statics)
        return kept, layer_rule(xp, g, xs, kept[2], kept[3], statics["cell"], None, statics["reverse"], statics["biases"])


def close(ours, expected):
    np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)


@settings(max_examples=60)
@given(cell=st.sampled_from(list(CELLS)), steps=st.integers(1, 4), batch=st.integers(1, 14),
       size=st.sampled_from((1, 5, 16, 21, 48)), reverse=st.booleans(), biases=st.integers(0, 2), seed=st.integers(0, 9))
def test_same_as_the_definition(cell, steps, batch, size, reverse, biases, seed):
    rng = np.random.default_rng(seed)
    statics = {"cell": cell, "reverse": reverse, "biases": biases}
    xs = arguments(rng, cell, steps, batch, size, biases)
    g = [rng.standard_normal(shape).astype("f4") for shape in ((steps, batch, size), xs[1].shape)]
    copies = [x.copy() for x in (*xs, *g)]
    ours = with_threads(1, lambda: forward_and_back(xs, g, statics))
    for one, two in zip(ours, with_threads(2, lambda: forward_and_back(xs, g, statics)), strict=True):
        np.testing.assert_array_equal(one, two, err_msg="depends on the number of threads")
    for x, copy in zip((*xs, *g), copies, strict=True):
        np.testing.assert_array_equal(x, copy, err_msg="an argument was changed")
    kept, gradients = by_definition(xs, g, statics)
    for a, b in zip(ours, kept, strict=False):
        assert a.shape == b.shape
        close(a, b)
    g_pre, g_linear, g_initial = ours[4:]
    h = ours[3][:, :size]
    mine = [g_pre.reshape(gradients[0].shape), g_initial, g_linear.T @ h, g_linear.sum(0)]
    for a, b in zip(mine, gradients, strict=False):
        close(a, b)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_sequence_that_is_not_finite_spoils_no_other(cell, bad):
    rng = np.random.default_rng(0)
    statics = {"cell": cell, "reverse": False, "biases": 1}
    xs = arguments(rng, cell, 3, 4, 21, True)
    xs[0][1, 2, 0] = bad
    g = [np.ones((3, 4, 21), "f4"), np.ones_like(xs[1])]
    ours = forward_and_back(xs, g, statics)
    kept, gradients = by_definition(xs, g, statics)
    close(ours[0], kept[0])
    others = [0, 1, 3]
    close(ours[4].reshape(gradients[0].shape)[:, others], gradients[0][:, others])
    close(ours[6][others], gradients[1][others])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_what_is_not_for_kernels_goes_to_numpy(cell):
    xs = arguments(np.random.default_rng(0), cell, 3, 2, 5, True)
    statics = {"cell": cell, "reverse": False, "biases": 1}
    run = make("recurrent_layer", lambda *args, **statics: "numpy")
    assert run(*[x.astype("f8") for x in xs], sizes=None, **statics) == "numpy"
    assert run(xs[0].reshape(6, -1), *xs[1:], sizes=(2, 2, 2), **statics) == "numpy"
    assert run(xs[0][:, :0], xs[1][:0], *xs[2:], sizes=None, **statics) == "numpy"
    strided = np.zeros((3, 4, xs[0].shape[2]), "f4")[:, ::2]
    strided[...] = xs[0]
    np.testing.assert_array_equal(run(strided, *xs[1:], sizes=None, **statics)[0], run(*xs, sizes=None, **statics)[0])
