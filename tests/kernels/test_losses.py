"""Losses of large arrays, which are kernels, against torch; and gradients clipped all together."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import whygrad

SHAPE = (7, 1429)
LOSSES = {
    "mse_loss": [{}], "smooth_l1_loss": [{"beta": 0.3}], "huber_loss": [{"delta": 0.2}], "soft_margin_loss": [{}],
    "binary_cross_entropy": [{}, {"weight": SHAPE}, {"weight": SHAPE[1:]}],
    "binary_cross_entropy_with_logits": [{}, {"weight": SHAPE}, {"pos_weight": SHAPE[1:]},
                                         {"weight": SHAPE, "pos_weight": SHAPE}],
}
CASES = [(name, options) for name, several in LOSSES.items() for options in several]


def arrays():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.01, 0.99, (2, *SHAPE)).astype("f4")
    x[0, :4], y[0, :4] = (0, 1, 0.5, 0.25), (0, 0, 0.5, 1)
    return x, y


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_loss_and_gradients(name, options, reduction, contiguous):
    results = []
    for library in (torch, whygrad):
        x, y = (library.tensor(a if contiguous or i else a.T, requires_grad=i == 0) for i, a in enumerate(arrays()))
        given = {key: library.linspace(0.5, 2, math.prod(value)).reshape(value) if "weight" in key else value
                 for key, value in options.items()}
        loss = getattr(library.nn.functional, name)(x if contiguous else x.T, y, reduction=reduction, **given)
        (g,) = library.autograd.grad(loss.sum() * 3, x, create_graph=True)
        finite = library.where(library.isfinite(g), g, 0.0)
        (second,) = library.autograd.grad((finite * finite).sum(), x) if g.requires_grad else (g,)
        second = second if contiguous else second.T
        results.append([t.detach().numpy() for t in (loss, g, second[1:])])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"])
def test_what_is_no_number(name):
    gradients = []
    for library in (torch, whygrad):
        x = library.tensor([math.nan, math.inf, -math.inf, 0.0, 1.0] * 2000, requires_grad=True)
        getattr(library.nn.functional, name)(x, library.ones(10_000)).backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_a_reduced_loss_is_one_pass(name):
    x, y = map(whygrad.tensor, arrays())
    getattr(whygrad.nn.functional, name)(x, y)
    before = whygrad.kernels.stats()["by_name"]
    getattr(whygrad.nn.functional, name)(x, y)
    after = whygrad.kernels.stats()["by_name"]
    called = {key: after[key]["native"] - before.get(key, {"native": 0})["native"] for key in after}
    assert {key.split("_of_")[0]: count for key, count in called.items() if count and key != "outside"} == {"mean": 1}


@pytest.mark.parametrize("wrong", [-1e-6, 1.0001, np.nan, -np.inf])
@pytest.mark.parametrize("argument", ["input", "target"])
def test_probabilities_are_looked_at(argument, wrong):
    for library in (torch, whygrad):
        given = dict(zip(("input", "target"), map(library.tensor, arrays()), strict=True))
        library.nn.functional.binary_cross_entropy(**given)
        given[argument][-1, -1] = wrong
        with pytest.raises(RuntimeError, match=f"all elements of {argument} should be between 0 and 1"):
            library.nn.functional.binary_cross_entropy(**given)


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
