"""NaN, infinities, zeros with signs, huge and tiny numbers: torch's results, and torch's gradients where a line says so.

Each line is evaluated for every dtype of its table. The sweep over all operators is opdb/test_special_values_of_samples.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from oracle import TOLERANCE, outcome, to_numpy
from sharing import tensors_in

import whygrad

inf, nan = float("inf"), float("nan")
VALUES = [0.0, -0.0, inf, -inf, nan, 1e30, -1e30, 1e-40, 1.0, -1.0, 0.5, 2.0, 0.3]

# Of all floating dtypes. `x` holds VALUES, `spoilt(*shape)` ones after a NaN and an infinity.
CALLS = """
T.mode(t([nan, 1, nan, 2])); T.mode(t([nan, nan, 1, 1])); T.mode(t([1, nan, 1, nan, nan])); T.mode(t([[inf, nan], [nan, 1]]), 0)
T.searchsorted(t([1, nan, 3]), x); T.searchsorted(t([1, nan, 3]), x, right=True); T.searchsorted(t([nan, nan]), x)
T.searchsorted(t([[1, 2, nan], [nan, 1, 2]]), t([[1, nan, inf], [0, nan, 5]])); T.bucketize(x, t([1, 2, 3, nan, 5, 6, 7]))
T.searchsorted(t([7, 2, 1, 5, 5, 0, 1]), t([3, 7, 1, 5, 0])); T.bucketize(x, t([nan, 1, 2]), right=True)
grad(lambda x: F.rrelu(x)); F.rrelu(x);
grad(lambda x: T.logit(x)); grad(lambda x: T.logit(x, 0.0))
grad(lambda x: T.logit(x, 0.2)); T.std(t([1, nan])); T.var(t([1, inf])); T.addcmul(spoilt(2), spoilt(2), spoilt(2), value=0)
"""
# Of float32 and float64: halves are rounded after each step there, or have kernels of their own.
WIDE = """
T.addmm(spoilt(2, 2), spoilt(2, 3), spoilt(3, 2), alpha=0); T.addmm(spoilt(2), spoilt(2, 3), spoilt(3, 2), alpha=0, beta=0)
T.addmm(spoilt(2, 2), spoilt(2, 3), spoilt(3, 2), beta=0); T.addmv(spoilt(2), spoilt(2, 3), spoilt(3), alpha=0)
T.addmv(spoilt(2), spoilt(2, 3), spoilt(3), alpha=0, beta=0); spoilt(2, 2).addmm_(spoilt(2, 3), spoilt(3, 2), alpha=0)
T.baddbmm(spoilt(2, 2, 2), spoilt(2, 2, 3), spoilt(2, 3, 2), alpha=0); T.addr(spoilt(2, 3), spoilt(2), spoilt(3), alpha=0)
T.baddbmm(spoilt(2, 9, 9), spoilt(2, 9, 9), spoilt(2, 9, 9), alpha=0); T.addr(spoilt(2, 3), spoilt(2), spoilt(3), beta=0)
T.addbmm(spoilt(2, 2), spoilt(2, 2, 3), spoilt(2, 3, 2), alpha=0, beta=0); T.logit(x); T.logit(x, 0.2); T.logit(x, 0.6)
T.addcmul(t([1]), t([3e38]), t([0.1]), value=3); T.addcdiv(t([1]), t([3e38]), t([10]), value=3)
T.addr(t([[1]]), t([3e38]), t([0.1]), alpha=3); T.std(t([1e30, 2e30, 3e30])); T.std(t([[1e25, 2e25]]), 1)
F.multilabel_margin_loss(t([[1, nan, 2]]), T.tensor([[0, -1, -1]])); T.cdist(t([[nan, 1], [2, 2]]), t([[1, 1]]), 0)
T.lgamma(t([-1e30, 1e30, -1e-40, 1e-40, inf, -inf, -3])); T.special.i0(t([1e30, -1e30, 800, inf])); T.special.i1(t([1e30, -1e30]))
T.std_mean(t([[1e30, 2e30]]), 1); T.std(t([1e-30, 2e-30, 5e-30])); T.var(t([1e30, 2e30])); T.var_mean(t([1e-30, 3e-30]))
F.grid_sample(image, points); F.grid_sample(image, points, mode='nearest'); F.grid_sample(image, points, mode='bicubic')
F.grid_sample(image, points, padding_mode='border'); F.grid_sample(image, points, 'nearest', 'border')
F.grid_sample(image, points, 'nearest', 'reflection'); F.grid_sample(image, points, padding_mode='reflection')
F.grid_sample(image, points, 'bicubic', 'border'); F.grid_sample(image, points, align_corners=True)
F.grid_sample(volume, points3); F.grid_sample(volume, points3, padding_mode='border'); F.grid_sample(volume, points3, 'nearest')
F.grid_sample(volume, points3, padding_mode='reflection'); F.grid_sample(volume, points3, 'nearest', 'border')
grad(lambda p: F.grid_sample(image, p), points); grad(lambda p: F.grid_sample(image, p, 'bicubic'), points)
grad(lambda i: F.grid_sample(i, points), image); grad(lambda p: F.grid_sample(volume, p), points3)
"""
# Matrices that numpy.linalg would never return from.
MATRICES = """
T.linalg.svd(wrong(inf))[1]; T.linalg.svdvals(wrong(inf)); T.linalg.pinv(wrong(inf)); T.linalg.matrix_rank(wrong(inf))
T.linalg.cond(wrong(inf)); T.linalg.svdvals(T.stack([wrong(0.0), wrong(inf)]))
T.linalg.matrix_norm(wrong(inf), 2); T.linalg.matrix_norm(wrong(inf), 'nuc')
T.linalg.lstsq(wrong(inf), wrong(0.0), driver='gelss').solution
"""
# Their errors.
REFUSED = """
T.linalg.svd(wrong(nan)); T.linalg.pinv(wrong(nan)); T.linalg.svdvals(T.stack([wrong(0.0), wrong(nan)])); T.linalg.eig(wrong(inf))
T.linalg.eig(wrong(nan))
"""
POINTS = [[nan, nan], [nan, 0], [0, nan], [inf, 0], [-inf, 0], [0.1, 0.2], [3, 0]]


def names_of(T, dtype):
    def t(values):
        return T.tensor(values, dtype=getattr(T, dtype))

    def spoilt(*shape):
        x = T.ones(shape, dtype=getattr(T, dtype))
        x.view(-1)[:2] = t([nan, inf])
        return x

    def grad(function, at=None):
        x = (t(VALUES) if at is None else at).clone().requires_grad_()
        y = function(x)
        return T.autograd.grad(y, x, T.ones_like(y))[0]

    def wrong(value):
        x = T.eye(3, dtype=getattr(T, dtype))
        x[0, 1] = x[1, 0] = value
        return x

    image, volume = T.arange(1, 13).reshape(1, 1, 3, 4), T.arange(1, 25).reshape(1, 1, 2, 3, 4)
    return {"T": T, "F": T.nn.functional, "t": t, "x": t(VALUES), "spoilt": spoilt, "wrong": wrong, "grad": grad,
            "inf": inf, "nan": nan,
            "image": image.to(getattr(T, dtype)), "volume": volume.to(getattr(T, dtype)), "points": t([[POINTS]]),
            "points3": t([[[[[*point, 0.0] for point in POINTS]]]])}


def split(text):
    return [call.strip() for line in text.strip().splitlines() for call in line.split(";") if call.strip()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "dtype"), [
    *[(call, dtype) for call in split(CALLS) for dtype in ("float16", "bfloat16", "float32", "float64")],
    *[(call, dtype) for call in split(WIDE) + split(MATRICES) for dtype in ("float32", "float64")]])
def test_as_torch(call, dtype):
    theirs, ours = ([to_numpy(r) for r in tensors_in(eval(call, names_of(T, dtype)))] for T in (torch, whygrad))
    for a, b in zip(theirs, ours, strict=True):
        assert a.dtype == b.dtype
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(b, a, rtol=TOLERANCE[dtype], atol=0)


@pytest.mark.parametrize("call", split(REFUSED))
def test_refused(call):
    theirs, ours = (outcome(lambda: eval(call, names_of(T, "float64"))) for T in (torch, whygrad))
    assert ours == theirs
