"""Convolutions against torch: values, derivatives of first and second order, modules, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from images import check_module, f, f32, names, same_outcome
from oracle import assert_same, check, pair

import whygrad
from whygrad.backends import numpy_conv

# (input without batch and channels, in, out, kernel, stride, padding, dilation, groups)
CASES: list[tuple[Any, ...]] = [
    ((9,), 2, 3, (3,), 1, 0, 1, 1), ((9,), 2, 3, (3,), 2, 1, 2, 1), ((5,), 3, 3, (2,), 1, 4, 1, 1),
    ((7,), 4, 4, (3,), 1, 1, 1, 4),
    ((7, 8), 4, 6, (3, 3), 1, 1, 1, 1), ((7, 8), 4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2), ((6, 6), 4, 4, (1, 1), 1, 0, 1, 1),
    ((8, 8), 4, 4, (1, 1), 1, 0, 1, 2), ((6, 6), 4, 4, (1, 1), 2, 0, 1, 1), ((3, 3), 4, 4, (1, 1), 1, 1, 1, 1),
    ((20, 20), 3, 6, (3, 3), 1, 1, 1, 3), ((7, 7), 4, 4, (3, 3), 3, 0, 1, 4), ((20, 22), 2, 3, (3, 3), 1, 0, 2, 1),
    ((20, 20), 4, 6, (3, 3), 3, 2, 2, 2), ((16, 16), 1, 2, (5, 5), 1, 2, 1, 1), ((3, 4), 2, 2, (2, 2), 1, 3, 1, 1),
    ((4, 5, 4), 2, 4, (2, 3, 2), 1, 1, 1, 2), ((5, 5, 5), 2, 2, (3, 3, 3), 2, 1, 1, 1),
    ((4, 12, 13), 1, 2, (2, 3, 3), 1, 0, 1, 1),
]


@pytest.mark.parametrize("batch", [None, 0, 1, 3])
@pytest.mark.parametrize("case", CASES)
def test_convolution(case: tuple[Any, ...], batch: int | None) -> None:
    size, inputs, outputs, kernel, stride, padding, dilation, groups = case
    name = f"conv{len(size)}d"
    arrays = [f(*([] if batch is None else [batch]), inputs, *size), f(outputs, inputs // groups, *kernel), f(outputs)]
    check(lambda m, x, w, b: getattr(m.nn.functional, name)(x, w, b, stride, padding, dilation, groups), arrays,
          order=1 if batch == 0 else 2)


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("case", [case for case in CASES if case[5] != 4 and case[0] != (3, 4)])
def test_transposed(case: tuple[Any, ...], extra: int) -> None:
    size, inputs, outputs, kernel, stride, padding, dilation, groups = case
    if extra and min(np.max([np.broadcast_to(stride, len(size)), np.broadcast_to(dilation, len(size))], axis=0)) < 2:
        pytest.skip("torch allows no output padding here")
    name = f"conv_transpose{len(size)}d"
    check(lambda m, x, w, b: getattr(m.nn.functional, name)(x, w, b, stride, padding, extra, groups, dilation),
          [f(2, inputs, *size), f(inputs, outputs // groups, *kernel), f(outputs)])


@pytest.mark.parametrize("case", CASES)
def test_gradients_as_functions(case: tuple[Any, ...]) -> None:
    size, inputs, outputs, kernel, *options = case
    x, w = f(2, inputs, *size), f(outputs, inputs // options[-1], *kernel)
    out = getattr(torch.nn.functional, f"conv{len(size)}d")(torch.tensor(x), torch.tensor(w), None, *options)
    check(lambda m, w, g: getattr(m.nn.grad, f"conv{len(size)}d_input")(x.shape, w, g, *options), [w, f(*out.shape)], order=1)
    check(lambda m, x, g: getattr(m.nn.functional.grad, f"conv{len(size)}d_weight")(x, w.shape, g, *options), [x, f(*out.shape)],
          order=1)


@pytest.mark.parametrize("block", [1, 200, 5000])
def test_blocks_of_images(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last block may be smaller than the others."""
    monkeypatch.setattr(numpy_conv, "BLOCK", block)
    monkeypatch.setattr(numpy_conv, "COLUMNS", 1)
    numpy_conv.geometry.cache_clear()
    try:
        for stride in (1, 2):
            check(lambda m, x, w: m.nn.functional.conv2d(x, w, None, stride, 1), [f(7, 2, 9, 9), f(3, 2, 3, 3)])
            check(lambda m, x, w: m.nn.functional.conv2d(x, w, None, stride), [f(7, 2, 4, 9), f(3, 2, 3, 3)])
    finally:
        numpy_conv.geometry.cache_clear()


