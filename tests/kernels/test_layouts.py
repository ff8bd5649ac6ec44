"""Elementwise kernels on arrays of every layout: broadcast, expanded, transposed, stepped, reversed, unaligned, overlapping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygrad.backends.memory_order import empty_following
from whygrad.kernels import pointwise
from whygrad.kernels.pointwise import compile_formula
from whygrad.kernels.pool import pool
from whygrad.kernels.trace import inputs, vocabulary

SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 1e-40, -1e-45, 3.4e38]


class Declined(Exception):
    pass


def refuse(*args: Any, **named: Any) -> Any:
    raise Declined


def formula(kinds: str, code: str = "f4", into: bool = False) -> Any:
    """where(mask, a * b, a), or a * b."""
    symbols = inputs(kinds)
    if kinds == "aam":
        made = vocabulary.apply("where", symbols[2], vocabulary.apply("mul", symbols[0], symbols[1]), symbols[0])
    else:
        made = vocabulary.apply("mul", *symbols)
    return compile_formula("tried", made, kinds, (refuse, refuse), code, into)


def expected(*args: Any) -> Any:
    with np.errstate(all="ignore"):
        if len(args) == 3:
            return np.where(args[2], args[0] * args[1], args[0])
        return np.multiply(*args)


@st.composite
def layouts(draw: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array that broadcasts to `shape`, laid out in some way."""
    own = tuple([draw(st.sampled_from([n, n, n, 1])) for n in shape])
    own = own[draw(st.integers(0, len(own))) if draw(st.booleans()) else 0:]
    order = draw(st.permutations(range(len(own))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, -3])) for _ in own]
    held = tuple([own[axis] * abs(steps[axis]) for axis in order])
    if dtype == "?":
        memory = np.asarray(np.random.default_rng(draw(st.integers(0, 9))).random(held) < 0.5)
    else:
        memory = np.random.default_rng(draw(st.integers(0, 9))).choice(SPECIAL, held)
        memory = np.asarray(memory, dtype)
    array = memory.transpose([list(order).index(axis) for axis in range(len(own))])
    array = np.asarray(array[(*[slice(None, None, step) for step in steps], ...)])
    if draw(st.integers(0, 5)) == 0:
        array = np.broadcast_to(array[(*[slice(0, 1) for _ in own], ...)], own) if array.size else array
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


@st.composite
def programs(draw: Any) -> tuple[str, list[np.ndarray]]:
    code = draw(st.sampled_from(["f4", "f4", "f8"]))
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 16, 17, 40]), max_size=5)))
    while math.prod(shape) > 40_000:
        shape = shape[1:]
    kinds = draw(st.sampled_from(["aa", "aam"]))
    return code, [draw(layouts(shape, "?" if kind == "m" else code)) for kind in kinds]


@settings(max_examples=250, deadline=None)
@given(programs(), st.sampled_from([0, 16384]))
def test_any_layout(program: Any, serial_below: int) -> None:
    code, arrays = program
    kinds = "aam"[:len(arrays)]
    before, pointwise.SERIAL_BELOW = pointwise.SERIAL_BELOW, serial_below
    try:
        ours = formula(kinds, code)(*arrays)
    finally:
        pointwise.SERIAL_BELOW = before
    theirs = expected(*arrays)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.signbit(ours)[~np.isnan(ours)], np.signbit(theirs)[~np.isnan(theirs)])
    if ours.size:
        wanted = empty_following(ours.shape, ours.dtype, [x for x in arrays if x.ndim])
        assert [s for s, n in zip(ours.strides, ours.shape, strict=True) if n > 1] == \
            [s for s, n in zip(wanted.strides, wanted.shape, strict=True) if n > 1]
    assert ours.flags.owndata
    assert ours.flags.writeable


@pytest.mark.parametrize("shapes", [((300, 500), (500,)), ((300, 500), (300, 1)), ((1, 500), (300, 1)), ((40, 30, 50), (30, 1)),
                                    ((60000, 3), (60000, 1)), ((3, 60000), (3, 1)), ((7, 11, 13, 5, 3), (11, 1, 5, 1)),
                                    ((), (200, 300))])
@pytest.mark.parametrize("threads", [1, 3])
def test_large_and_broadcast(shapes: Any, threads: int) -> None:
    a, b = (np.random.default_rng(0).standard_normal(shape).astype("f4") for shape in shapes)
    before = pool().threads()
    pool().set_threads(threads)
    try:
        np.testing.assert_array_equal(formula("aa")(a, b), a * b)
        np.testing.assert_array_equal(formula("aa")(b, a.T.copy().T), a * b)
    finally:
        pool().set_threads(before)


@pytest.mark.parametrize("number", [2, 2.5, -1e300, math.inf, math.nan])
def test_a_number_stands_for_an_array(number: float) -> None:
    a = np.arange(100, dtype="f4").reshape(4, 25).T
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(formula("aa")(a, number), a * np.float32(number))
        np.testing.assert_array_equal(formula("as")(number, a), np.float32(number) * a)


def test_none_beside_any_layout() -> None:
    clamp = compile_formula("clamp", vocabulary.apply("maximum", *inputs("aan")[:2]), "aan", (refuse, refuse))
    a = np.arange(12, dtype="f4").reshape(3, 4).T
    np.testing.assert_array_equal(clamp(a, 5.0, None), np.maximum(a, 5))
    with pytest.raises(Declined):
        clamp(a, 5.0, 1.0)


def test_what_is_declined() -> None:
    a = np.ones((3, 4), "f4")
    for wrong in ((a, np.ones((3, 5), "f4")), (a, a.astype("f8")), (1.0, 2.0), (a, None), (a, "a"), (a, True), (a,), (a, a, a),
                  (a, 2 ** 70), (a, np.float32(1)), (np.ones((1,) * 9, "f4"), a),
                  (a, np.frombuffer(b"\0" * 49, "f4", offset=1).reshape(3, 4))):
        with pytest.raises(Declined):
            formula("aa")(*wrong)
    with pytest.raises(Declined):
        formula("aa")(a, b=a)


@pytest.mark.parametrize(("start", "fits"), [(0, True), (1, False), (40, False), (100, True)])
def test_writing_over_an_argument(start: int, fits: bool) -> None:
    """The whole of it, or nothing of it: what overlaps otherwise is left to NumPy, which copies first."""
    memory = np.arange(200, dtype="f4")
    a, out = memory[:100], memory[start:start + 100]
    wanted = a * 3
    if fits:
        assert formula("aa", into=True)(a, 3.0, out) is out
        np.testing.assert_array_equal(out, wanted)
    else:
        with pytest.raises(Declined):
            formula("aa", into=True)(a, 3.0, out)


def test_results_are_written_where_they_may_be() -> None:
    a = np.ones(50, "f4")
    fixed = a.copy()
    fixed.flags.writeable = False
    for wrong in (fixed, np.ones(51, "f4"), np.ones(50), np.ones(100, "f4")[::2], None, np.ones((50, 1), "f4")):
        with pytest.raises(Declined):
            formula("aa", into=True)(a, a, wrong)
