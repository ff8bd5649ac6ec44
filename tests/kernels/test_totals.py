"""Formulas that end with a sum or a mean over all elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_checks import refuse, with_threads

from whygrad.kernels.pointwise import compile_formula
from whygrad.kernels.totals import PIECE
from whygrad.kernels.trace import inputs, trace, vocabulary

# Those of a part of a vector, of a thread alone, and of several pieces and threads.
SIZES = (0, 1, 15, 17, 64, 65, 1000, PIECE - 1, PIECE, PIECE + 1, 10 * PIECE + 77)
FORMULAS: dict[str, tuple[str, Any]] = {
    "elements": ("a", lambda xp, x: x),
    "squared differences": ("aa", lambda xp, x, y: (x - y) * (x - y)),
    "with a number": ("aaa", lambda xp, x, y, beta: xp.where(xp.abs(x - y) < beta, x * y, x / beta)),
    "chosen by a mask": ("am", lambda xp, x, mask: xp.where(mask, x, 0.0)),
    "a mask": ("a", lambda xp, x: x > 0.5),
    "not where there is nothing": ("a", lambda xp, x: 1 / x),  # beyond the last element lie zeros
}
HEAVY = {"logarithms": ("aan", lambda xp, x, y, nothing: xp.log(x) * y if nothing is None else x)}


def compiled(formula, kinds, word="sum", code="f4", fallback=refuse):
    symbols = inputs(kinds)
    return compile_formula("total", trace(lambda *s: getattr(vocabulary, word)(formula(vocabulary, *s)), *symbols), kinds,
                           (fallback, fallback), code)


def arguments(kinds, size, code):
    rng = np.random.default_rng(size)
    arrays = [None if kind == "n" else rng.random(size) < 0.5 if kind == "m" else rng.uniform(0.1, 0.9, size).astype(code)
              for kind in kinds]
    return [*arrays[:2], 0.3] if kinds == "aaa" else arrays


@pytest.mark.parametrize("word", ["sum", "mean"])
@pytest.mark.parametrize(("name", "code"), [(name, code) for name in FORMULAS for code in ("f4", "f8")] +
                         [(name, "f4") for name in HEAVY])
def test_same_as_numpy_on_any_number_of_threads(name, code, word):
    kinds, formula = (FORMULAS | HEAVY)[name]
    kernel = compiled(formula, kinds, word, code)
    for size in SIZES:
        args = arguments(kinds, size, code)
        exact = [x.astype("f8") if getattr(x, "dtype", None) == "f4" else x for x in args]
        with np.errstate(all="ignore"):
            expected = getattr(np, word)(np.asarray(formula(np, *exact), "f8")) if size or word == "sum" else np.nan
        one, *others = [with_threads(threads, lambda: kernel(*args)) for threads in (1, 2, 3)]
        assert one.shape == ()
        assert one.dtype == code
        np.testing.assert_allclose(one, expected, rtol=5e-7 if code == "f4" else 1e-14, err_msg=f"{size} elements")
        for other in others:
            np.testing.assert_array_equal(one, other, err_msg=f"{size} elements: depends on the number of threads")


def test_long_sums_are_exact_to_a_unit():
    x = np.random.default_rng(0).random(3_000_001).astype("f4")
    total = compiled(lambda xp, x: x, "a")(x)
    assert abs(float(total) - x.astype("f8").sum()) <= np.spacing(total)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 100, PIECE, 2 * PIECE + 2])
def test_what_is_not_finite_shows(odd, place):
    x = np.ones(2 * PIECE + 3, "f4")
    x[place] = odd
    np.testing.assert_equal(float(compiled(lambda xp, x: x, "a")(x)), odd)


def test_a_sum_beyond_float32_has_no_mean():
    """As torch has it: the sum is rounded before it is divided."""
    assert compiled(lambda xp, x: x, "a", "mean")(np.full(100, 3e38, "f4")) == np.inf


@pytest.mark.parametrize("second", [np.ones(6, "f4"), np.ones((3, 2), "f4"), np.ones((2, 1), "f4"), np.ones((2, 3)),
                                    np.asfortranarray(np.ones((2, 3), "f4")), np.float32(1), "text"])
def test_other_arguments_are_declined(second):
    kernel = compiled(lambda xp, x, y: x * y, "aa", fallback=lambda *args: "declined")
    assert kernel(np.ones((2, 3), "f4"), second) == "declined"