@pytest.mark.parametrize("kernel", [(3, 3), (2, 3), (4, 4)])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_padding_by_name(padding: str, dilation: int, kernel: tuple[int, int]) -> None:
    for shape in ((2, 3, 11, 12), (3, 11, 12)):
        check(lambda m, x, w: m.nn.functional.conv2d(x, w, None, 1, padding, dilation), [f(*shape), f(2, 3, *kernel)])


def test_uneven_padding_warns() -> None:
    with pytest.warns(UserWarning, match="zero-padded copy"):
        whygrad.nn.functional.conv1d(whygrad.ones(1, 1, 4), whygrad.ones(1, 1, 2), padding="same")


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64, np.complex128])
def test_dtypes(dtype: Any) -> None:
    arrays = [f(2, 3, 6, 6), f(4, 3, 3, 3), f(4)]
    if np.dtype(dtype).kind == "c":
        arrays = [a + 1j * f(*a.shape) for a in arrays]
    rtol = 1e-2 if dtype is np.float16 else 1e-4 if dtype in (np.float32, np.complex64) else None
    # torch computes a complex convolution from three real ones, and shows it.
    node = np.dtype(dtype).kind != "c"
    check(lambda m, *t: m.nn.functional.conv2d(*t, 1, 1), [a.astype(dtype) for a in arrays], order=1, rtol=rtol,
          check_node=node)
    check(lambda m, x, w, b: m.nn.functional.conv_transpose2d(x, w, b, 2),
          [a.astype(dtype) for a in (arrays[0], arrays[1][:3], arrays[2][:3])], order=1, rtol=rtol, check_node=node)


def test_integers() -> None:
    x, w = np.arange(32).reshape(1, 2, 4, 4), np.arange(12).reshape(2, 2, 3) - 6
    check(lambda m, a, b: m.nn.functional.conv2d(a, b.reshape(2, 2, 3, 1)), [x, w])


@pytest.mark.parametrize("layout", ["x.transpose(2, 3)", "x[:, ::2]", "x.contiguous(memory_format=m.channels_last)",
                                    "x.expand(2, 4, 6, 7)"])
def test_layouts(layout: str) -> None:
    x = f(1 if "expand" in layout else 2, 4, 6, 7)
    weight = f(3, 2 if "::2" in layout else 4, 3, 3)
    check(lambda m, x, w: m.nn.functional.conv2d(eval(layout, {"x": x, "m": m}), w, None, 1, 1), [x, weight])


def test_only_what_is_asked_for() -> None:
    """A gradient nobody needs is not computed, and a frozen weight gets none."""
    for weight_grad in (False, True):
        results = []
        for i in range(2):
            x, w = pair(np.ones((1, 1, 4, 4)), True)[i], pair(np.ones((1, 1, 2, 2)), weight_grad)[i]
            out = (torch if i == 0 else whygrad).nn.functional.conv2d(x, w)
            out.sum().backward()
            results.append([x.grad, w.grad])
        assert_same(*results)


