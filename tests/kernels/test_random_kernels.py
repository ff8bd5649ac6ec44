"""Random numbers drawn by kernels against those that NumPy draws: the same numbers, and the same state afterwards."""

from __future__ import annotations

import copy
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygrad import _rng, kernels
from whygrad.kernels import random

DRAWS = {
    "rand": lambda stream, n: stream.uniform(n),
    "rand, double": lambda stream, n: stream.uniform(n, np.float64),
    "uniform": lambda stream, n: stream.uniform(n, np.float32, -3.0, 1e-3),
    "uniform, double": lambda stream, n: stream.uniform(n, np.float64, 2.5, 7.0),
    "randn": lambda stream, n: stream.normal(n),
    "normal": lambda stream, n: stream.normal(n, np.float32, 1.5, 3.0),
    "normal, double": lambda stream, n: stream.normal(n, np.float64),
    "randint": lambda stream, n: stream.integers(-5, 12, n),
    "randint, wide": lambda stream, n: stream.integers(0, 2 ** 28 - 1, n),
    "random": lambda stream, n: stream.random(n),
    "bernoulli": lambda stream, n: stream.bernoulli(0.3, n, np.float32),
    "scaled": lambda stream, n: stream.bernoulli(0.7, n, np.float32, one=np.float32(1) / np.float32(0.7)),
    "masks": lambda stream, n: stream.bernoulli(0.5, n),
    "always": lambda stream, n: stream.bernoulli(1.0, n, np.float32),
    "never": lambda stream, n: stream.bernoulli(0.0, n, np.float32),
    "permutation": lambda stream, n: stream.permutation(n),
    "exponential": lambda stream, n: stream.exponential(n),
}


def by_kernels(name, count):
    made = {"normals": random.normals, "swaps": random.swaps}.get(name)
    return made() if made else random.drawing(name)


def drawn(how, seed, skipped, names, count):
    """The numbers, and the state after all."""
    with mock.patch.object(kernels, "drawing", how):
        stream = _rng.Stream(seed)
        stream.uniform(skipped)
        results = [DRAWS[name](stream, count) for name in names]
    return results, stream.get_state()


@settings(max_examples=150)
@given(seed=st.integers(0, 2 ** 32), skipped=st.sampled_from((0, 1, 2, 400, 622, 623, 624, 625)),
       names=st.lists(st.sampled_from(sorted(DRAWS)), min_size=1, max_size=3), count=st.sampled_from((0, 1, 5, 16, 37, 312, 700)))
def test_same_numbers_and_state(seed, skipped, names, count):
    ours, state = drawn(by_kernels, seed, skipped, names, count)
    theirs, expected_state = drawn(lambda name, count: None, seed, skipped, names, count)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(state, expected_state)


@pytest.mark.parametrize("how", [by_kernels, lambda name, count: None])
def test_a_copy_goes_its_own_way(how):
    with mock.patch.object(kernels, "drawing", how):
        stream = _rng.Stream(3)
        stream.uniform(10)
        other = copy.deepcopy(stream)
        np.testing.assert_array_equal(stream.uniform(700), other.uniform(700))
        stream.uniform(5)
        assert not np.array_equal(stream.uniform(5), other.uniform(5))


def test_the_state_lies_where_kernels_expect_it():
    assert random.state_is_known()
