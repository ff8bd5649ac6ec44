"""Pooling kernels against NumPy's way, exactly where nothing is rounded differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_checks import refuse

from whygrad.backends import numpy_pool
from whygrad.kernels import host, pooling
from whygrad.kernels.pool import pool
from whygrad.ops.pool import Adaptive, Kind, Sliding

KIND = Kind("MaxPool2DWithIndices", 2)


def sliding(size: int, kernel: int, stride: int, padding: int = 0, dilation: int = 1, ceil: bool = False) -> Sliding:
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (room + (stride - 1) * ceil) // stride + 1
    return Sliding(size, kernel, stride, padding, dilation, out - (ceil and (out - 1) * stride >= size + padding))


EVEN = [
    (sliding(8, 2, 2), sliding(10, 2, 2)),
    (sliding(57, 2, 2), sliding(63, 2, 2)),
    (sliding(9, 3, 2, 1), sliding(40, 3, 2, 1)),
    (sliding(9, 3, 1, 1), sliding(21, 3, 1, 1)),
    (sliding(12, 3, 3), sliding(50, 3, 3)),
    (sliding(12, 5, 4, 2), sliding(31, 4, 3, 2)),
    (sliding(9, 3, 2, 1, ceil=True), sliding(10, 3, 2, 0, ceil=True)),
    (sliding(6, 2, 1), sliding(100, 7, 2, 3)),
    (sliding(1, 1, 1), sliding(33, 2, 2)),
    (sliding(7, 7, 7), sliding(7, 7, 7)),
    (sliding(33, 4, 2),),
    (Adaptive(12, 4), Adaptive(20, 5)),
    (Adaptive(9, 1), Adaptive(30, 1)),
]
DILATED = [(sliding(11, 3, 2, 1, 2), sliding(30, 3, 1, 2, 3)), (sliding(10, 2, 3, 0, 4), sliding(40, 3, 2, 2, 2))]
UNEVEN = [(Adaptive(10, 3), Adaptive(17, 5)), (Adaptive(5, 7), Adaptive(20, 5)), (sliding(8, 2, 2), Adaptive(17, 4))]


@pytest.fixture(autouse=True)
def shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little there is to do."""
    monkeypatch.setattr(pooling, "SERIAL_BELOW", 0)
    pooling.maxima_plan.cache_clear()
    pooling.means_plan.cache_clear()


def images(axes: Any, *before: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((*before, *[axis.size for axis in axes])).astype(np.float32)


def gradients(axes: Any, *before: int) -> Any:
    return np.random.default_rng(1).standard_normal((*before, *[axis.out for axis in axes])).astype(np.float32)


def for_all_threads(run: Any) -> Any:
    pool().set_threads(1)
    first = run()
    for count in (2, 3):
        pool().set_threads(count)
        for a, b in zip(first, run(), strict=True):
            np.testing.assert_array_equal(a, b)
    return first


@pytest.mark.parametrize("axes", EVEN + DILATED, ids=repr)
@pytest.mark.parametrize("bad", [None, np.nan, -np.inf, np.inf, 0.0])
def test_maxima(axes: Any, bad: float | None) -> None:
    x = images(axes, 3, 5)
    if bad is not None:
        x[np.random.default_rng(2).random(x.shape) < 0.3] = bad  # equal ones, too: the first counts, of NaN the last
        x[0, 0] = bad
    values, places = for_all_threads(lambda: pooling.max_pool(refuse)(x, axes=axes, kind=KIND))
    expected = numpy_pool.max_pool(x, axes=axes, kind=KIND)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(places, expected[1])
    assert places.dtype == np.int64
    np.testing.assert_array_equal(pooling.max_pool_values(refuse)(x, axes=axes), values)


@pytest.mark.parametrize("axes", EVEN + DILATED, ids=repr)
def test_maxima_back(axes: Any) -> None:
    x, g = images(axes, 3, 5), gradients(axes, 3, 5)
    kind = Kind("MaxPool", len(axes))
    places = numpy_pool.max_pool(x, axes=axes, kind=kind)[1]
    (result,) = for_all_threads(lambda: (pooling.pool_scatter(refuse)(g, places, shape=x.shape, kind=kind),))
    np.testing.assert_allclose(result, numpy_pool.pool_scatter(g, places, shape=x.shape, kind=kind), rtol=1e-6, atol=1e-6)


def test_a_place_outside_the_image_is_an_error() -> None:
    g, places = np.ones((1, 1, 2, 2), np.float32), np.full((1, 1, 2, 2), 40)
    with pytest.raises(IndexError):
        pooling.pool_scatter(numpy_pool.pool_scatter)(g, places, shape=(1, 1, 4, 4), kind=KIND)


@pytest.mark.parametrize("axes", EVEN + UNEVEN, ids=repr)
@pytest.mark.parametrize(("count_pad", "divisor"), [(True, None), (False, None), (True, 3)])
def test_means(axes: Any, count_pad: bool, divisor: int | None) -> None:
    statics = {"axes": axes, "count_pad": count_pad, "divisor": divisor, "kind": KIND}
    for name, x in (("avg_pool", images(axes, 3, 5)), ("avg_pool_backward", gradients(axes, 3, 5))):
        kernel = getattr(pooling, name)(refuse)
        (result,) = for_all_threads(lambda kernel=kernel, x=x: (kernel(x, **statics),))
        np.testing.assert_allclose(result, getattr(numpy_pool, name)(x, **statics), rtol=1e-5, atol=1e-6)


def test_a_bad_pixel_spoils_the_means_of_its_windows_only() -> None:
    axes = (sliding(9, 3, 2, 1), sliding(40, 3, 2, 1))
    x = images(axes, 2, 2)
    x[0, 0, 4, 20], x[1, 1, 0, 0] = np.inf, np.nan
    statics = {"axes": axes, "count_pad": True, "divisor": None, "kind": KIND}
    np.testing.assert_allclose(pooling.avg_pool(refuse)(x, **statics), numpy_pool.avg_pool(x, **statics), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("x", [
    images(EVEN[0], 2, 3).astype(np.float64), images(EVEN[0], 0, 3),
    np.moveaxis(np.moveaxis(images(EVEN[0], 2, 3), 1, -1).copy(), -1, 1),
], ids=["float64", "no images", "channels last"])
def test_what_is_left_to_numpy(x: Any) -> None:
    before = host.counted[1]
    result = pooling.max_pool(numpy_pool.max_pool)(x, axes=EVEN[0], kind=KIND)
    assert host.counted[1] == before + 1
    for a, b in zip(result, numpy_pool.max_pool(x, axes=EVEN[0], kind=KIND), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.strides == b.strides


def test_turned_images() -> None:
    x = images(EVEN[0], 2, 3)[..., ::-1]
    values, places = pooling.max_pool(refuse)(x, axes=EVEN[0], kind=KIND)
    expected = numpy_pool.max_pool(x, axes=EVEN[0], kind=KIND)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(places, expected[1])
