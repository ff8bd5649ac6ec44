"""Where large arrays take another way than small ones: the same results, on the sizes from which on they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle import check

import whygrad
from whygrad.backends.running import accumulate

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(5000,), (256, 40), (40, 256), (3, 5000), (70, 61, 5), (2, 300, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_running_sums_and_extremes(shape: tuple[int, ...], dtype: type) -> None:
    x = (RANDOM.standard_normal(shape) * 9).astype(dtype)
    tolerance = 1e-3 if dtype is np.float32 else 1e-9
    for axis in range(len(shape)):
        for ufunc in (np.add, np.maximum, np.minimum):
            np.testing.assert_allclose(accumulate(ufunc, x, axis), ufunc.accumulate(x, axis), tolerance, tolerance)
            backwards = np.flip(ufunc.accumulate(np.flip(x, axis), axis), axis)
            np.testing.assert_allclose(accumulate(ufunc, x, axis, reverse=True), backwards, tolerance, tolerance)


def test_a_running_sum_that_a_block_alone_would_overflow() -> None:
    x = np.zeros((200, 96), np.float32)
    x[:, 0], x[:, 32:34] = -3e38, 3e38
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(accumulate(np.add, x, 1), np.add.accumulate(x, 1))


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "cumsum": (lambda t, x: x.cumsum(-1), [numbers(64, 80)]), "cumsum 0": (lambda t, x: x.cumsum(0), [numbers(80, 64)]),
    "cummax": (lambda t, x: x.cummax(1), [numbers(64, 80)]), "median": (lambda t, x: x.median(1), [numbers(64, 81)]),
    "kthvalue": (lambda t, x: x.kthvalue(7, 1), [numbers(64, 80)]),
    "nonzero": (lambda t, x: (x > 0).nonzero(), [numbers(8, 9, 99)]),
    "fmod": (lambda t, a, b: t.fmod(a, b), [numbers(64, 80), numbers(64, 80) + 3]),
    "remainder": (lambda t, a, b: t.remainder(a, b), [numbers(64, 80) * 1000, numbers(64, 80) + 3]),
    "by zero": (lambda t, a: t.remainder(a, t.zeros(5000)), [numbers(5000)]),
    "floor": (lambda t, a, b: t.div(a, b, rounding_mode="floor"), [numbers(64, 80) * 100, numbers(64, 80)]),
    "logaddexp": (lambda t, a, b: t.logaddexp(a, b), [numbers(64, 80), numbers(64, 80)]),
    "logical_not": (lambda t, x: x.round().logical_not(), [numbers(64, 80)]),
    "masked_fill": (lambda t, x: x.masked_fill(x > 0, -1.5), [numbers(64, 80)]),
    "index_put": (lambda t, x, y: x.index_put((t.arange(256) % 200,), y), [numbers(256, 256), numbers(256, 256)]),
}


@pytest.mark.parametrize("name", CASES)
def test_large_arguments(name: str) -> None:
    function, arrays = CASES[name]
    for _ in range(3):  # the machine code comes after a few calls
        check(function, arrays, order=1, check_node=False, rtol=2e-4)


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add_": lambda t, a, b: a.add_(b), "alpha": lambda t, a, b: a.add_(b, alpha=0.5),
    "sub_": lambda t, a, b: a.sub_(b, alpha=2.0),
    "mul_": lambda t, a, b: a.mul_(3.0), "div_": lambda t, a, b: a.div_(b), "copy_": lambda t, a, b: a.copy_(b),
    "itself": lambda t, a, b: a.mul_(a), "its own part": lambda t, a, b: a[1:].add_(a[:-1].clone()),
    "lerp_": lambda t, a, b: a.lerp_(b, 0.25), "integer": lambda t, a, b: a.mul_(2),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_without_history(name: str) -> None:
    import torch

    results = []
    for t in (torch, whygrad):
        for mode in (t.enable_grad, t.no_grad):
            a, b = t.arange(12.0).reshape(3, 4), t.arange(12.0).reshape(3, 4) + 1
            view = a[1]
            with mode():
                result = WRITES[name](t, a, b)
            results.append([a.tolist(), view.tolist(), result.requires_grad, a._version])
    assert results[2:] == results[:2]
