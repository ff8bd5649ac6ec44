"""Losses of large arrays, which are kernels, against torch; and gradients clipped all together."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import whygrad

SIZE = 10_007
LOSSES = {
    "mse_loss": {}, "smooth_l1_loss": {"beta": 0.3}, "huber_loss": {"delta": 0.2},
    "binary_cross_entropy": {}, "binary_cross_entropy_with_logits": {}, "soft_margin_loss": {},
}


def arrays():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.01, 0.99, (2, SIZE)).astype("f4")
    x[:4], y[:4] = (0, 1, 0.5, 0.25), (0, 0, 0.5, 1)
    return x, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_loss_and_gradients(name, reduction, weighted):
    options = dict(LOSSES[name], reduction=reduction)
    if weighted and "entropy" not in name:
        pytest.skip("takes no weight")
    results = []
    for library in (torch, whygrad):
        x, y = (library.tensor(a, requires_grad=i == 0) for i, a in enumerate(arrays()))
        if weighted:
            options["weight"] = library.linspace(0.5, 2, SIZE)
        loss = getattr(library.nn.functional, name)(x, y, **options)
        (g,) = library.autograd.grad(loss.sum() * 3, x, create_graph=True)
        finite = library.where(library.isfinite(g), g, 0.0)
        (second,) = library.autograd.grad((finite * finite).sum(), x) if g.requires_grad else (g,)
        results.append([t.detach().numpy() for t in (loss, g, second[4:])])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
@pytest.mark.parametrize("spoiled", [None, np.nan, np.inf])
def test_clipping_all_gradients(norm_type, spoiled):
    rng = np.random.default_rng(0)
    grads = [rng.standard_normal(shape).astype("f4") for shape in ((3,), (100, 101), (), (5, 7))]
    if spoiled is not None:
        grads[1][3, 4] = spoiled
    results = []
    for library in (torch, whygrad):
        parameters = [library.zeros(g.shape, requires_grad=True) for g in grads]
        for p, g in zip(parameters, grads, strict=True):
            p.grad = library.tensor(g)
        total = library.nn.utils.clip_grad_norm_(parameters, 1.5, norm_type)
        results.append([total.numpy(), *[p.grad.numpy() for p in parameters]])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)
