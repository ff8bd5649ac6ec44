"""Interpolation, sampling on grids, folding and shuffling against torch."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from images import check_module, f, f32, rng, same_outcome
from oracle import assert_same, check

import whygrad

SIZES = {1: (5,), 2: (5, 6), 3: (3, 4, 5)}
MODES = [(1, "nearest"), (1, "nearest-exact"), (1, "linear"), (1, "area"), (2, "nearest"), (2, "nearest-exact"), (2, "bilinear"),
         (2, "bicubic"), (2, "area"), (3, "nearest"), (3, "nearest-exact"), (3, "trilinear"), (3, "area")]
# size, scale_factor, recompute_scale_factor
TARGETS = [(7, None, None), (4, None, None), (1, None, None), (None, 2, None), (None, 1.7, None), (None, 0.6, None),
           (None, 1.7, True), (None, 3.0, None), (None, 1.01, None), (None, 2.3, None)]


def smooth(mode: str) -> bool:
    return mode.endswith(("linear", "cubic"))


@pytest.mark.parametrize(("dims", "mode"), MODES)
@pytest.mark.parametrize("target", TARGETS)
def test_interpolate(dims: int, mode: str, target: tuple[Any, ...]) -> None:
    size, factor, recompute = target
    for corners in ((False, True) if smooth(mode) else (None,)):
        for dtype in (np.float64, np.float32):
            check(lambda m, x: m.nn.functional.interpolate(x, size, factor, mode, corners, recompute),
                  [f(2, 3, *SIZES[dims]).astype(dtype)], order=2 if dtype is np.float64 else 1)


@pytest.mark.parametrize("seed", range(60))
def test_interpolate_by_odd_factors(seed: int) -> None:
    """Where torch rounds positions, and where it ignores the factor, so do we; also where its gradient is not the adjoint."""
    random = np.random.default_rng(seed)
    dims = int(random.integers(1, 4))
    size = tuple(random.integers(1, 9, dims))
    mode = random.choice([mode for n, mode in MODES if n == dims])
    factors = tuple([float(n) for n in random.choice([2.0, 2.3, 2.5, 1.5, 1.1, 3.0, 1.01, 2.2], dims)])
    x = random.standard_normal((2, int(random.integers(1, 6)), *size)).astype(random.choice(["f4", "f8"]))
    check(lambda m, t: m.nn.functional.interpolate(t, None, factors, mode, False if smooth(mode) else None), [x], order=1)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("target", [(7, None), ((3, 4), None), (None, 2), (None, 0.45), (1, None)])
def test_antialias(mode: str, target: tuple[Any, ...]) -> None:
    for corners in ((False,) if mode == "lanczos" else (False, True)):
        check(lambda m, x: m.nn.functional.interpolate(x, *target, mode, corners, antialias=True), [f(2, 3, 9, 10)])


def test_halves_and_bytes() -> None:
    check(lambda m, x: m.nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear"), [f(1, 2, 4, 5).astype(np.float16)],
          order=1)
    check(lambda m, x: m.nn.functional.interpolate(x, scale_factor=1.5), [rng.integers(0, 255, (1, 2, 4, 5)).astype(np.uint8)])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("target", [((16, 9), None), ((5, 40), None), ((8, 9), None), (None, (1.7, 0.6)), ((1, 3), None)],
                         ids=str)
def test_smooth_bytes(mode: str, target: tuple[Any, ...]) -> None:
    image = rng.integers(0, 256, (2, 3, 8, 9)).astype(np.uint8)
    for antialias, corners in [(True, False)] if mode == "lanczos" else itertools.product((False, True), (False, True)):
        results = [m.nn.functional.interpolate(m.from_numpy(image), *target, mode, corners, antialias=antialias).numpy()
                   for m in (torch, whygrad)]
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", ["upsample", "upsample_nearest", "upsample_bilinear"])
def test_old_names(name: str) -> None:
    with pytest.warns(UserWarning, match=f"`nn.functional.{name}` is deprecated"):
        ours = getattr(whygrad.nn.functional, name)(whygrad.arange(4.0).view(1, 1, 2, 2), scale_factor=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(getattr(torch.nn.functional, name)(torch.arange(4.0).view(1, 1, 2, 2), scale_factor=2), ours)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(mode: str, padding_mode: str, corners: bool) -> None:
    for dims in ((2,) if mode == "bicubic" else (2, 3)):
        grid = rng.random((2, *(3,) * dims, dims)) * 4 - 2
        # torch gives the gradient for the grid no history where it is zero everywhere.
        check(lambda m, x, g: m.nn.functional.grid_sample(x, g, mode, padding_mode, corners),
              [f(2, 3, *(5, 4, 3)[:dims]), grid], order=1 if mode == "nearest" else 2)
        check(lambda m, x, g: m.nn.functional.grid_sample(x, g, mode, padding_mode, corners),
              [f32(2, 3, *(5, 4, 3)[:dims]), grid.astype(np.float32)], order=1, rtol=1e-3)


def test_grid_sample_third_derivative() -> None:
    check(lambda m, x, g: m.nn.functional.grid_sample(x, g, "bicubic", align_corners=True),
          [f(1, 1, 5, 5), rng.random((1, 2, 2, 2)) - 0.5], order=3)


def test_grid_sample_does_not_read_beyond_the_edge() -> None:
    x = np.full((1, 1, 2, 2), np.inf)
    x[0, 0, 1, 1] = 1
    check(lambda m, t: m.nn.functional.grid_sample(t.detach(), m.ones(1, 1, 1, 2, dtype=m.float64), align_corners=True), [x])


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 1, 5), (2, 1, 4, 5, 3)])
def test_affine_grid(size: tuple[int, ...], corners: bool) -> None:
    dims = len(size) - 2
    check(lambda m, t: m.nn.functional.affine_grid(t, size, corners), [f(2, dims, dims + 1)])


EXPRESSIONS = [
    "pixel_shuffle(x, 2)", "pixel_shuffle(x[0], 2)", "pixel_shuffle(x, 1)", "pixel_unshuffle(x, 2)", "pixel_unshuffle(x[0], 2)",
    "channel_shuffle(x, 4)", "channel_shuffle(x, 2)", "channel_shuffle(x[0], 1)", "unfold(x, 2)",
    "unfold(x, (2, 3), 2, 1, (1, 2))",
    "unfold(x[0], 2, padding=1)", "unfold(x.transpose(2, 3), 2)", "fold(c[:, :, :9].contiguous(), (4, 4), 2)",
    "fold(c[0, :, :9], (4, 4), 2)", "fold(c[:, :, :6], (5, 5), 2, (1, 2), (1, 0), (2, 2))", "fold(c[:, :, :4], 4, 2, stride=2)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_rearranged(expression: str) -> None:
    check(lambda m, x: eval(f"m.nn.functional.{expression}", {"m": m, "x": x, "c": x.reshape(2, 8, -1)}), [f(2, 8, 4, 6)])


MODULES: dict[str, tuple[np.ndarray, ...]] = {
    "Upsample(scale_factor=2)": (f32(2, 4, 5),),
    "Upsample((7, 8))": (f32(2, 4, 5, 6),),
    "Upsample(scale_factor=(2, 3), mode='bilinear')": (f32(2, 4, 5, 6),),
    "Upsample(scale_factor=1.5, mode='bicubic', align_corners=True)": (f32(2, 4, 5, 6),),
    "Upsample(scale_factor=1.5, mode='trilinear', recompute_scale_factor=True)": (f32(2, 4, 5, 6, 3),),
    "UpsamplingNearest2d(scale_factor=2)": (f32(2, 4, 5, 6),),
    "UpsamplingBilinear2d((7, 9))": (f32(2, 4, 5, 6),),
    "PixelShuffle(2)": (f32(2, 4, 5, 6),),
    "PixelUnshuffle(2)": (f32(2, 4, 6, 4),),
    "ChannelShuffle(2)": (f32(2, 4, 5, 6),),
    "Fold((4, 4), 2, stride=2)": (f32(2, 16, 4),),
    "Unfold((2, 3), dilation=2, padding=1)": (f32(2, 4, 5, 6),),
}


@pytest.mark.parametrize("constructor", MODULES)
def test_module(constructor: str) -> None:
    check_module(constructor, *MODULES[constructor])


ERRORS = """
F.interpolate(x)
F.interpolate(x, (4, 4), 2)
F.interpolate(x, scale_factor=(2, 2, 2))
F.interpolate(x, (4, 4, 4))
F.interpolate(x, scale_factor=2, mode='linear')
F.interpolate(x1, scale_factor=2, mode='bilinear')
F.interpolate(x1, scale_factor=2, mode='trilinear')
F.interpolate(x3, scale_factor=2, mode='bilinear')
F.interpolate(x3, scale_factor=2, mode='bicubic')
F.interpolate(x1, scale_factor=2, mode='bicubic')
F.interpolate(x3, scale_factor=2, mode='foo')
F.interpolate(x, scale_factor=2, mode='nearest', align_corners=True)
F.interpolate(x, scale_factor=0.01)
F.interpolate(x, 0)
F.interpolate(x, -1)
F.interpolate(x, 2.5)
F.interpolate(x, (2.5, 2))
F.interpolate(x[0, 0], scale_factor=2)
F.interpolate(x.long(), scale_factor=2)
F.interpolate(x.long(), scale_factor=2, mode='bilinear')
F.interpolate(x.long(), scale_factor=2, mode='bicubic')
F.interpolate(x1.long(), scale_factor=2, mode='linear')
F.interpolate(x1.long(), scale_factor=2)
F.interpolate(x3.long(), scale_factor=2)
F.interpolate(x, 4, recompute_scale_factor=True)
F.interpolate(x, scale_factor=1.3, recompute_scale_factor=True)
F.interpolate(x, 4, mode='nearest', antialias=True)
F.interpolate(x, 4, mode='lanczos')
F.interpolate(x, 4, mode='lanczos', align_corners=True)
F.interpolate(o(0, 3, 4, 4), 8)
F.interpolate(o(2, 0, 4, 4), 8)
F.interpolate(o(2, 3, 0, 4), 8)
F.interpolate(x.to(m.complex64), scale_factor=2)
F.grid_sample(x, o(2, 3, 3, 3))
F.grid_sample(x[0], o(8, 1, 1, 2))
F.grid_sample(x, o(2, 1, 1, 1, 3))
F.grid_sample(x, o(2, 0, 3, 2), align_corners=False)
m.autograd.grad(F.grid_sample(x, o(2, 0, 3, 2, requires_grad=True), align_corners=False).sum(), x)
m.autograd.grad(F.grid_sample(x3, o(2, 0, 1, 4, 3, requires_grad=True), align_corners=False).sum(), x3)
F.interpolate(x, scale_factor=1e20)
F.interpolate(x, scale_factor=float('nan'))
F.interpolate(x, scale_factor=1e20, mode='bilinear')
F.grid_sample(x, o(1, 3, 3, 2))
F.grid_sample(x, o(2, 3, 2))
F.grid_sample(x1, o(2, 3, 2))
F.grid_sample(x, o(2, 3, 3, 2), mode='foo')
F.grid_sample(x, o(2, 3, 3, 2), padding_mode='foo')
F.grid_sample(x, o(2, 3, 3, 2).double())
F.grid_sample(x3, o(2, 3, 3, 3, 3), mode='bicubic')
F.grid_sample(x.long(), o(2, 3, 3, 2).long())
F.grid_sample(o(2, 3, 0, 4), o(2, 3, 3, 2))
F.grid_sample(x, 3)
F.affine_grid(o(2, 2, 3), (2, 3, 4))
F.affine_grid(o(2, 3, 3), (2, 3, 4, 4))
F.affine_grid(o(2, 2, 3), (2, 3, 4, 0))
F.affine_grid(o(2, 2, 3), (3, 3, 4, 4))
F.affine_grid(o(2, 2, 3).long(), (2, 3, 4, 4))
F.affine_grid(o(2, 2, 3), (2, 3, 1, 1), align_corners=True)
F.pixel_shuffle(x, 3)
F.pixel_shuffle(x, 0)
F.pixel_shuffle(x[0, 0], 2)
F.pixel_shuffle(x3, 2)
F.pixel_shuffle(x, 2.5)
F.pixel_unshuffle(x, 3)
F.pixel_unshuffle(x, 0)
F.pixel_unshuffle(x[0, 0], 2)
F.channel_shuffle(x, 3)
F.channel_shuffle(x, 0)
F.channel_shuffle(x[0, 0], 2)
F.channel_shuffle(x3, 2)
F.unfold(x, 9)
F.unfold(x, 0)
F.unfold(x, 2, 0)
F.unfold(x, 2, 1, -1)
F.unfold(x, 2, 1, 0, 0)
F.unfold(x1[0], 2)
F.unfold(x3, 2)
F.unfold(x, (2, 2, 2))
F.unfold(x, (2,))
F.unfold(x.long(), 2)
F.unfold(x, 'a')
F.unfold(3, 2)
F.unfold(o(0, 4, 8, 8), 2)
F.unfold(o(2, 0, 8, 8), 2)
F.fold(o(2, 15, 4), (4, 4), 2, stride=2)
F.fold(o(2, 16, 5), (4, 4), 2, stride=2)
F.fold(o(4), (4, 4), 2, stride=2)
F.fold(o(2, 16, 4), (4, 4, 4), 2, stride=2)
F.fold(o(2, 16, 4), (4, 4), 0, stride=2)
F.fold(o(2, 16, 4), (4, 4), 2, stride=0)
F.fold(o(2, 16, 4), (4, 4), 2, 0, stride=2)
F.fold(o(2, 16, 4), (4, 4), 2, 1, -1, stride=2)
F.fold(o(2, 16, 4), (1, 1), 2, stride=2)
F.fold(o(2, 16, 4).long(), (4, 4), 2, stride=2)
F.fold(o(2, 0, 4), (4, 4), 2, stride=2)
F.fold(o(2, 16, 0), (4, 4), 2, stride=2)
""".strip().split("\n")


@pytest.mark.parametrize("expression", ERRORS)
def test_outcome(expression: str) -> None:
    same_outcome(expression)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(5, 7), (13, 28), (64, 31)])
def test_identity_hits_pixels_from_the_same_side(dtype: type, align_corners: bool, size: tuple[int, int]) -> None:
    """A spatial transformer begins with the identity, where the derivative by the grid jumps: rounding decides."""
    image = np.random.default_rng(0).standard_normal((1, 2, *size)).astype(dtype)

    def gradients(lib: Any, F: Any) -> Any:
        theta = lib.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=getattr(lib, dtype.__name__), requires_grad=True)
        grid = F.affine_grid(theta, (1, 2, *size), align_corners=align_corners)
        grid.retain_grad()
        F.grid_sample(lib.from_numpy(image), grid, align_corners=align_corners).sum().backward()
        return grid.detach(), grid.grad, theta.grad

    theirs, ours = gradients(torch, torch.nn.functional), gradients(whygrad, whygrad.nn.functional)
    np.testing.assert_array_equal(theirs[0].numpy(), ours[0].numpy())
    for a, b in zip(theirs[1:], ours[1:], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-3)
