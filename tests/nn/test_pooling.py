"""Pooling against torch: values, places, derivatives of first and second order, modules, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from images import check_module, f, f32, rng, same_outcome
from oracle import assert_same, check

import whygrad

SIZES = {1: (9,), 2: (7, 9), 3: (5, 6, 7)}
# kernel, stride, padding, dilation, ceil_mode
WINDOWS = [(2, None, 0, 1, False), (3, 2, 1, 1, False), (3, 2, 1, 1, True), (2, 3, 0, 2, True), (3, 1, 1, 1, False),
           (2, 2, 1, 1, True), (4, 3, 2, 1, False)]


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool(dims: int, window: tuple[Any, ...]) -> None:
    name = f"max_pool{dims}d"
    for shape in ((2, 3, *SIZES[dims]), (3, *SIZES[dims])):
        check(lambda m, x: getattr(m.nn.functional, name)(x, *window, return_indices=True), [f(*shape)])
        check(lambda m, x: getattr(m.nn.functional, name)(x, *window), [f(*shape)])
        check(lambda m, x: getattr(m.nn.functional, name)(x.detach(), *window), [f(*shape)])
    # Of several equal maxima the first one gets the gradient.
    equal = np.round(f(2, 3, *SIZES[dims]))
    check(lambda m, x: getattr(m.nn.functional, name)(x, *window, return_indices=True), [equal], order=1)


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool_of_what_is_not_finite(dims: int, window: tuple[Any, ...]) -> None:
    x = f(2, 3, *SIZES[dims])
    x[rng.random(x.shape) < 0.2] = np.nan
    x[rng.random(x.shape) < 0.5] = -np.inf
    x[0, 0] = -np.inf
    name = f"max_pool{dims}d"
    check(lambda m, t: getattr(m.nn.functional, name)(t.detach(), *window, return_indices=True), [x])
    check(lambda m, t: getattr(m.nn.functional, name)(t.detach(), *window), [x])


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("window", [w for w in WINDOWS if w[3] == 1])
@pytest.mark.parametrize("count_include_pad", [True, False])
def test_avg_pool(dims: int, window: tuple[Any, ...], count_include_pad: bool) -> None:
    kernel, stride, padding, _, ceil_mode = window
    for divisor in ((None, 5) if dims > 1 else (None,)):
        rest = (divisor,) if dims > 1 else ()
        check(lambda m, x: getattr(m.nn.functional, f"avg_pool{dims}d")(x, kernel, stride, padding, ceil_mode, count_include_pad,
                                                                        *rest), [f(2, 3, *SIZES[dims])])


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 20])
def test_adaptive(dims: int, size: int) -> None:
    for shape in ((2, 3, *SIZES[dims]), (3, *SIZES[dims])):
        check(lambda m, x: getattr(m.nn.functional, f"adaptive_avg_pool{dims}d")(x, size), [f(*shape)])
        for places in (True, False):
            check(lambda m, x: getattr(m.nn.functional, f"adaptive_max_pool{dims}d")(x, size, return_indices=places), [f(*shape)])
    broken = f(2, 3, *SIZES[dims])
    broken[rng.random(broken.shape) < 0.3] = np.nan
    check(lambda m, x: getattr(m.nn.functional, f"adaptive_max_pool{dims}d")(x.detach(), size, True), [broken])


@pytest.mark.parametrize("size", [(None, 3), (4, None), (1, 1), (1, 2)])
def test_adaptive_size_of_the_input(size: Any) -> None:
    for name in ("adaptive_avg_pool2d", "adaptive_max_pool2d"):
        check(lambda m, x: getattr(m.nn.functional, name)(x, size), [f(2, 3, 7, 9)])


@pytest.mark.parametrize("dims", SIZES)
@pytest.mark.parametrize("p", [1, 2, 3.0, float("inf"), -float("inf")])
def test_lp_pool(dims: int, p: float) -> None:
    check(lambda m, x: getattr(m.nn.functional, f"lp_pool{dims}d")(x, p, 2, 3, True), [abs(f(2, 3, *SIZES[dims])) + 0.1])
    check(lambda m, x: getattr(m.nn.functional, f"lp_pool{dims}d")(x, p, (2,) * dims if dims > 1 else 2),
          [abs(f(2, 3, *SIZES[dims])) + 0.1])


@pytest.mark.parametrize("dims", SIZES)
def test_unpool(dims: int) -> None:
    def there_and_back(m: Any, x: Any) -> Any:
        values, places = getattr(m.nn.functional, f"max_pool{dims}d")(x, 2, return_indices=True)
        return getattr(m.nn.functional, f"max_unpool{dims}d")(values * values, places, 2, output_size=x.shape)

    check(there_and_back, [f(2, 3, *SIZES[dims])])
    places = np.zeros((2, 3, *(2,) * dims), np.int64)
    check(lambda m, x, i: getattr(m.nn.functional, f"max_unpool{dims}d")(x, i, 2), [f(*places.shape), places])


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fractional(dims: int, dtype: Any) -> None:
    name = f"fractional_max_pool{dims}d"
    samples = np.linspace(0.1, 0.9, 6 * dims).reshape(2, 3, dims).astype(dtype)

    def seeded(m: Any, x: Any) -> Any:
        m.manual_seed(1)
        return getattr(m.nn.functional, name)(x, 2, output_ratio=(0.5,) * dims)

    x = f(2, 3, *SIZES[dims]).astype(dtype)
    check(seeded, [x])
    check(seeded, [x[0]])
    for size in (1, 3):
        check(lambda m, t: getattr(m.nn.functional, name)(t, 2, size, return_indices=True, _random_samples=m.from_numpy(samples)),
              [x])


def test_dtypes() -> None:
    for dtype in (np.float16, np.float32, np.int64, np.int32, np.uint8):
        x = (4 * f(2, 3, 7, 8)).astype(np.int64).astype(dtype)
        check(lambda m, t: m.nn.functional.max_pool2d(t, 3, 2, 1), [x], order=1)
        if dtype not in (np.int32, np.uint8):
            check(lambda m, t: m.nn.functional.avg_pool2d(t, 3, 2, 1), [x], order=1)
    check(lambda m, t: m.nn.functional.avg_pool2d(t, 2), [-np.arange(16).reshape(1, 4, 4)])


def test_layouts() -> None:
    for name in ("max_pool2d", "avg_pool2d"):
        check(lambda m, x: getattr(m.nn.functional, name)(x.transpose(2, 3), 2), [f(2, 3, 7, 8)])
        check(lambda m, x: getattr(m.nn.functional, name)(x[:, :, ::2], 2), [f(2, 3, 8, 8)])


def test_the_result_of_max_pool_may_be_changed() -> None:
    """What is remembered for the gradient are the places, not the values."""
    check(lambda m, x: m.nn.functional.max_pool2d(x * 1, 2).mul_(2), [f(1, 1, 4, 4)], check_node=True)


MODULES: dict[str, tuple[np.ndarray, ...]] = {
    "MaxPool1d(2)": (f32(2, 4, 9),),
    "MaxPool2d(3, 2, 1, ceil_mode=True)": (f32(2, 4, 8, 8),),
    "MaxPool2d((2, 3), stride=(1, 2), padding=(0, 1), dilation=(2, 1), return_indices=True)": (f32(2, 4, 8, 8),),
    "MaxPool3d(2)": (f32(2, 4, 4, 5, 6),),
    "AvgPool1d(3, 2, 1, True, False)": (f32(2, 4, 9),),
    "AvgPool2d((2, 3), padding=1, count_include_pad=False)": (f32(2, 4, 8, 8),),
    "AvgPool2d(2, divisor_override=3)": (f32(4, 8, 8),),
    "AvgPool3d(2, 1)": (f32(2, 4, 4, 5, 6),),
    "AdaptiveAvgPool1d(3)": (f32(2, 4, 9),),
    "AdaptiveAvgPool2d((None, 3))": (f32(2, 4, 8, 8),),
    "AdaptiveAvgPool2d(1)": (f32(2, 4, 8, 8),),
    "AdaptiveAvgPool3d((2, 1, 3))": (f32(2, 4, 4, 5, 6),),
    "AdaptiveMaxPool1d(3)": (f32(2, 4, 9),),
    "AdaptiveMaxPool2d((3, 2), return_indices=True)": (f32(2, 4, 8, 8),),
    "AdaptiveMaxPool3d(2)": (f32(2, 4, 4, 5, 6),),
    "LPPool1d(2, 3)": (abs(f32(2, 4, 9)) + 1,),
    "LPPool2d(2, (3, 2), stride=2)": (abs(f32(2, 4, 8, 8)) + 1,),
    "LPPool3d(3, 2, ceil_mode=True)": (abs(f32(2, 4, 4, 5, 6)) + 1,),
    "MaxUnpool1d(2)": (f32(1, 1, 3), np.array([[[0, 2, 5]]])),
    "MaxUnpool2d((2, 3), stride=2, padding=(0, 1))": (f32(1, 1, 2, 2), np.array([[[[0, 2], [5, 7]]]])),
    "MaxUnpool3d(2)": (f32(1, 1, 1, 1, 2), np.array([[[[[0, 9]]]]])),
    "FractionalMaxPool2d(2, output_size=4)": (f32(2, 4, 8, 8),),
    "FractionalMaxPool2d(2, output_ratio=(0.4, 0.5), return_indices=True)": (f32(2, 4, 8, 8),),
    "FractionalMaxPool3d(2, output_ratio=0.5)": (f32(2, 4, 4, 5, 6),),
    "ConstantPad1d(2, 3.5)": (f32(2, 4, 9),),
    "ConstantPad2d((1, -2, 3, 0), 3.5)": (f32(2, 4, 8, 8),),
    "ConstantPad3d(1, 3.5)": (f32(2, 4, 4, 5, 6),),
    "ZeroPad1d((1, 2))": (f32(2, 4, 9),),
    "ZeroPad2d(2)": (f32(2, 4, 8, 8),),
    "ZeroPad3d(1)": (f32(2, 4, 4, 5, 6),),
    "ReflectionPad1d((1, 2))": (f32(2, 4, 9),),
    "ReflectionPad2d(2)": (f32(2, 4, 8, 8),),
    "ReflectionPad3d(1)": (f32(2, 4, 4, 5, 6),),
    "ReplicationPad1d((1, 2))": (f32(4, 9),),
    "ReplicationPad2d((2, 1, 0, 3))": (f32(2, 4, 8, 8),),
    "ReplicationPad3d(1)": (f32(2, 4, 4, 5, 6),),
    "CircularPad1d((1, 2))": (f32(2, 4, 9),),
    "CircularPad2d(2)": (f32(4, 8, 8),),
    "CircularPad3d(1)": (f32(2, 4, 4, 5, 6),),
}


@pytest.mark.parametrize("constructor", MODULES)
def test_module(constructor: str) -> None:
    check_module(constructor, *MODULES[constructor])


def test_with_indices() -> None:
    for name, args in (("max_pool2d", (2,)), ("adaptive_max_pool2d", (3,)), ("fractional_max_pool2d", (2, 3))):
        check(lambda m, x: (m.manual_seed(0), getattr(m.nn.functional, f"{name}_with_indices")(x, *args))[1], [f(2, 3, 7, 9)])


def test_torch_names() -> None:
    for name in ("max_pool1d", "max_pool1d_with_indices", "avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d"):
        x = f32(2, 3, 8)
        assert_same(getattr(torch, name)(torch.from_numpy(x), 2), getattr(whygrad, name)(whygrad.from_numpy(x), 2))


ERRORS = """
F.max_pool2d(x, 9)
F.max_pool2d(x, 0)
F.max_pool2d(x, 2, 0)
F.max_pool2d(x, 2, -1)
F.max_pool2d(x, 2, 2, 2)
F.max_pool2d(x, 3, 2, 1)
F.max_pool2d(x, 2, 2, -1)
F.max_pool2d(x, 2, dilation=0)
F.max_pool2d(x, (2, 2, 2))
F.max_pool2d(x, 2, (2, 2, 2))
F.max_pool2d(x, 2, 2, (1, 1, 1))
F.max_pool2d(x, 2, 2, 0, (1, 1, 1))
F.max_pool2d(x, (2,))
F.max_pool2d(x, [2, 3])
F.max_pool2d(x1[0], 2)
F.max_pool2d(x3, 2)
F.max_pool2d(x.long(), 2)
F.max_pool2d(x.bool(), 2)
F.max_pool2d(x.to(m.complex64), 2)
F.max_pool2d(x, 2.5)
F.max_pool2d(x, 'a')
F.max_pool2d(3, 2)
F.max_pool2d(x, 2, stride=[])
F.max_pool2d(o(0, 4, 8, 8), 2)
F.max_pool2d(o(2, 0, 8, 8), 2)
F.max_pool2d(o(2, 3, 0, 8), 2)
F.max_pool2d(x.to(memory_format=m.channels_last), 2)
F.max_pool1d(x, 2)
F.max_pool1d(x1[0][0], 2)
F.max_pool1d(x1, 9)
F.max_pool1d(x1.detach(), 9)
F.max_pool1d(x1, 2, 0)
F.max_pool1d(x1, 2, 2, 2)
F.max_pool1d(x1, 2, 2, -1)
F.max_pool1d(x1, (2, 2))
F.max_pool1d(x1, 0)
F.max_pool1d(x1, 2, dilation=0)
F.max_pool1d(x1.detach().long(), 2)
F.max_pool3d(x, 2)
F.max_pool3d(x1, 2)
F.max_pool3d(x3, 5)
F.max_pool3d(x3, 0)
F.max_pool3d(x3, 2, 2, 2)
F.avg_pool2d(x, 9)
F.avg_pool2d(x, 0)
F.avg_pool2d(x, 2, 0)
F.avg_pool2d(x, 2, 2, 2)
F.avg_pool2d(x, 2, 2, -1)
F.avg_pool2d(x, 2, divisor_override=0)
F.avg_pool2d(x, (2, 2, 2))
F.avg_pool2d(x, 2, (2, 2, 2))
F.avg_pool2d(x, 2, 2, (1, 1, 1))
F.avg_pool2d(x1[0], 2)
F.avg_pool2d(x3, 2)
F.avg_pool2d(x.bool(), 2)
F.avg_pool2d(x.int(), 2)
F.avg_pool2d(o(0, 4, 8, 8), 2)
F.avg_pool2d(x, 'a')
F.avg_pool2d(x.to(memory_format=m.channels_last), 2)
F.avg_pool1d(x, 2)
F.avg_pool1d(x1[0][0], 2)
F.avg_pool1d(x1, 9)
F.avg_pool1d(x1, 0)
F.avg_pool1d(x1, 2, 2, 2)
F.avg_pool1d(x1, (2, 2))
F.avg_pool1d(x1, 'a')
F.avg_pool3d(x, 2)
F.avg_pool3d(x1, 2)
F.avg_pool3d(x3, 5)
F.avg_pool3d(x3, 2, 2, 2)
F.avg_pool3d(x3, 2, divisor_override=0)
F.adaptive_avg_pool1d(x, 2)
F.adaptive_avg_pool1d(x1[0][0], 2)
F.adaptive_avg_pool1d(x1, (2, 2))
F.adaptive_avg_pool1d(x1, -1)
F.adaptive_avg_pool1d(x1.long(), 2)
F.adaptive_avg_pool1d(x1, None)
F.adaptive_avg_pool2d(x1[0], 2)
F.adaptive_avg_pool2d(x3, 2)
F.adaptive_avg_pool2d(x, (2,))
F.adaptive_avg_pool2d(x, (2, 2, 2))
F.adaptive_avg_pool2d(x, -1)
F.adaptive_avg_pool2d(x.long(), 2)
F.adaptive_avg_pool2d(x.long(), 1)
F.adaptive_avg_pool2d(o(2, 3, 0, 4), 2)
F.adaptive_avg_pool2d(o(0, 3, 4, 4), 2)
F.adaptive_avg_pool3d(x1, 2)
F.adaptive_avg_pool3d(x3, (2, 2))
F.adaptive_avg_pool3d(x3, -1)
F.adaptive_avg_pool3d(x3.long(), 2)
F.adaptive_max_pool1d(x, 2)
F.adaptive_max_pool1d(x1, (2, 2))
F.adaptive_max_pool1d(x1, -1)
F.adaptive_max_pool1d(x1.long(), 2)
F.adaptive_max_pool1d(x1, (None,))
F.adaptive_max_pool2d(x1[0], 2)
F.adaptive_max_pool2d(x3, 2)
F.adaptive_max_pool2d(x, (2,))
F.adaptive_max_pool2d(x, -1)
F.adaptive_max_pool2d(x, (None, 3))
F.adaptive_max_pool2d(o(2, 3, 0, 4), 2)
F.adaptive_max_pool2d(o(2, 0, 4, 4), 2)
F.adaptive_max_pool3d(x1, 2)
F.adaptive_max_pool3d(x3.long(), 2)
F.max_unpool2d(x, m.zeros(2, 4, 8, 8, dtype=m.int32), 2)
F.max_unpool2d(x, m.zeros(2, 4, 8, 7, dtype=m.int64), 2)
F.max_unpool2d(x, m.full((2, 4, 8, 8), 10000), 2)
F.max_unpool2d(x, m.full((2, 4, 8, 8), -1), 2)
F.max_unpool2d(x, m.zeros(2, 4, 8, 8, dtype=m.int64), 2, output_size=(30, 30))
F.max_unpool2d(x, m.zeros(2, 4, 8, 8, dtype=m.int64), 2, output_size=(3,))
F.max_unpool2d(x, m.zeros(2, 4, 8, 8, dtype=m.int64), 2, output_size=(2, 4, 17, 17))
F.max_unpool2d(x1[0], m.zeros(4, 8, dtype=m.int64), 2)
F.max_unpool1d(x1, m.full((2, 4, 8), 99), 2)
F.max_unpool3d(x3, m.full((2, 4, 4, 4, 4), 9999), 2)
F.max_unpool3d(x1, m.zeros(2, 4, 8, dtype=m.int64), 2)
F.max_unpool3d(x3, m.zeros((2, 4, 4, 4, 4)), 2)
F.lp_pool1d(x1, 0, 2)
F.lp_pool2d(x.long(), 2, 2)
F.fractional_max_pool2d(x, 2)
F.fractional_max_pool2d(x, 2, 4, 0.5)
F.fractional_max_pool2d(x, 2, output_ratio=0.5)
F.fractional_max_pool2d(x, 9, 4)
F.fractional_max_pool2d(x, 2, 8)
F.fractional_max_pool2d(x1[0], 2, 4)
F.fractional_max_pool2d(x, 2, 4, _random_samples=o(2, 4, 3))
F.fractional_max_pool2d(x, 2, 4, _random_samples=o(2, 3, 2))
F.fractional_max_pool2d(x, 2, 4, _random_samples=o(1, 4, 2))
F.fractional_max_pool2d(x, 2, 4, _random_samples=o(2, 4))
F.fractional_max_pool3d(x3, 2, 8)
F.fractional_max_pool2d(x, (2,), 4)
F.fractional_max_pool2d(x, 2, (4, 4, 4))
F.fractional_max_pool3d(x3, (2, 2), 2)
F.fractional_max_pool3d(x3, 2, (2, 2))
F.fractional_max_pool2d(x, 2, (0, 3))
F.fractional_max_pool3d(x3, 2, (2, 0, 1))
F.max_unpool2d(x.contiguous(memory_format=m.channels_last), m.arange(64).expand(2, 4, 64).reshape(2, 4, 8, 8), 2)
F.max_unpool3d(x3.contiguous(memory_format=m.channels_last_3d), m.arange(64).expand(2, 4, 64).reshape(2, 4, 4, 4, 4), 2)
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 2, 0.5)
nn.FractionalMaxPool2d(2, output_ratio=1.5)
nn.FractionalMaxPool3d(0, 2)
nn.FractionalMaxPool3d((1, 2, 0), 2)
nn.CircularPad1d(2)(x3)
nn.CircularPad2d(9)(x)
nn.ReflectionPad2d(9)(x)
nn.MaxPool2d(2)(x1[0])
""".strip().split("\n")


@pytest.mark.parametrize("expression", ERRORS)
def test_outcome(expression: str) -> None:
    same_outcome(expression)