def test_what_is_not_finite_makes_no_noise() -> None:
    x = np.full((2, 4, 6, 6), np.inf)
    x[0] = np.nan
    x[1, :, ::2] = -np.inf
    for expression in ("conv2d(t, m.ones(4, 4, 3, 3, dtype=t.dtype), m.ones(4, dtype=t.dtype))", "avg_pool2d(t, 2)",
                       "conv2d(t, m.ones(4, 4, 1, 1, dtype=t.dtype))", "conv2d(t, m.ones(4, 1, 3, 3, dtype=t.dtype), groups=4)",
                       "conv_transpose2d(t, m.ones(4, 4, 2, 2, dtype=t.dtype), stride=2)", "max_pool2d(t, 3, 2, 1)",
                       "interpolate(t, 5, mode='bilinear')", "adaptive_avg_pool2d(t, 4)"):
        check(lambda m, t: eval(f"m.nn.functional.{expression}", {"m": m, "t": t.detach()}), [x])


@pytest.mark.parametrize("stride", [1, 2])
def test_gradients_without_channels(stride: int) -> None:
    found = []
    for m in (torch, whygrad):
        x, w = m.ones(2, 0, 8, requires_grad=True), m.ones(3, 0, 2, requires_grad=True)
        m.nn.functional.conv1d(x, w, None, stride).sum().backward()
        found.append([tuple(x.grad.shape), tuple(w.grad.shape)])
    assert found[0] == found[1]


def test_conv_tbc() -> None:
    check(lambda m, x, w, b: m.conv_tbc(x, w, b, 1), [f(5, 2, 4), f(3, 4, 5), f(5)])


MODULES: dict[str, tuple[np.ndarray, ...]] = {
    "Conv1d(4, 6, 3)": (f32(2, 4, 9),),
    "Conv1d(4, 6, 3, stride=2, padding=1, bias=False)": (f32(4, 9),),
    "Conv1d(4, 4, 2, padding='same', padding_mode='reflect')": (f32(2, 4, 9),),
    "Conv2d(4, 6, 3)": (f32(2, 4, 8, 8),),
    "Conv2d(4, 6, (3, 5), stride=(2, 1), padding=(1, 2), dilation=(2, 1), groups=2)": (f32(2, 4, 8, 8),),
    "Conv2d(4, 6, 3, padding='same')": (f32(2, 4, 8, 8),),
    "Conv2d(4, 6, 3, padding='valid')": (f32(2, 4, 8, 8),),
    "Conv2d(4, 6, 3, padding=1, padding_mode='circular')": (f32(2, 4, 8, 8),),
    "Conv2d(4, 6, 3, padding=(2, 1), padding_mode='replicate')": (f32(2, 4, 8, 8),),
    "Conv2d(4, 4, 3, padding='same', padding_mode='reflect', dilation=2)": (f32(2, 4, 8, 8),),
    "Conv2d(4, 4, 1, dtype=m.float64)": (f(2, 4, 8, 8),),
    "Conv3d(2, 4, 3, padding=1)": (f32(2, 2, 4, 5, 6),),
    "Conv3d(2, 4, (1, 2, 3), groups=2, bias=False, padding=(0, 1, 2), padding_mode='replicate')": (f32(2, 2, 4, 5, 6),),
    "ConvTranspose1d(4, 6, 3, stride=2)": (f32(2, 4, 9),),
    "ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)": (f32(2, 4, 5, 5),),
    "ConvTranspose2d(4, 6, (3, 2), groups=2, dilation=2, bias=False)": (f32(4, 5, 5),),
    "ConvTranspose3d(2, 4, 2, stride=2)": (f32(2, 2, 3, 4, 5),),
    "LazyConv1d(6, 3)": (f32(2, 4, 9),),
    "LazyConv2d(6, 3, groups=2, padding=1)": (f32(2, 4, 8, 8),),
    "LazyConv3d(6, 2, bias=False)": (f32(4, 3, 3, 3),),
    "LazyConvTranspose1d(6, 3, stride=2)": (f32(2, 4, 9),),
    "LazyConvTranspose2d(6, 3, dilation=2)": (f32(2, 4, 5, 5),),
    "LazyConvTranspose3d(4, 2, groups=2)": (f32(2, 2, 3, 4, 5),),
}


