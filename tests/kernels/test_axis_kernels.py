"""Kernels that go along an axis or sample images, against the NumPy functions they stand for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_checks import numpy_function, parts, refuse

import whygrad
from whygrad.kernels import gather_scatter as elements
from whygrad.kernels import sampling, scans
from whygrad.kernels.pool import pool
from whygrad.kernels.registry import make
from whygrad.ops.resample import Sampling

rng = np.random.default_rng(0)
SHAPES = [(70,), (5, 40), (33, 7), (3, 9, 20), (2, 5, 3, 18), (4, 1, 6), (9, 33, 1)]
ALONG = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    for module in (elements, scans):
        monkeypatch.setattr(module, "MIN_SIZE", 0)
    for module in (elements, scans, sampling):
        monkeypatch.setattr(module, "SERIAL_BELOW", 64)
    for planned in (elements._plan, scans._plan, sampling._plan):
        planned.cache_clear()
    yield
    for planned in (elements._plan, scans._plan, sampling._plan):
        planned.cache_clear()


def compare(name, *arrays, rtol=1e-5, atol=1e-5, **statics):
    """With one thread and with two, which must not matter."""
    with np.errstate(all="ignore"):
        expected = parts(numpy_function(name)(*arrays, **statics))
    kernel, before, answers = make(name, refuse), pool().threads(), []
    try:
        for threads in (1, 2):
            pool().set_threads(threads)
            answers.append(parts(kernel(*arrays, **statics)))
    finally:
        pool().set_threads(before)
    for one, two, wanted in zip(*answers, expected, strict=True):
        assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(one, wanted, rtol=rtol, atol=atol)
        np.testing.assert_array_equal(one, two, err_msg="depends on the number of threads")


def numbers(shape, odd=False):
    x = rng.uniform(-1.5, 1.5, shape).astype("f4")
    if odd:
        x.flat[7], x.flat[11], x.flat[12], x.flat[20] = np.nan, np.inf, x.flat[13], -np.inf
    return x


@pytest.mark.parametrize(("shape", "axis"), ALONG)
def test_running(shape, axis):
    for x in (numbers(shape), numbers(shape, odd=True), numbers(shape[::-1]).T):
        for name in ("cummax", "cummin", "cumprod"):
            compare(name, x, axis=axis)
        for name, reverse in itertools.product(("cumsum", "product_before"), (False, True)):
            compare(name, x, axis=axis, reverse=reverse)
    for reverse in (False, True):
        compare("scan", numbers(shape) * 0.6, numbers(shape), axis=axis, reverse=reverse)


@pytest.mark.parametrize(("shape", "axis"), ALONG)
@pytest.mark.parametrize("count", [1, 6, 50])
@pytest.mark.parametrize("fewer", [False, True])
def test_elements(shape, axis, count, fewer):
    x = numbers(shape, odd=True)
    wanted = [*shape[:axis], count, *shape[axis + 1:]]
    if fewer:  # on the first axis and after the one of the numbers
        for other in {0, axis + 1} - {axis, len(shape)}:
            wanted[other] = -(-wanted[other] // 2)
    index = rng.integers(0, shape[axis], tuple(wanted))
    compare("gather", x, index, axis=axis, rtol=0, atol=0)
    compare("gather", x, np.asfortranarray(index), axis=axis, rtol=0, atol=0)
    sources = numbers(wanted), np.broadcast_to(np.float32(2), wanted), 3.0
    for how, source in itertools.product(("set", "add", "multiply"), sources):
        target = numbers(shape)
        expected = target.copy()
        if how == "set":
            np.put_along_axis(expected[tuple([slice(None) if i == axis else slice(n) for i, n in enumerate(wanted)])], index,
                              source, axis)
        else:
            places = list(np.indices(wanted))
            places[axis] = index
            {"add": np.add, "multiply": np.multiply}[how].at(expected, tuple(places), source)
        assert elements.put(target, index, source, axis, how)
        np.testing.assert_array_equal(target, expected)


def test_what_elements_leave_to_numpy():
    x, index = numbers((6, 8)), rng.integers(0, 6, (4, 8))
    told = make("gather", lambda *args, **statics: "numpy")
    assert told(numbers((2, 6, 8)), rng.integers(0, 8, (2, 4, 8)), axis=2) == "numpy"  # fewer in the middle
    assert told(x, rng.integers(0, 6, (4, 9)), axis=0) == "numpy"  # more columns than there are
    assert told(x.astype("f8"), index, axis=0) == told(x.T, index.T, axis=1) == told(x, index + 6, axis=0) == "numpy"
    assert not elements.put(x[:, ::2], index[:, ::2], 1.0, 0, "set")
    assert not elements.put(x, index[:4], x[:4], 0, "add")  # one array
    with pytest.raises(IndexError):
        elements.put(x, index - 7, 1.0, 0, "set")


@pytest.mark.parametrize(("low", "high", "size"), [(0, 5, 5), (0, 6, 5), (-1, 5, 5), (0, 1, 1)])
@pytest.mark.parametrize("kind", ["i8", "i4"])
def test_within(low, high, size, kind):
    index = rng.integers(low, high, 77).astype(kind)
    index[40], index[76] = low, high - 1
    assert elements.within()(index, size) == (low >= 0 and high <= size)
    index[:] = 0
    index[63] = 2 ** 62 if kind == "i8" else 2 ** 30
    assert not elements.within()(index, size)


def test_errors_of_large_indices_are_torchs():
    x, index = whygrad.randn(100, 100), whygrad.zeros(100, 100, dtype=whygrad.long)
    index[3, 4] = 100
    for call in (lambda: x.gather(1, index), lambda: x.scatter(1, index, 0.0), lambda: x.scatter_add(1, index, x)):
        with pytest.raises(RuntimeError, match="index 100 is out of bounds for dimension 1 with size 100"):
            call()


@pytest.mark.parametrize("shape", [(2, 3, 7, 9), (1, 1, 1, 1), (3, 2, 1, 5), (1, 9, 4, 4)])
@pytest.mark.parametrize(("align_corners", "padding_mode"), [*itertools.product((False, True), ("zeros", "border"))])
def test_sampling(shape, align_corners, padding_mode):
    settings = Sampling("bilinear", padding_mode, align_corners)
    x, grid = numbers(shape), rng.standard_normal((shape[0], 6, 11, 2)).astype("f4")
    grid[0, 0, 0], grid[0, 0, 1], grid[0, 1, 1], grid[0, 1, 2] = (-1, 1), 0, np.nan, 1e9
    if padding_mode == "zeros":
        x.flat[0] = np.inf  # counts nowhere else
    for order in itertools.product((0, 1), repeat=2):
        compare("grid_sampler", x, grid, order=order, sampling=settings)
        compare("grid_sampler_backward", numbers((*shape[:2], 6, 11)), grid, shape=shape, order=order, sampling=settings)
    compare("grid_sampler", x, grid, order=((0, 0), (1, 0), (0, 1)), sampling=settings)
    compare("grid_sampler_backward", numbers((*shape[:2], 2, 6, 11)), grid, shape=shape, order=((0, 1), (1, 0)),
            sampling=settings)
    told = make("grid_sampler", lambda *args, **statics: "numpy")
    assert told(x, grid, order=(0, 0), sampling=settings._replace(mode="bicubic")) == "numpy"
    assert told(x, grid, order=(2, 0), sampling=settings) == "numpy"
    assert told(x, grid.astype("f8"), order=(0, 0), sampling=settings) == "numpy"


@pytest.mark.parametrize(("shape", "axis"), ALONG)
def test_largest(shape, axis):
    for x in (numbers(shape), np.round(numbers(shape) * 2) / 2, numbers(shape[::-1]).T, np.sort(numbers(shape), axis)):
        for k, largest in itertools.product({1, 2, min(20, shape[axis]), shape[axis]}, (True, False)):
            if k > min(shape[axis], 64):
                continue
            values, index = make("topk", refuse)(x, k=k, axis=axis, largest=largest)
            ordered = np.argsort(-x if largest else x, axis, "stable").take(range(k), axis)
            np.testing.assert_array_equal(index, ordered)
            np.testing.assert_array_equal(values, np.take_along_axis(x, ordered, axis))


def test_largest_with_nan_is_left_to_numpy():
    told = make("topk", lambda *args, **statics: "numpy")
    for place in (0, 20, 69):
        x = numbers((70,))
        x[place] = np.nan
        assert told(x, k=3, axis=0, largest=True) == told(x, k=3, axis=0, largest=False) == "numpy"
    assert told(numbers((70,)), k=65, axis=0, largest=True) == "numpy"
