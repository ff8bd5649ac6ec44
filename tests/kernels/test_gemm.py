"""Products of matrices by kernels against float64, however the matrices lie in memory, and with any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import refuse

from whygrad.backends import numpy_linear
from whygrad.kernels import gemm, host
from whygrad.kernels.pool import pool
from whygrad.ops import TABLE

pytestmark = pytest.mark.skipif(not gemm.there_are_products(), reason="no kernels for products on this processor")

NAMES = ("mm", "bmm", "matmul", "matmul_folded", "linear", "linear_folded", "addmm", "contract")


@pytest.fixture(scope="module")
def all_sizes() -> Callable[[str], Callable[..., Any]]:
    """Makers of kernels that leave nothing to NumPy and always use threads."""
    pool()
    gemm.gemm_code.task()

    def address(form: str) -> int:
        return gemm.address_of(f"product of any size: {form}", lambda module, name: gemm._write(module, name, gemm.FORMS[form]))

    @cache
    def make(name: str) -> Callable[..., Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gemm, "_worth_it", lambda m, n, depth, work: work > 0)
            patch.setattr(gemm, "SERIAL_BELOW", 0)
            patch.setattr(gemm, "_address", address)
            return getattr(gemm, name)(refuse)

    return make


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def turned(x: Any, way: str) -> Any:
    """The same numbers, lying in memory in another way."""
    if way == "transposed":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "backwards":
        return np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1]
    if way == "apart":
        wide = np.full((*x.shape[:-2], 2 * x.shape[-2], 3 * x.shape[-1]), np.nan, np.float32)
        wide[..., ::2, ::3] = x
        return wide[..., ::2, ::3]
    if way == "part of a row":
        wide = np.full((*x.shape[:-1], x.shape[-1] + 5), np.nan, np.float32)
        wide[..., 2:-3] = x
        return wide[..., 2:-3]
    if way == "read only":
        x = x.copy()
        x.flags.writeable = False
    return x


WAYS = ("plain", "transposed", "backwards", "apart", "part of a row", "read only")


def check(result: Any, a: Any, b: Any, d: Any = 0.0) -> None:
    """Each number is off by a small share of the sum of all absolute values, as with any order of adding up."""
    wide_a, wide_b, wide_d = (np.asarray(x, np.float64) for x in (a, b, d))
    expected, size = wide_a @ wide_b + wide_d, np.abs(wide_a) @ np.abs(wide_b) + np.abs(wide_d)
    assert result.dtype == np.float32
    assert result.shape == expected.shape
    assert result.flags.c_contiguous
    assert result.flags.writeable
    assert (np.abs(result - expected) <= size * (a.shape[-1] + 2) * 2.0 ** -24).all()


sizes = st.one_of(st.integers(1, 40), st.integers(40, 130), st.sampled_from([384, 385, 800]))


@settings(max_examples=120, deadline=None)
@given(m=sizes, depth=sizes, n=sizes, a_way=st.sampled_from(WAYS), b_way=st.sampled_from(WAYS), count=st.integers(1, 3))
def test_any_sizes_and_strides(all_sizes: Any, m: int, depth: int, n: int, a_way: str, b_way: str, count: int) -> None:
    a, b = numbers(m, depth), numbers(depth, n, seed=1)
    multiply = all_sizes("mm")
    pool().set_threads(1)
    expected = multiply(a, b)
    check(expected, a, b)
    pool().set_threads(count)
    np.testing.assert_array_equal(multiply(turned(a, a_way), turned(b, b_way)), expected)


@settings(max_examples=60, deadline=None)
@given(axes=st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=4), a_ones=st.integers(0, 15), b_ones=st.integers(0, 15),
       m=st.integers(1, 30), depth=st.integers(1, 40), n=st.integers(1, 60), way=st.sampled_from(WAYS))
def test_batches(all_sizes: Any, axes: list[int], a_ones: int, b_ones: int, m: int, depth: int, n: int, way: str) -> None:
    a_axes, b_axes = ([1 if ones >> i & 1 else length for i, length in enumerate(axes)] for ones in (a_ones, b_ones))
    a, b = turned(numbers(*a_axes, m, depth), way), turned(numbers(*b_axes, depth, n, seed=1), way)
    for count in (1, 3):
        pool().set_threads(count)
        check(all_sizes("matmul")(a, b), a, b)


def test_batches_of_other_axes(all_sizes: Any) -> None:
    a, b = numbers(2, 3, 9, 20), numbers(20, 18)
    check(all_sizes("matmul")(a, b), a, b)
    check(all_sizes("matmul")(a[0, 0], numbers(3, 20, 18)), a[0, 0], numbers(3, 20, 18))
    same = np.broadcast_to(b, (3, 20, 18))
    check(all_sizes("bmm")(a[0], same), a[0], same)
    swapped = numbers(9, 3, 2, 20).transpose(2, 1, 0, 3)
    check(all_sizes("matmul")(swapped, np.broadcast_to(b, (2, 3, 20, 18))), swapped, b)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(30, 50), (3, 10, 50), (2, 3, 5, 50), (1, 800)])
def test_linear(all_sizes: Any, shape: tuple[int, ...], bias: bool) -> None:
    x, weight, d = numbers(*shape), numbers(70, shape[-1], seed=1), numbers(70, seed=2) if bias else None
    for name in ("linear", "linear_folded"):
        check(all_sizes(name)(x, weight, d), x, weight.T, 0.0 if d is None else d)
        if len(shape) == 2:
            check(all_sizes(name)(turned(x, "apart"), turned(weight, "transposed"), d), x, weight.T, 0.0 if d is None else d)
    check(all_sizes("matmul_folded")(x, weight.T), x, weight.T)


@pytest.mark.parametrize("batch", [6, 1])
def test_rows_that_do_not_follow_each_other(batch: int) -> None:
    x, weight, bias = numbers(batch, 24, 80).swapaxes(0, 1), numbers(64, 80), numbers(64)
    check(gemm.linear_folded(refuse)(x, weight, bias), x, weight.T, bias)
    check(gemm.matmul_folded(refuse)(x, weight.T), x, weight.T)


@pytest.mark.parametrize("shape", [(70,), (1, 70), (33, 70), (33, 1), (1, 1), ()])
def test_a_sum_with_a_product(shape: tuple[int, ...]) -> None:
    c, a, b = numbers(*shape), numbers(33, 800), numbers(800, 70, seed=1)
    add = gemm.addmm(numpy_linear.addmm)
    check(add(c, a, b), a, b, c)
    check(add(turned(numbers(33, 70), "backwards"), a, b), a, b, numbers(33, 70))
    np.testing.assert_allclose(add(c, a, b, beta=0.5, alpha=2), 0.5 * c + 2 * (a @ b), rtol=1e-4, atol=1e-3)


def test_contract() -> None:
    a, b = numbers(3, 4, 16, 20), numbers(3, 16, 5, 20, seed=1)
    labels = {"a_labels": (0, 1, 2, 3), "b_labels": (0, 2, 4, 3), "out_labels": (0, 1, 4)}
    found = gemm.contract(numpy_linear.contract)(a, b, **labels)
    np.testing.assert_allclose(found, np.einsum("abcd,aced->abe", a, b), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bad_numbers_stay_in_their_row_or_column(bad: float) -> None:
    a, b = np.abs(numbers(40, 100)), np.abs(numbers(100, 50))
    a[7, 99], b[3, 49] = bad, bad
    with np.errstate(all="ignore"):
        expected = a.astype(np.float64) @ b
    result = gemm.mm(refuse)(a, b)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert np.isfinite(np.delete(result[:, :49], 7, axis=0)).all()


def unaligned(x: Any) -> Any:
    return np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)


@pytest.mark.parametrize(("a", "b"), [
    (numbers(20, 30).astype(np.float64), numbers(30, 20).astype(np.float64)), (numbers(0, 30), numbers(30, 20)),
    (numbers(20, 0), numbers(0, 20)), (numbers(20, 30), numbers(30, 0)), (numbers(20, 1), numbers(1, 20)),
    (unaligned(numbers(20, 30)), numbers(30, 20)), (numbers(20, 30), unaligned(numbers(30, 20))),
    (numbers(20, 30).astype(np.float16), numbers(30, 20).astype(np.float16)), (numbers(2, 5000), numbers(5000, 2)),
], ids=["float64", "no rows", "nothing to add up", "no columns", "outer", "unaligned", "unaligned b", "half", "two vectors"])
def test_what_is_left_to_numpy(a: Any, b: Any) -> None:
    before = host.counted[1]
    result = gemm.mm(numpy_linear.mm)(a, b)
    assert host.counted[1] == before + 1
    expected = numpy_linear.mm(a, b)
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == expected.dtype


def test_a_wrong_shape_is_numpys_error() -> None:
    with pytest.raises(ValueError):
        gemm.mm(numpy_linear.mm)(numbers(20, 30), numbers(31, 20))
    with pytest.raises(ValueError):
        gemm.linear(numpy_linear.linear)(numbers(20, 30), numbers(40, 30), numbers(39))


def test_gradients_that_are_expanded() -> None:
    g, x = np.broadcast_to(np.float32(0.5), (64, 100)), numbers(64, 80)
    check(gemm.mm(refuse)(g.T, x), g.T, x)
    check(gemm.mm(refuse)(x.T, g), x.T, g)


def test_every_word_is_a_row() -> None:
    assert set(NAMES) <= set(TABLE)