@pytest.mark.parametrize("constructor", MODULES)
def test_module(constructor: str) -> None:
    check_module(constructor, *MODULES[constructor])


@pytest.mark.parametrize("size", [(11, 11), (2, 6, 12, 12), [11, 12]])
def test_output_size(size: Any) -> None:
    results = []
    for m in (torch, whygrad):
        m.manual_seed(1)
        layer = m.nn.ConvTranspose2d(4, 6, 3, stride=2)
        results.append(layer(m.ones(2, 4, 5, 5), output_size=size))
    assert_same(*results)


def trained(m: Any) -> list[Any]:
    m.manual_seed(2)
    model = m.nn.Sequential(m.nn.Conv2d(1, 8, 3, padding=1), m.nn.BatchNorm2d(8), m.nn.ReLU(inplace=True), m.nn.MaxPool2d(2),
                            m.nn.Conv2d(8, 8, 3, stride=2), m.nn.ReLU(), m.nn.AdaptiveAvgPool2d(1), m.nn.Flatten(),
                            m.nn.Linear(8, 3))
    optimizer = m.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = m.randn(16, 1, 12, 12), m.randint(0, 3, (16,))
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = m.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, *model.state_dict().values()]


def test_training_gives_the_same_network() -> None:
    assert_same(trained(torch), trained(whygrad), rtol=1e-3)


def test_state_dict_goes_both_ways() -> None:
    theirs, ours = torch.nn.Conv2d(2, 3, 3), whygrad.nn.Conv2d(2, 3, 3)
    ours.load_state_dict({key: whygrad.from_numpy(value.numpy()) for key, value in theirs.state_dict().items()})
    x, y = pair(f32(1, 2, 5, 5))
    assert_same(theirs(x), ours(y))


