"""Attention kernels against NumPy's way in float64, and against themselves with other numbers of threads."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import refuse

from whygrad.backends import numpy_attention
from whygrad.kernels import attention
from whygrad.kernels.pool import pool

FORWARD, BACKWARD = "scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_flash_attention_for_cpu_backward"


class Case(NamedTuple):
    samples: int = 2
    heads: int = 2
    shared: int = 2
    queries: int = 40
    keys: int = 40
    depth: int = 16
    layout: str = "htd"  # of a sample in memory; "packed": query, key and value are parts of one array
    causal: bool = False
    scale: float = 0.3
    size: float = 1.0  # of the numbers


def made(layout: str, samples: int, heads: int, rows: int, depth: int, rng: Any) -> Any:
    """An array of shape (samples, heads, rows, depth) that lies in memory as `layout` says."""
    if layout == "htd":
        return rng.standard_normal((samples, heads, rows, depth)).astype(np.float32)
    if layout == "thd":
        return rng.standard_normal((samples, rows, heads, depth)).astype(np.float32).transpose(0, 2, 1, 3)
    if layout == "every second":
        return rng.standard_normal((samples, heads, 2 * rows, depth + 3)).astype(np.float32)[:, :, ::2, 1:depth + 1]
    assert layout == "one for all"
    return np.broadcast_to(rng.standard_normal((heads, rows, depth)).astype(np.float32), (samples, heads, rows, depth))


def arguments(case: Case) -> list[Any]:
    """Query, key, value, and a gradient of the result."""
    rng = np.random.default_rng(zlib.crc32(repr(case).encode()))  # not hash(), which differs from process to process
    if case.layout == "packed":
        heads = case.heads, case.shared, case.shared
        together = rng.standard_normal((case.samples, case.keys, sum(heads), case.depth)).astype(np.float32)
        arrays = [x.transpose(0, 2, 1, 3) for x in np.split(together, np.cumsum(heads)[:-1], 2)]
        arrays[0] = arrays[0][:, :, case.keys - case.queries:]
    else:
        arrays = [made(case.layout, case.samples, heads, rows, case.depth, rng)
                  for heads, rows in ((case.heads, case.queries), (case.shared, case.keys), (case.shared, case.keys))]
    arrays = [x * np.float32(case.size) if case.size != 1 else x for x in arrays]
    return [*arrays, rng.standard_normal(arrays[0].shape).astype(np.float32)]


def check(case: Case) -> None:
    q, k, v, g = arguments(case)
    statics = {"scale": case.scale, "causal": case.causal}
    forward, backward = getattr(attention, FORWARD)(refuse), getattr(attention, BACKWARD)(refuse)
    answers = []
    for count in (1, 2):
        pool().set_threads(count)
        out, sums = forward(q, k, v, **statics)
        answers.append((out, sums, *backward(g, q, k, v, out, sums, **statics)))
    wide = [x.astype(np.float64) for x in (q, k, v, g)]
    exact = getattr(numpy_attention, FORWARD)(*wide[:3], **statics)
    exact = (*exact, *getattr(numpy_attention, BACKWARD)(wide[3], *wide[:3], *exact, **statics))
    for one, two, expected in zip(*answers, exact, strict=True):
        np.testing.assert_array_equal(one, two, err_msg="depends on the number of threads")
        assert one.shape == expected.shape
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, expected, rtol=2e-4, atol=2e-5 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("case", [
    Case(depth=32, queries=64, keys=64, layout="packed", causal=True),
    Case(heads=4, shared=2, layout="packed", causal=True),
    Case(queries=20, layout="packed"),
    Case(queries=4, keys=1, depth=1),
    Case(queries=33, keys=300, depth=64),
    Case(queries=300, keys=33, depth=20, causal=True),
    Case(samples=1, heads=6, shared=2, queries=70, keys=70, causal=True),
    Case(heads=3, shared=1, queries=17, keys=140),
    Case(queries=150, keys=150, depth=8, size=4.0, scale=1.0),
    Case(queries=10, keys=290, depth=5, size=4.0, scale=-1.0),
    Case(samples=1, heads=1, shared=1, queries=5, keys=5, depth=256),
    Case(layout="every second", causal=True), Case(layout="one for all"), Case(layout="thd", depth=24),
], ids=str)
def test_same_as_numpy(case: Case) -> None:
    check(case)


@settings(max_examples=40, deadline=None)
@given(st.builds(Case, samples=st.integers(1, 3), heads=st.just(4), shared=st.sampled_from([1, 2, 4]),
                 queries=st.integers(4, 100), keys=st.integers(1, 150), depth=st.integers(1, 70),
                 layout=st.sampled_from(["htd", "thd", "every second", "one for all"]), causal=st.booleans(),
                 scale=st.sampled_from([0.3, -0.2, 0.0, 1.0]), size=st.just(1.0)))
def test_any_shape(case: Case) -> None:
    check(case)


def test_threads_that_came_later_wait_for_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v, _ = arguments(Case(queries=200, keys=200, depth=32))
    forward = getattr(attention, FORWARD)(refuse)
    expected, _ = forward(q, k, v, scale=0.3, causal=False)
    memory = np.full(1 << 20, 7, np.float32)
    sizes = []

    def for_one_thread(plan: Any) -> Any:
        sizes.append(int(plan[1] + plan[0]))
        return memory[:sizes[-1]]

    monkeypatch.setattr(attention, "workspace", for_one_thread)
    pool().set_threads(4)
    for _ in range(20):
        np.testing.assert_array_equal(forward(q, k, v, scale=0.3, causal=False)[0], expected)
    assert (memory[sizes[-1]:] == 7).all()


def test_the_result_lies_as_the_query_does() -> None:
    """Then heads side by side are what the next product wants, without a copy."""
    for layout in ("htd", "thd", "packed"):
        q, k, v, g = arguments(Case(layout=layout))
        out, sums = getattr(attention, FORWARD)(refuse)(q, k, v, scale=1.0, causal=False)
        dense = out if layout == "htd" else out.transpose(0, 2, 1, 3)
        assert dense.flags.c_contiguous
        gradients = getattr(attention, BACKWARD)(refuse)(g, q, k, v, out, sums, scale=1.0, causal=False)
        parts = [x.transpose(0, 2, 1, 3) for x in gradients]
        if layout == "packed":
            assert len({id(x.base) for x in parts}) == 1
        else:
            assert all(x.flags.c_contiguous for x in parts)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", range(3))
def test_numbers_that_are_none_show(bad: float, which: int) -> None:
    arrays = arguments(Case(queries=20, keys=20, causal=True))[:3]
    arrays[which][0, 1, 7, 3] = bad
    out, sums = getattr(attention, FORWARD)(refuse)(*arrays, scale=0.3, causal=True)
    wide = [x.astype(np.float64) for x in arrays]
    exact = getattr(numpy_attention, FORWARD)(*wide, scale=0.3, causal=True)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact[0]))
    np.testing.assert_allclose(out, exact[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(np.isnan(sums), np.isnan(exact[1]))


def test_what_kernels_are_not_for() -> None:
    q, k, v, g = arguments(Case())
    called: list[Any] = []

    def numpy(*args: Any, **statics: Any) -> Any:
        called.append(args)
        return "numpy"

    forward, backward = getattr(attention, FORWARD)(numpy), getattr(attention, BACKWARD)(numpy)
    statics = {"scale": 1.0, "causal": False}
    mask = np.ones((40, 40), np.bool_)
    for arrays in ((q, k, v, mask), (q.astype(np.float64), k, v), (q[:, :, :2], k, v), (q[..., ::2], k[..., ::2], v[..., ::2])):
        assert forward(*arrays, **statics) == "numpy"
    assert backward(g, q, k, v, q, q[..., 0], mask, **statics) == "numpy"
    assert len(called) == 5
