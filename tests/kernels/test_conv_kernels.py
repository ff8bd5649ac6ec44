"""Convolution kernels against NumPy's way in float64, and against themselves with other numbers of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from kernel_checks import refuse

from whygrad.backends import numpy_conv
from whygrad.kernels import conv, conv_direct, conv_plan, host, reduce, winograd
from whygrad.kernels.pool import pool
from whygrad.ops.conv import Window


class Case(NamedTuple):
    x: tuple[int, ...]
    weight: tuple[int, ...]  # (filters, channels of a group, *kernel)
    stride: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    dilation: int | tuple[int, ...] = 1
    groups: int = 1

    def window(self) -> Window:
        dims = len(self.x) - 2
        return Window(*[n if isinstance(n, tuple) else (n,) * dims for n in (self.stride, self.padding, self.dilation)],
                      self.groups)


CASES = [
    Case((2, 3, 8, 9), (5, 3, 3, 3), padding=1),
    Case((2, 1, 28, 28), (16, 1, 3, 3), padding=1),
    Case((3, 4, 11, 13), (6, 2, 3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2),
    Case((2, 8, 12, 12), (8, 1, 3, 3), padding=1, groups=8),
    Case((2, 4, 9, 9), (8, 1, 3, 3), padding=2, dilation=2, groups=4),
    Case((1, 3, 30, 31), (7, 3, 7, 7), stride=2, padding=3),
    Case((5, 6, 7, 7), (10, 6, 1, 1)),
    Case((5, 6, 7, 7), (11, 6, 1, 1), stride=2),
    Case((3, 1, 9, 9), (5, 1, 1, 1)),
    Case((2, 4, 20, 20), (4, 1, 1, 1), groups=4),
    Case((1, 2, 20, 50), (3, 2, 5, 5), stride=(3, 4), padding=2, dilation=(2, 1)),
    Case((2, 2, 40, 70), (3, 2, 3, 3), stride=(5, 3), padding=(0, 4)),
    Case((17, 4, 5, 4), (9, 4, 2, 2)),
    Case((2, 3, 3, 3), (4, 3, 3, 3)),
    Case((1, 2, 1, 40), (2, 2, 1, 9), padding=(0, 4)),
    Case((3, 5, 40), (7, 5, 4), stride=2, padding=1),
    Case((3, 5, 17), (1, 5, 3), padding=2, dilation=2),
    Case((2, 6, 6, 6), (13, 6, 6, 6)),
    Case((1, 300, 4, 4), (3, 300, 3, 3), padding=1),
    # These are done by Winograd's way.
    Case((4, 16, 28, 28), (16, 16, 3, 3), padding=1),
    Case((3, 9, 7, 5), (11, 9, 3, 3), padding=1),
    Case((2, 8, 6, 6), (8, 8, 3, 3)),
    Case((1, 20, 15, 33), (40, 20, 3, 3), padding=(0, 2)),
    Case((19, 8, 4, 4), (24, 8, 3, 3), padding=1),
    Case((2, 32, 9, 9), (16, 16, 3, 3), padding=1, groups=2),
    Case((2, 8, 3, 3), (9, 8, 3, 3)),
]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def arrays(case: Case) -> tuple[Any, Any, Any, Any]:
    x, weight, bias = numbers(*case.x), numbers(*case.weight, seed=1), numbers(case.weight[0], seed=2)
    size = numpy_conv.output_size(case.x[2:], case.weight[2:], case.window())
    return x, weight, bias, numbers(case.x[0], case.weight[0], *size, seed=3)


def ways(case: Case) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    x, weight, bias, g = arrays(case)
    window = case.window()
    return {
        "convolution": (conv.convolution, (x, weight, bias), {"window": window}),
        "convolution_transpose": (conv.convolution_transpose, (g, weight, None), {"size": case.x[2:], "window": window}),
        "convolution_weight": (conv.convolution_weight, (g, x), {"size": case.weight[2:], "window": window}),
    }


def exact(name: str, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    return getattr(numpy_conv, name)(*[x if x is None else x.astype(np.float64) for x in inputs], **statics)


def check(result: Any, expected: Any) -> None:
    assert result.dtype == np.float32
    assert result.shape == expected.shape
    assert result.flags.c_contiguous
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["convolution", "convolution_transpose", "convolution_weight"])
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_like_numpy_whatever_the_threads(case: Case, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_plan, "SERIAL_WORK", 0)
    maker, inputs, statics = ways(case)[name]
    kernel = maker(refuse)
    pool().set_threads(1)
    result = kernel(*inputs, **statics)
    check(result, exact(name, inputs, statics))
    for count in (2, 3):
        pool().set_threads(count)
        np.testing.assert_array_equal(kernel(*inputs, **statics), result)


@pytest.mark.parametrize("case", [case for case in CASES if case.x[0] > 2], ids=repr)
def test_workspace_is_enough(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conv_plan, "SERIAL_WORK", 0)
    memory = np.full(1 << 24, 7, np.float32)

    def workspace(plan: Any) -> Any:
        return memory[:int(plan[1] + plan[0] * pool().threads())]

    for module in (conv_direct, winograd):
        monkeypatch.setattr(module, "workspace", workspace)
    for name, (maker, inputs, statics) in ways(case).items():
        for count in (1, 2, 3):
            pool().set_threads(count)
            check(maker(refuse)(*inputs, **statics), exact(name, inputs, statics))
    largest = memory.size - np.argmax(memory[::-1] != 7)
    assert largest < memory.size / 2
    wanted = [run.plan for run in plans(case)]
    assert largest <= max([int(plan[1] + plan[0] * 3) for plan in wanted])


def plans(case: Case) -> list[Any]:
    x, weight, _, g = arrays(case)
    window = case.window()
    return [conv.forward_plan(x.shape, weight.shape, window, None)[0],
            conv.weight_plan(g.shape, x.shape, window, weight.shape[2:])[0],
            *conv.transposed_plan(g.shape, weight.shape, window, x.shape[2:])[0]]


def test_result_of_another_size() -> None:
    """Second derivatives ask for fewer pixels than the kernel can reach."""
    x, weight = numbers(2, 3, 9, 9), numbers(4, 3, 3, 3)
    statics = {"window": Window((2, 2), (1, 1), (1, 1), 1), "size": (4, 5)}
    check(conv.convolution(refuse)(x, weight, None, **statics), exact("convolution", (x, weight, None), statics))


def test_output_padding() -> None:
    y, weight, bias = numbers(2, 3, 4, 5), numbers(3, 2, 3, 3), numbers(2)
    statics = {"size": (9, 10), "window": Window((2, 2), (1, 1), (1, 1), 1)}
    result = conv.convolution_transpose(refuse)(y, weight, bias, **statics)
    check(result, exact("convolution_transpose", (y, weight, bias), statics))


def test_gradients_that_are_expanded_or_turned() -> None:
    case = CASES[0]
    x, weight, bias, g = arrays(case)
    window = case.window()
    unaligned = np.frombuffer(b"." + g.tobytes(), np.uint8)[1:].view(np.float32).reshape(g.shape)
    for turned in (np.broadcast_to(np.float32(1), g.shape), numbers(*g.shape[::-1]).T, g[:, :, ::-1], unaligned):
        check(conv.convolution_weight(refuse)(turned, x, size=(3, 3), window=window),
              exact("convolution_weight", (turned, x), {"size": (3, 3), "window": window}))
    check(conv.convolution(refuse)(x[:, :, ::-1], weight[::-1], bias[::-1], window=window),
          exact("convolution", (x[:, :, ::-1], weight[::-1], bias[::-1]), {"window": window}))


@pytest.mark.parametrize("x", [
    numbers(2, 3, 8, 9).astype(np.float64), numbers(0, 3, 8, 9), numbers(2, 3, 4, 4, 4),
    np.moveaxis(numbers(2, 8, 9, 3), -1, 1),
], ids=["float64", "no images", "three axes", "channels last"])
def test_what_is_left_to_numpy(x: Any) -> None:
    weight = numbers(4, 3, *(3,) * (x.ndim - 2)).astype(x.dtype)
    window = Case(x.shape, weight.shape, padding=1).window()
    before = host.counted[1]
    result = conv.convolution(numpy_conv.convolution)(x, weight, None, window=window)
    assert host.counted[1] == before + 1
    np.testing.assert_array_equal(result, numpy_conv.convolution(x, weight, None, window=window))


@pytest.mark.parametrize("channels", [3, 8], ids=["by definition", "Winograd"])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 1e38])
def test_only_pixels_near_a_bad_one_are_bad(channels: int, bad: float) -> None:
    x, weight = np.ones((2, channels, 12, 12), np.float32), np.full((8, channels, 3, 3), 0.5, np.float32)
    x[1, 1, 5, 6] = bad
    window = Window((1, 1), (1, 1), (1, 1), 1)
    result = conv.convolution(refuse)(x, weight, None, window=window)
    np.testing.assert_allclose(result, exact("convolution", (x, weight, None), {"window": window}), rtol=1e-5)
    back = conv.convolution_transpose(refuse)(np.tile(x[:, :1], (1, 8, 1, 1)), weight, None, size=(12, 12), window=window)
    assert np.isfinite(back[0]).all()
    assert np.isfinite(back[1, :, :2]).all()


@pytest.mark.parametrize("channels", [3, 8], ids=["by definition", "Winograd"])
def test_a_bad_gradient_spoils_its_filter_only(channels: int) -> None:
    x, g = numbers(2, channels, 12, 12), numbers(2, 8, 12, 12)
    g[0, 2, 4, 4] = np.inf
    result = conv.convolution_weight(refuse)(g, x, size=(3, 3), window=Window((1, 1), (1, 1), (1, 1), 1))
    assert not np.isfinite(result[2]).any()
    assert np.isfinite(np.delete(result, 2, axis=0)).all()


def test_errors_are_like_torch() -> None:
    torch = pytest.importorskip("torch")
    x, weight = numbers(4, 64, 28, 28), numbers(64, 64, 3, 3)
    window = Window((1, 1), (1, 1), (1, 1), 1)
    expected = exact("convolution", (x, weight, None), {"window": window})
    ours = np.abs(conv.convolution(refuse)(x, weight, None, window=window) - expected).max()
    theirs = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(weight), padding=1).numpy()
    assert ours <= 2 * np.abs(theirs - expected).max()


@pytest.mark.parametrize("shape", [(4, 16, 28, 28), (11, 3, 50, 7), (2, 3, 3000)])
def test_sums_of_channels(shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    axis = (0, *range(2, x.ndim))
    result = reduce.sum(refuse)(x, axis=axis, keepdims=False)
    np.testing.assert_allclose(result, x.astype(np.float64).sum(axis), rtol=1e-5, atol=1e-4)
