"""How results lie in memory: whether `view` works on them must not depend on the library."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import whygrad

UNARY = ["x.exp()", "x * 2", "x.relu()", "F.gelu(x)", "x.clone()", "x.double()", "T.zeros_like(x)", "T.rand_like(x)",
         "x.clamp(0, 1)", "x.contiguous()", "x.cumsum(0)", "x.cumprod(0)", "x.logcumsumexp(0)", "x.cummax(0)[0]", "x.softmax(0)",
         "x.flip(0)", "x.roll(1, 0)", "T.rot90(x)", "x.tril()", "x.triu()", "x.sum(0)", "x.sum(-1)", "x.var(-1)", "x.amax(0)",
         "x.norm(dim=-1)", "x.argmax(0)", "(x > 0).any(-1)", "x.masked_fill(x > 0, 1)", "F.dropout(x)", "x[[0, 1]]",
         "x[:, [0, 1]]",
         "x.index_select(0, T.tensor([0, 1]))", "x.index_fill(0, T.tensor([0]), 1)", "x.sort(0)[0]", "x.topk(1, 0)[0]",
         "x.index_add(0, T.tensor([0]), x[:1])", "x.masked_scatter(x > 0, x)", "x.renorm(2, 0, 1.0)", "T.stack([x, x])",
         "x.gather(0, T.zeros(x.shape, dtype=T.int64))", "x.scatter(0, T.zeros(x.shape, dtype=T.int64), 1.0)",
         "T.frexp(x)[0]", "T.frexp(x)[1]", "F.layer_norm(x, x.shape[-1:])", "F.pad(x, (1, 1))",
         "x.diff(dim=0)", "x.repeat_interleave(2, 0)"]
UNARY += [f"T.fft.{name}(x, {options})" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
          for options in ("dim=0", "dim=1", "n=3, dim=0", "n=6, dim=0")]
UNARY += [f"T.fft.{name}(x, {options})" for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
          for options in ("dim=(0, 1)", "dim=(-1, 0)", "s=(3, 6), dim=(1, 0)")]
UNARY += ["T.fft.fft(x + 1j, dim=0)", "T.fft.ifft2(x + 1j, dim=(1, 0))", "T.fft.irfftn(x + 1j)", "T.fft.fftn(x)"]
BINARY = ["x + y", "x > y", "T.where(x > 0, x, y)", "T.lerp(x, y, x)", "T.addcmul(y, x, x)", "T.maximum(x, y)", "T.cat([x, y])"]


def recipe(rng, shape):
    """Which axes are permuted, expanded or stepped over."""
    order = list(range(len(shape)))
    if rng.random() < 0.6:
        rng.shuffle(order)
    return order, [rng.choice(["plain", "plain", "expanded", "stepped"]) for _ in shape]


def build(T, shape, order, kinds):
    wide = [1 if kinds[axis] == "expanded" else shape[axis] * (2 if kinds[axis] == "stepped" else 1) for axis in order]
    x = T.ones(wide)
    for place, axis in enumerate(order):
        if kinds[axis] == "stepped":
            x = x[(slice(None),) * place + (slice(None, None, 2),)]
    return x.permute([order.index(axis) for axis in range(len(shape))]).expand(shape)


@pytest.mark.parametrize("expression", UNARY + BINARY)
def test_strides(expression):
    rng = random.Random(expression)
    for _ in range(25):
        shape = [rng.choice([2, 3, 4]) for _ in range(rng.choice([2, 3]))]
        recipes = {name: recipe(rng, shape) for name in "xy"}
        results = []
        for T in (torch, whygrad):
            names = {name: build(T, shape, *recipes[name]) for name in recipes}
            results.append(eval(expression, {"T": T, "F": T.nn.functional, **names}))
        theirs, ours = results
        assert tuple(theirs.shape) == tuple(ours.shape)
        strides = [(a, b) for n, a, b in zip(theirs.shape, theirs.stride(), ours.stride(), strict=True) if n > 1]
        assert all(a == b for a, b in strides), (recipes, theirs.stride(), ours.stride())


def test_parts_that_lie_end_to_end() -> None:
    """The gradient of `split` is put together without a copy if it can be."""
    from whygrad.backends.numpy_layout import lying_end_to_end

    whole = np.arange(60.0).reshape(2, 5, 6)
    for axis, sizes in ((2, (1, 3, 2)), (1, (2, 3)), (0, (1, 1))):
        parts = np.split(whole, np.cumsum(sizes)[:-1], axis)
        found = lying_end_to_end(parts, axis)
        assert np.shares_memory(found, whole)
        np.testing.assert_array_equal(found, whole)
        assert lying_end_to_end(parts[::-1], axis) is None
        assert lying_end_to_end([parts[0], parts[1].copy()], axis) is None
        assert lying_end_to_end([part.copy() for part in parts], axis) is None
    assert lying_end_to_end(np.split(whole, 2, 2), 1) is None


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("function", ["conv", "conv_transpose"])
@pytest.mark.parametrize("size", [1, 6])
def test_a_single_channel_that_comes_last(function, dims, size):
    """A series or an image of which `permute` has brought the only channel forward: dropout sees the order."""
    strides = []
    for T in (torch, whygrad):
        x = T.ones(2, *[size] * dims, 1).movedim(-1, 1)
        channels = (1, 3) if function == "conv_transpose" else (3, 1)
        convolve = getattr(T.nn.functional, f"{function}{dims}d")
        strides.append([convolve(x, T.ones(*channels, *[k] * dims), padding=k // 2).stride() for k in (1, 3)])
    assert strides[0] == strides[1]


# Of `x`, images (2, 4, 6, 8) or volumes (2, 4, 4, 6, 8), with a weight `w` and a number `v` for each channel.
OF_IMAGES = ["F.batch_norm(x, v, v, v, v)", "F.batch_norm(x, None, None, v, v, True)",
             "F.batch_norm(x, None, None, training=True)", "F.group_norm(x, 2, v, v)", "F.group_norm(x, 2)",
             "F.instance_norm(x)", "F.interpolate(x, scale_factor=2)", "F.interpolate(x, scale_factor=2, mode='bilinear')",
             "F.interpolate(x, scale_factor=2, mode='bicubic')", "F.interpolate(x, size=(3, 3), mode='area')",
             "F.pixel_shuffle(x, 2)", "F.channel_shuffle(x, 2)", "F.max_pool2d(x, 2)",
             "F.max_pool2d(x, 2, return_indices=True)[1]", "F.avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 2)",
             "F.adaptive_max_pool2d(x, 2)", "F.conv2d(x, w)", "F.conv_transpose2d(x, w)", "F.pad(x, (1, 1, 1, 1))",
             "F.pad(x, (1, 1, 1, 1), mode='reflect')", "F.pad(x, (1, 1, 1, 1), mode='replicate')",
             "F.local_response_norm(x, 2)", "F.dropout2d(x)", "F.prelu(x, v)", "F.glu(x, 1)",
             "F.mse_loss(x, x, reduction='none')", "F.lp_pool2d(x, 2, 2)", "F.layer_norm(x, x.shape[-1:])", "F.softmax(x, 1)",
             "F.pad(x, (1, 1, 1, 1), mode='circular')", "F.adaptive_avg_pool2d(x, 1)", "F.avg_pool3d(x, 2)", "T.cat([x, x], 1)",
             "T.cat([x, x], 2)", "T.cat([x, x[:, :, :2]], 2)", "T.cat([x, x.contiguous()])"]
OF_VOLUMES = ["F.batch_norm(x, v, v, v, v)", "F.group_norm(x, 2)", "F.interpolate(x, scale_factor=2)", "F.max_pool3d(x, 2)",
              "F.interpolate(x, scale_factor=2, mode='trilinear')", "F.conv3d(x, w)", "F.conv_transpose3d(x, w)",
              "F.pad(x, (1, 1))", "F.pad(x, (1, 1, 1, 1, 1, 1), mode='replicate')",
              "F.pad(x, (1, 1, 1, 1, 1, 1), mode='circular')", "F.avg_pool3d(x, 2)", "F.adaptive_avg_pool3d(x, 2)",
              "T.cat([x, x])"]
OF_SIGNALS = ["F.max_pool1d(x, 2)", "F.max_pool1d(x, 2, return_indices=True)[0]", "F.avg_pool1d(x, 2)",
              "F.adaptive_avg_pool1d(x, 2)", "F.pad(x, (1, 1), mode='circular')", "F.pad(x, (1, 1), mode='reflect')"]
LAID_OUT = ["x", "x.movedim(1, -1).contiguous().movedim(-1, 1)", "x.transpose(-1, -2)", "T.cat([x, x], -1)[..., :6]",
            "x.transpose(0, 1).contiguous().transpose(0, 1)", "x.movedim(1, -1).contiguous().movedim(-1, 1)[:, :, ::2]"]


@pytest.mark.parametrize(("expression", "dims"), [(e, 2) for e in OF_IMAGES] + [(e, 3) for e in OF_VOLUMES] +
                         [(e, 1) for e in OF_SIGNALS])
def test_images_and_volumes(expression, dims):
    """A layer passes on whether the channels come last."""
    for layout in LAID_OUT:
        strides = []
        for T in (torch, whygrad):
            scope = {"T": T, "F": T.nn.functional, "v": T.ones(4), "w": T.ones(4, 4, *[2] * dims),
                     "x": T.ones(2, 4, *[4, 6, 8][3 - dims:])}
            scope["x"] = eval(layout, scope)
            recorded = scope | {"x": scope["x"].detach().requires_grad_()}
            strides.append([eval(expression, names).stride() for names in (scope, recorded)])
        assert strides[0] == strides[1], layout


OF_MATRICES = ["T.linalg.inv(x)", "T.linalg.inv_ex(x)", "T.linalg.solve(x, x[..., :2])", "T.linalg.solve(x, x[..., :1])",
               "T.linalg.solve(x, x[..., :2, :], left=False)", "T.linalg.cholesky(p)", "T.linalg.cholesky(p, upper=True)",
               "T.linalg.qr(x)", "T.linalg.qr(x[..., :2], mode='complete')", "T.linalg.qr(x, mode='r')", "T.linalg.svd(x)",
               "T.linalg.svd(x[..., :2], full_matrices=False)", "T.linalg.svdvals(x)", "T.linalg.eigh(p)", "T.linalg.eigvalsh(p)",
               "T.linalg.eig(x)", "T.linalg.lu_factor(x)", "T.linalg.lu_factor(x[..., :2])", "T.linalg.lu(x)", "T.linalg.pinv(x)",
               "T.linalg.lu_solve(*T.linalg.lu_factor(x), x)", "T.linalg.lu_solve(*T.linalg.lu_factor(x), x, left=False)",
               "T.linalg.solve_triangular(x, x, upper=True)", "T.linalg.solve_triangular(x, x, upper=True, left=False)",
               "T.linalg.lstsq(x, x)[0]", "T.cholesky_inverse(x)", "T.cholesky_solve(x, x)", "T.geqrf(x)",
               "T.ormqr(x, x[..., 0], x)", "T.linalg.householder_product(x, x[..., 0])",
               "T.linalg.ldl_factor(p)", "T.linalg.matrix_power(x, 3)"]


@pytest.mark.parametrize("expression", OF_MATRICES)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_matrices(expression, batch):
    """LAPACK writes column by column."""
    numbers = np.random.default_rng(0).standard_normal((*batch, 4, 4)).astype("f4")
    for layout in ("x", "x.mT.contiguous().mT", "T.stack([x, x], -1)[..., 0]"):
        strides = []
        for T in (torch, whygrad):
            x = eval(layout, {"T": T, "x": T.tensor(numbers)})
            found = eval(expression, {"T": T, "x": x, "p": x @ x.mT + 4 * T.eye(4)})
            strides.append([t.stride() for t in (found if isinstance(found, tuple) else (found,))])
        assert strides[0] == strides[1], layout


@pytest.mark.parametrize("batch", [(2,), (2, 3)])
def test_batches_of_vectors(batch):
    numbers = np.random.default_rng(0).standard_normal((*batch, 4, 4)).astype("f4")
    theirs, ours = [T.linalg.solve(T.tensor(numbers), T.tensor(numbers)[..., 0]).stride() for T in (torch, whygrad)]
    assert theirs == ours
