"""Rows by their numbers, and rows added up, as kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import refuse, with_threads

import whygrad
from whygrad.kernels import indexing
from whygrad.kernels.registry import make

BOTH = (1, 2)


def one_after_the_other(shape, index, rows):
    result = np.zeros(shape, "f4")
    for i, row in zip(index.reshape(-1), rows.reshape(-1, *shape[1:]), strict=True):
        result[i] += row
    return result


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    monkeypatch.setattr(indexing, "MIN_SIZE", 0)
    monkeypatch.setattr(indexing, "SERIAL_BELOW", 64)


@settings(max_examples=60)
@given(rows=st.integers(1, 40), width=st.integers(8, 40), shape=st.sampled_from([(1,), (7,), (50,), (3, 4), (2, 1, 5)]),
       kind=st.sampled_from(["i4", "i8"]), seed=st.integers(0, 5))
def test_take_and_add(rows, width, shape, kind, seed):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((rows, width)).astype("f4")
    table[0, 0], table[-1, -1] = np.nan, np.inf
    index = rng.integers(0, rows, shape).astype(kind)
    g = rng.standard_normal((*shape, width)).astype("f4")
    g.flat[0] = np.inf
    expected = one_after_the_other(table.shape, index, g)
    for threads in BOTH:
        taken = with_threads(threads, lambda: make("embedding", refuse)(table, index, padding_idx=-1, by_frequency=False))
        np.testing.assert_array_equal(taken, table[index])
        added = with_threads(threads, lambda: make("embedding_backward", refuse)(g, index, rows=rows, padding_idx=-1,
                                                                                   by_frequency=False))
        np.testing.assert_array_equal(added, expected)
        if len(shape) == 1:
            np.testing.assert_array_equal(make("index_select", refuse)(table, index, axis=0), table[index])
            back = make("index_select_backward", refuse)(g, index, shape=table.shape, axis=0)
            np.testing.assert_array_equal(back, expected)
        np.testing.assert_array_equal(make("index", refuse)(table, index, axes=(0,)), table[index])
        np.testing.assert_array_equal(make("index_backward", refuse)(g, index, shape=table.shape, axes=(0,)), expected)


def test_rows_of_more_axes_and_gradients_that_are_one_number():
    index = np.array([2, 0, 2, 2])
    table = np.arange(4 * 3 * 8, dtype="f4").reshape(4, 3, 8)
    np.testing.assert_array_equal(make("index", refuse)(table, index, axes=(0,)), table[index])
    g = np.broadcast_to(np.float32(0.5), (4, 3, 8))
    back = make("index_backward", refuse)(g, index, shape=table.shape, axes=(0,))
    np.testing.assert_array_equal(back[:, 0, 0], [0.5, 0, 1.5, 0])
    strided = np.random.default_rng(0).standard_normal((3, 8, 4)).astype("f4").transpose(2, 0, 1)
    np.testing.assert_array_equal(make("index_backward", refuse)(strided, index, shape=table.shape, axes=(0,)),
                                  one_after_the_other(table.shape, index, strided))


def test_padding_gets_no_gradient():
    index = np.array([[1, 2], [1, 0]])
    back = make("embedding_backward", refuse)(np.ones((2, 2, 9), "f4"), index, rows=4, padding_idx=1, by_frequency=False)
    np.testing.assert_array_equal(back[:, 0], [1, 0, 1, 0])


@pytest.mark.parametrize("wrong", [-1, 5, 2 ** 40])
def test_numbers_that_no_row_has(wrong):
    table, index = np.ones((5, 16), "f4"), np.array([1, wrong, 2])
    told = make("embedding", lambda *args, **statics: "numpy")
    assert told(table, index, padding_idx=-1, by_frequency=False) == "numpy"
    told = make("index_backward", lambda *args, **statics: "numpy")
    assert told(np.ones((3, 16), "f4"), index, shape=(5, 16), axes=(0,)) == "numpy"
    assert indexing.add_rows(np.ones((3, 16), "f4"), index, (5, 16), into=table) is None
    np.testing.assert_array_equal(table, 1)


def test_the_error_is_torchs():
    weight = whygrad.randn(100, 128)
    with pytest.raises(IndexError, match="index out of range in self"):
        whygrad.nn.functional.embedding(whygrad.full((300,), 100), weight)


@pytest.mark.parametrize("accumulate", ["index_add_", "index_put_"])
def test_adding_in_place(accumulate):
    rng = np.random.default_rng(0)
    start, rows = rng.standard_normal((50, 33)).astype("f4"), rng.standard_normal((400, 33)).astype("f4")
    index = rng.integers(0, 50, 400)
    x = whygrad.tensor(start)
    if accumulate == "index_add_":
        x.index_add_(0, whygrad.tensor(index), whygrad.tensor(rows), alpha=2)
        rows = rows * 2
    else:
        x.index_put_((whygrad.tensor(index),), whygrad.tensor(rows), accumulate=True)
    expected = start.astype("f8")
    np.add.at(expected, index, rows)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-4, atol=1e-5)