ERRORS = """
F.grad.conv2d_input((1, 4, 8, 8), w, o(1, 6, 5, 6))
F.grad.conv2d_input((2, 3, 8, 8), w, o(2, 6, 6, 6))
F.grad.conv2d_weight(x[:1], w.shape, o(1, 5, 6, 6))
F.grad.conv2d_weight(x.double(), w.shape, o(2, 6, 6, 6))
F.grad.conv2d_input((1, 4, 8, 8), w.double(), o(1, 6, 6, 6))
F.grad.conv2d_input(x.shape, w, o(2, 6, 6, 6), stride=0)
F.grad.conv1d_weight(x1[0], (6, 4, 3), o(6, 6))
F.conv2d(x, w, stride=0)
F.conv2d(x, w, stride=(1, 2, 3))
F.conv2d(x, w, padding=-1)
F.conv2d(x, w, padding='foo')
F.conv2d(x, w, padding='same', stride=2)
F.conv2d(x, w, groups=3)
F.conv2d(x, w, groups=2)
F.conv2d(x, w, groups=0)
F.conv2d(x, w, groups=100)
F.conv2d(x, w, dilation=0)
F.conv2d(x, o(6, 3, 3, 3))
F.conv2d(x, o(6, 4, 9, 9))
F.conv2d(x, o(5, 2, 3, 3), groups=2)
F.conv2d(x, w, o(5))
F.conv2d(x, w, o(6, 1))
F.conv2d(x1[0], w)
F.conv2d(x3, w)
F.conv2d(x.double(), w)
F.conv2d(x, w.double())
F.conv2d(x, w.bfloat16())
F.conv2d(x.to(m.complex64), w)
F.conv2d(x.detach().long(), w)
F.conv2d(x, w, o(6).double())
F.conv2d(x, o(6, 4, 3))
F.conv1d(x, o(6, 4, 3))
F.conv1d(x1, w)
F.conv3d(x, w)
F.conv2d(o(0, 4, 8, 8), w)
F.conv2d(o(2, 4, 0, 8), w)
F.conv2d(x, w, None, 'a')
F.conv2d(x, 3)
F.conv2d(3, w)
F.conv2d(x, w, None, 1.5)
F.conv2d(x, w, None, (1,))
F.conv2d(x, w, None, [2, 1], (1, 0))
F.conv1d(x1, o(6, 4, 3), None, (1, 2))
F.conv_transpose2d(x, wt, output_padding=1)
F.conv_transpose2d(x, wt, stride=2, output_padding=2)
F.conv_transpose2d(x, wt, dilation=2, output_padding=1)
F.conv_transpose2d(x, wt, output_padding=-1)
F.conv_transpose2d(x, w)
F.conv_transpose2d(x, wt, groups=3)
F.conv_transpose2d(x, wt, o(5))
F.conv_transpose2d(x, wt, o(12), groups=2)
F.conv_transpose2d(x1[0], wt)
F.conv_transpose2d(x, 3)
F.conv_transpose2d(x.double(), wt.double(), padding=6)
F.conv_transpose2d(o(0, 4, 3, 3), wt)
F.conv_transpose1d(x1, o(4, 6, 3), stride=2, output_padding=3)
F.conv_transpose3d(x3, o(4, 6, 3, 3, 3), output_padding=1)
F.conv2d(x.to(memory_format=m.channels_last), w)
F.conv2d(x.transpose(2, 3), w)
F.conv2d(x.bool(), w.bool())
F.conv2d(x, w, padding=(1, 1, 1))
F.conv2d(x, w, dilation=(1, 1, 1))
F.conv1d(x1, o(4, 4, 3), padding='same', stride=(1, 1))
F.conv1d(x1, o(4, 4, 3), padding='same', dilation=(1, 1))
F.conv1d(x1, o(4, 5, 3), padding='same')
m.conv_tbc(o(3, 4), o(3, 4, 5), o(5))
m.conv_tbc(o(3, 2, 4), o(4, 5), o(5))
m.conv_tbc(o(3, 2, 4), o(3, 4, 5), o(5, 1))
m.conv_tbc(o(3, 2, 4), o(3, 3, 5), o(5))
m.conv_tbc(o(3, 2, 4), o(3, 4, 5), o(4))
m.conv_tbc(o(3, 2, 4), o(6, 4, 5), o(5))
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(4, 3, 3, groups=2)
nn.Conv2d(4, 4, 3, groups=0)
nn.Conv2d(4, 4, 3, padding='same', stride=2)
nn.ConvTranspose2d(4, 4, 3, padding_mode='reflect')
nn.Conv2d(4, 4, 3)(x3)
nn.Conv2d(5, 4, 3)(x)
nn.ConvTranspose2d(4, 6, 3)(x, output_size=(30, 30))
nn.ConvTranspose2d(4, 6, 3)(x, output_size=(3,))
nn.LazyConv2d(4, 3)(x3)
nn.LazyConv2d(6, 3, groups=3)(x)
""".strip().split("\n")


@pytest.mark.parametrize("expression", ERRORS)
def test_outcome(expression: str) -> None:
    same_outcome(expression)


@pytest.mark.parametrize("expression", ["nn.Conv2d(4, 4, 3, padding='foo')", "nn.Conv2d(4, 4, 3, padding_mode='foo')"])
def test_errors_that_print_a_set(expression: str) -> None:
    with pytest.raises(ValueError, match=r"one of \{'"):
        eval(expression, names(whygrad))


def test_a_changed_weight_is_noticed() -> None:
    messages = []
    for m in (torch, whygrad):
        x, w = m.ones(1, 1, 3, 3, requires_grad=True), m.ones(1, 1, 2, 2)
        out = m.nn.functional.conv2d(x, w)
        w += 1
        with pytest.raises(RuntimeError) as caught:
            out.sum().backward()
        messages.append(str(caught.value).split("\n")[0])
    assert messages[0] == messages[1]
