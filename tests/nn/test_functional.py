"""nn.functional against torch: values, derivatives to order 2, node names, errors, random numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, pair, same_error

import whygrad
import whygrad.nn.functional

rng = np.random.default_rng(0)


def f(*shape: int) -> np.ndarray:
    return rng.uniform(-2, 2, shape)


def p(*shape: int) -> np.ndarray:
    return rng.uniform(0.05, 0.95, shape)


def i(high: int, *shape: int) -> np.ndarray:
    return rng.integers(0, high, shape)


SIGNS = np.sign(f(4))
IGNORED = np.array([0, 2, -100, 1])

# name -> (function of F and tensors, arrays)
CASES: dict[str, Any] = {
    "softmax": (lambda F, x: F.softmax(x, 1), f(4, 5)),
    "softmax first": (lambda F, x: F.softmax(x, 0), f(4, 5)),
    "softmax 0-dim": (lambda F, x: F.softmax(x, 0), f()),
    "softmax empty": (lambda F, x: F.softmax(x, 1), f(3, 0)),
    "softmax inf": (lambda F, x: F.softmax(x, -1), np.array([[1.0, -np.inf, 2.0], [3.0, 4.0, 5.0]])),
    "log_softmax": (lambda F, x: F.log_softmax(x, -1), f(4, 5)),
    "softmin": (lambda F, x: F.softmin(x, 1), f(4, 5)),
    "mse": (lambda F, a, b: F.mse_loss(a, b), f(4, 5), f(4, 5)),
    "mse sum": (lambda F, a, b: F.mse_loss(a, b, reduction="sum"), f(4, 5), f(4, 5)),
    "mse none": (lambda F, a, b: F.mse_loss(a, b, reduction="none"), f(4, 5), f(4, 5)),
    "mse broadcast": (lambda F, a, b: F.mse_loss(a, b), f(4, 5), f(5)),
    "mse weight": (lambda F, a, b, w: F.mse_loss(a, b, weight=w), f(4, 5), f(4, 5), p(4, 5)),
    "mse mixed": (lambda F, a, b: F.mse_loss(a, b), f(4, 5).astype("f4"), f(4, 5)),
    "mse empty": (lambda F, a, b: F.mse_loss(a, b), f(0), f(0)),
    "l1": (lambda F, a, b: F.l1_loss(a, b), f(4, 5), f(4, 5)),
    "l1 none": (lambda F, a, b: F.l1_loss(a, b, reduction="none"), f(4, 5), f(4, 5)),
    "smooth_l1": (lambda F, a, b: F.smooth_l1_loss(a, b), f(4, 5), f(4, 5)),
    "smooth_l1 beta": (lambda F, a, b: F.smooth_l1_loss(a, b, beta=0.3, reduction="none"), f(4, 5), f(4, 5)),
    "smooth_l1 beta 0": (lambda F, a, b: F.smooth_l1_loss(a, b, beta=0.0), f(4, 5), f(4, 5)),
    "huber": (lambda F, a, b: F.huber_loss(a, b, delta=0.7), f(4, 5), f(4, 5)),
    "huber sum": (lambda F, a, b: F.huber_loss(a, b, reduction="sum"), f(4, 5), f(4, 5)),
    "huber weight": (lambda F, a, b, w: F.huber_loss(a, b, weight=w), f(4, 5), f(4, 5), p(4, 5)),
    "nll": (lambda F, x, t: F.nll_loss(x, t), f(4, 5), i(5, 4)),
    "nll 1-dim": (lambda F, x, t: F.nll_loss(x, t), f(5), np.array(3)),
    "nll 3-dim": (lambda F, x, t: F.nll_loss(x, t), f(2, 5, 3), i(5, 2, 3)),
    "nll ignored": (lambda F, x, t: F.nll_loss(x, t), f(4, 5), IGNORED),
    "nll ignored none": (lambda F, x, t: F.nll_loss(x, t, reduction="none"), f(4, 5), IGNORED),
    "nll ignore class": (lambda F, x, t: F.nll_loss(x, t, ignore_index=2), f(4, 5), np.array([0, 2, 2, 1])),
    "nll all ignored": (lambda F, x, t: F.nll_loss(x, t), f(2, 5), np.array([-100, -100])),
    "nll empty": (lambda F, x, t: F.nll_loss(x, t), f(0, 5), i(5, 0)),
    "nll bytes": (lambda F, x, t: F.nll_loss(x, t), f(4, 5), i(5, 4).astype(np.uint8)),
    "cross_entropy": (lambda F, x, t: F.cross_entropy(x, t), f(4, 5), i(5, 4)),
    "cross_entropy f32": (lambda F, x, t: F.cross_entropy(x, t), f(4, 5).astype("f4"), i(5, 4)),
    "cross_entropy sum": (lambda F, x, t: F.cross_entropy(x, t, reduction="sum"), f(4, 5), i(5, 4)),
    "cross_entropy none": (lambda F, x, t: F.cross_entropy(x, t, reduction="none"), f(4, 5), i(5, 4)),
    "cross_entropy 1-dim": (lambda F, x, t: F.cross_entropy(x, t), f(5), np.array(3)),
    "cross_entropy 3-dim": (lambda F, x, t: F.cross_entropy(x, t), f(2, 5, 3), i(5, 2, 3)),
    "cross_entropy 3-dim none": (lambda F, x, t: F.cross_entropy(x, t, reduction="none"), f(2, 5, 3), i(5, 2, 3)),
    "cross_entropy 4-dim": (lambda F, x, t: F.cross_entropy(x, t), f(2, 5, 3, 2), i(5, 2, 3, 2)),
    "cross_entropy 5-dim": (lambda F, x, t: F.cross_entropy(x, t), f(2, 5, 3, 2, 2), i(5, 2, 3, 2, 2)),
    "cross_entropy probabilities": (lambda F, x, t: F.cross_entropy(x, t), f(4, 5), p(4, 5)),
    "cross_entropy probabilities none": (lambda F, x, t: F.cross_entropy(x, t, reduction="none"), f(4, 5), p(4, 5)),
    "cross_entropy probabilities smoothed":
        (lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction="sum"), f(2, 5, 3), p(2, 5, 3)),
    "cross_entropy smoothed": (lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.1), f(4, 5), i(5, 4)),
    "cross_entropy smoothed none":
        (lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.1, reduction="none"), f(4, 5), IGNORED),
    "cross_entropy smoothed ignored": (lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.1), f(4, 5), IGNORED),
    "binary_cross_entropy": (lambda F, x, t: F.binary_cross_entropy(x, t), p(4, 5), p(4, 5)),
    "binary_cross_entropy none": (lambda F, x, t: F.binary_cross_entropy(x, t, reduction="none"), p(4, 5), p(4, 5)),
    "with_logits": (lambda F, x, t: F.binary_cross_entropy_with_logits(x, t), f(4, 5), p(4, 5)),
    "with_logits sum": (lambda F, x, t: F.binary_cross_entropy_with_logits(x, t, reduction="sum"), f(4, 5), p(4, 5)),
    "with_logits large": (lambda F, x, t: F.binary_cross_entropy_with_logits(x * 500, t), f(4, 5), p(4, 5)),
    "kl_div": (lambda F, x, t: F.kl_div(x, t, reduction="batchmean"), f(4, 5), p(4, 5)),
    "kl_div log": (lambda F, x, t: F.kl_div(x, t, log_target=True), f(4, 5), f(4, 5)),
    "poisson": (lambda F, x, t: F.poisson_nll_loss(x, t), f(4, 5), 3 * p(4, 5)),
    "poisson full": (lambda F, x, t: F.poisson_nll_loss(x, t, full=True), f(4, 5), 3 * p(4, 5)),
    "poisson rate": (lambda F, x, t: F.poisson_nll_loss(x, t, log_input=False, reduction="sum"), p(4, 5), 3 * p(4, 5)),
    "gaussian": (lambda F, x, t, v: F.gaussian_nll_loss(x, t, v), f(4, 5), f(4, 5), p(4, 5)),
    "gaussian full":
        (lambda F, x, t, v: F.gaussian_nll_loss(x, t, v, full=True, reduction="none"), f(4, 5), f(4, 5), p(4, 1)),
    "gaussian number": (lambda F, x, t: F.gaussian_nll_loss(x, t, 0.5), f(4, 5), f(4, 5)),
    "hinge": (lambda F, x: F.hinge_embedding_loss(x, x.detach().sign()), f(4, 5)),
    "soft_margin": (lambda F, x: F.soft_margin_loss(x, x.detach().sin().sign()), f(4, 5)),
    "soft_margin beyond exp": (lambda F, x: F.soft_margin_loss(x * 500, x.detach().sin().sign(), reduction="none"), f(4, 5)),
    "multilabel_soft_margin": (lambda F, x, t: F.multilabel_soft_margin_loss(x, t), f(4, 5), p(4, 5)),
    "triplet": (lambda F, a, b, c: F.triplet_margin_loss(a, b, c), f(4, 5), f(4, 5), f(4, 5)),
    "triplet swap": (lambda F, a, b, c: F.triplet_margin_loss(a, b, c, swap=True, p=1), f(4, 5), f(4, 5), f(4, 5)),
    "triplet with distance":
        (lambda F, a, b, c: F.triplet_margin_with_distance_loss(a, b, c, swap=True), f(4, 5), f(4, 5), f(4, 5)),
    "normalize": (lambda F, x: F.normalize(x), f(4, 5)),
    "normalize p": (lambda F, x: F.normalize(x, p=3.0, dim=0), f(4, 5)),
    "cosine_similarity": (lambda F, a, b: F.cosine_similarity(a, b), f(4, 5), f(4, 5)),
    "cosine_similarity broadcast": (lambda F, a, b: F.cosine_similarity(a, b, dim=-1), f(4, 5), f(5)),
    "pairwise_distance": (lambda F, a, b: F.pairwise_distance(a, b), f(4, 5), f(4, 5)),
    "pairwise_distance p": (lambda F, a, b: F.pairwise_distance(a, b, p=3.0, keepdim=True), f(4, 5), f(4, 5)),
    "embedding": (lambda F, w, t: F.embedding(t, w), f(6, 3), i(6, 2, 4)),
    "embedding padding": (lambda F, w, t: F.embedding(t, w, padding_idx=1), f(6, 3), np.array([0, 1, 1, 5])),
    "embedding last padding": (lambda F, w, t: F.embedding(t, w, padding_idx=-1), f(6, 3), np.array([0, 1, 1, 5])),
    "embedding 0-dim": (lambda F, w, t: F.embedding(t, w), f(6, 3), np.array(2)),
    "embedding empty": (lambda F, w, t: F.embedding(t, w), f(6, 3), i(6, 0)),
    "layer_norm": (lambda F, x: F.layer_norm(x, (5,)), f(4, 5)),
    "layer_norm affine": (lambda F, x, w, b: F.layer_norm(x, (3, 5), w, b), f(4, 3, 5), f(3, 5), f(3, 5)),
    "layer_norm of a vector": (lambda F, x, w, b: F.layer_norm(x, (5,), w, b), f(5), f(5), f(5)),
    "layer_norm whole": (lambda F, x, w: F.layer_norm(x, (4, 5), w, eps=0.1), f(4, 5), f(4, 5)),
    "rms_norm": (lambda F, x, w: F.rms_norm(x, (5,), w), f(4, 5), f(5)),
    "batch_norm": (lambda F, x: F.batch_norm(x, None, None, training=True), f(4, 5)),
    "batch_norm affine": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), f(4, 5, 3), f(5), f(5)),
    "group_norm": (lambda F, x: F.group_norm(x, 2), f(3, 4, 5)),
    "group_norm affine": (lambda F, x, w, b: F.group_norm(x, 2, w, b), f(3, 4, 5, 2), f(4), f(4)),
    "instance_norm": (lambda F, x: F.instance_norm(x), f(3, 4, 5)),
    "instance_norm without eps": (lambda F, x: F.instance_norm(x, eps=0), f(3, 4, 5)),
    "rrelu in place": (lambda F, x: F.rrelu_(x * 2, 0.1, 0.3), f(4, 5)),
    "instance_norm affine": (lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b), f(3, 4, 5), f(4), f(4)),
    "local_response_norm": (lambda F, x: F.local_response_norm(x, 3), f(2, 5, 3)),
    "bilinear": (lambda F, a, b, w, c: F.bilinear(a, b, w, c), f(4, 3), f(4, 2), f(5, 3, 2), f(5)),
    "bilinear batches": (lambda F, a, b, w: F.bilinear(a, b, w), f(2, 4, 3), f(2, 4, 2), f(5, 3, 2)),
    "linear": (lambda F, x, w, b: F.linear(x, w, b), f(4, 3), f(5, 3), f(5)),
    "glu": (lambda F, x: F.glu(x), f(3, 6)),
    "glu first": (lambda F, x: F.glu(x, 0), f(4, 3)),
    "prelu": (lambda F, x, w: F.prelu(x, w), f(4, 3, 2), f(3)),
    "prelu one": (lambda F, x, w: F.prelu(x, w), f(4, 3), f(1)),
    "prelu vector": (lambda F, x, w: F.prelu(x, w), f(4), f(1)),
    "hardshrink": (lambda F, x: F.hardshrink(x), f(4, 5)),
    "softshrink": (lambda F, x: F.softshrink(x, 0.3), f(4, 5)),
    "rrelu": (lambda F, x: F.rrelu(x), f(4, 5)),
    "relu": (lambda F, x: F.relu(x), f(4, 5)),
    "gelu": (lambda F, x: F.gelu(x), f(4, 5)),
    "pad": (lambda F, x: F.pad(x, (1, 2)), f(4, 5)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, *arrays = CASES[name]
    # Torch's second derivative of binary_cross_entropy adds a small number to the divisor.
    check(lambda module, *tensors: function(module.nn.functional, *tensors), arrays, order=1 if "mixed" in name else 2,
          rtol=1e-8 if "binary" in name else None)


def constant(module: Any, array: np.ndarray) -> Any:
    return module.from_numpy(array.copy())


W = p(5)
# Arguments that may not require grad.
WEIGHTED: dict[str, Any] = {
    "nll": (lambda m, F, x: F.nll_loss(x, constant(m, IGNORED), constant(m, W)), f(4, 5)),
    "nll none": (lambda m, F, x: F.nll_loss(x, constant(m, IGNORED), constant(m, W), reduction="none"), f(4, 5)),
    "nll 4-dim":
        (lambda m, F, x: F.nll_loss(x, constant(m, np.array([[[0, -100]], [[4, 4]]])), constant(m, W)), f(2, 5, 1, 2)),
    "cross_entropy": (lambda m, F, x: F.cross_entropy(x, constant(m, IGNORED), constant(m, W)), f(4, 5)),
    "cross_entropy smoothed":
        (lambda m, F, x: F.cross_entropy(x, constant(m, IGNORED), constant(m, W), label_smoothing=0.2), f(4, 5)),
    "cross_entropy smoothed sum":
        (lambda m, F, x: F.cross_entropy(x, constant(m, i(5, 2, 3) * 0 + 2), constant(m, W), label_smoothing=0.2,
                                         reduction="sum"), f(2, 5, 3)),
    "cross_entropy probabilities": (lambda m, F, x, t: F.cross_entropy(x, t, constant(m, W)), f(4, 5), p(4, 5)),
    "binary_cross_entropy": (lambda m, F, x, t: F.binary_cross_entropy(x, t, constant(m, W)), p(4, 5), p(4, 5)),
    "with_logits": (lambda m, F, x, t: F.binary_cross_entropy_with_logits(x, t, constant(m, W)), f(4, 5), p(4, 5)),
    "with_logits pos_weight":
        (lambda m, F, x, t: F.binary_cross_entropy_with_logits(x, t, constant(m, W), pos_weight=constant(m, W)),
         f(4, 5), p(4, 5)),
    "margin_ranking": (lambda m, F, a, b: F.margin_ranking_loss(a, b, constant(m, SIGNS), 0.1), f(4), f(4)),
    "cosine_embedding": (lambda m, F, a, b: F.cosine_embedding_loss(a, b, constant(m, SIGNS), 0.1), f(4, 5), f(4, 5)),
    "cosine_embedding 0-dim":
        (lambda m, F, a, b: F.cosine_embedding_loss(a, b, constant(m, np.array(1.0))), f(5), f(5)),
    "batch_norm eval":
        (lambda m, F, x, w, b: F.batch_norm(x, constant(m, W - 0.5), constant(m, W), w, b), f(4, 5, 3), f(5), f(5)),
    "embedding by frequency":
        (lambda m, F, w: F.embedding(constant(m, np.array([1, 1, 2])), w, scale_grad_by_freq=True), f(6, 3)),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_with_constants(name: str) -> None:
    function, *arrays = WEIGHTED[name]
    # Torch's own second derivative forgets the frequencies.
    check(lambda module, *tensors: function(module, module.nn.functional, *tensors), arrays,
          order=1 if "frequency" in name else 2)


FIRST_ORDER: dict[str, Any] = {
    "multi_margin": (lambda F, x, t: F.multi_margin_loss(x, t), f(4, 5), i(5, 4)),
    "multi_margin p": (lambda F, x, t: F.multi_margin_loss(x, t, p=2, margin=0.5, reduction="sum"), f(4, 5), i(5, 4)),
    "multi_margin none": (lambda F, x, t: F.multi_margin_loss(x, t, reduction="none"), f(4, 5), i(5, 4)),
    "multi_margin 1-dim": (lambda F, x, t: F.multi_margin_loss(x, t), f(5), np.array(2)),
    "multilabel_margin": (lambda F, x, t: F.multilabel_margin_loss(x, t), f(3, 4),
                          np.array([[3, 0, -1, 1], [0, 1, 2, 3], [-1, 1, 0, 2]])),
    "multilabel_margin none": (lambda F, x, t: F.multilabel_margin_loss(x, t, reduction="none"), f(2, 4),
                               np.array([[3, 0, -1, 1], [2, -1, 2, 3]])),
    "multilabel_margin 1-dim": (lambda F, x, t: F.multilabel_margin_loss(x, t), f(4), np.array([1, -1, 0, 0])),
}


@pytest.mark.parametrize("name", FIRST_ORDER)
def test_first_order_only(name: str) -> None:
    function, *arrays = FIRST_ORDER[name]
    check(lambda module, *tensors: function(module.nn.functional, *tensors), arrays, order=1)


RANDOM: dict[str, Any] = {
    "dropout": (lambda F, x: F.dropout(x, 0.3), f(7, 5)),
    "dropout f32": (lambda F, x: F.dropout(x, 0.3), f(7, 5).astype("f4")),
    "dropout transposed": (lambda F, x: F.dropout(x.t(), 0.3), f(7, 5)),
    "dropout all": (lambda F, x: F.dropout(x, 1.0), f(7, 5)),
    "dropout none": (lambda F, x: F.dropout(x, 0.0) * 2, f(7, 5)),
    "dropout eval": (lambda F, x: F.dropout(x, training=False) * 2, f(7, 5)),
    "dropout inplace": (lambda F, x: F.dropout(x * 2, inplace=True), f(7, 5)),
    "dropout1d": (lambda F, x: F.dropout1d(x), f(7, 5, 3)),
    "dropout1d alone": (lambda F, x: F.dropout1d(x), f(7, 5)),
    "dropout2d": (lambda F, x: F.dropout2d(x), f(3, 5, 3, 2)),
    "dropout3d": (lambda F, x: F.dropout3d(x), f(5, 3, 2, 2)),
    "alpha_dropout": (lambda F, x: F.alpha_dropout(x, 0.4, True), f(7, 5)),
    "alpha_dropout all": (lambda F, x: F.alpha_dropout(x, 1.0, True), f(7, 5)),
    "feature_alpha_dropout": (lambda F, x: F.feature_alpha_dropout(x, 0.4, True), f(7, 5, 2)),
    "rrelu": (lambda F, x: F.rrelu(x, training=True), f(7, 5)),
    "rrelu f32": (lambda F, x: F.rrelu(x, training=True), f(7, 5).astype("f4")),
    "gumbel_softmax": (lambda F, x: F.gumbel_softmax(x, tau=0.7), f(7, 5)),
    "gumbel_softmax hard": (lambda F, x: F.gumbel_softmax(x, hard=True), f(7, 5)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_same_seed_same_numbers(name: str) -> None:
    function, array = RANDOM[name]

    def seeded(module: Any, x: Any) -> Any:
        module.manual_seed(3)
        return function(module.nn.functional, x), module.rand(2)

    check(seeded, [array], order=1)


def tensors(module: Any) -> dict[str, Any]:
    return {"x": module.ones(3, 4), "t": module.tensor([0, 1, 2]), "long": module.ones(3, 4).long(), "m": module}


ERRORS = [
    "F.softmax(x, 5)", "F.softmax(long, 1)", "m.log_softmax(long, 0)", "F.softmax(x.to(m.complex64), 1)",
    "F.mse_loss(long, long)", "F.mse_loss(x, 3)", "F.mse_loss(x, m.ones(3))", "F.mse_loss(x, x, reduction='q')",
    "F.smooth_l1_loss(long, long)", "F.smooth_l1_loss(x, x, beta=-1.)", "F.huber_loss(long, long)",
    "F.huber_loss(x, x, delta=-1.)", "F.huber_loss(x, x, weight=m.ones(2))", "F.l1_loss(x, x, weight=m.ones(2))",
    "F.cross_entropy(x, m.tensor([0, 1, 9]))", "F.cross_entropy(x, m.tensor([0, 1, -1]))",
    "F.cross_entropy(x, m.tensor([0, 1]))", "F.cross_entropy(x, m.tensor(1))",
    "F.cross_entropy(x, m.tensor([0., 1, 2]))", "F.cross_entropy(x, long)", "F.cross_entropy(x, t, reduction='foo')",
    "F.cross_entropy(x, t, weight=m.ones(3))", "F.cross_entropy(x, t, weight=m.ones(4, requires_grad=True))",
    "F.cross_entropy(x, t, weight=m.ones(4).double())", "F.cross_entropy(x, t.int())",
    "F.cross_entropy(x, t, label_smoothing=1.5)", "F.cross_entropy(x, x, ignore_index=1)",
    "F.cross_entropy(x, x, weight=m.ones(2))", "F.cross_entropy(long, t)", "F.nll_loss(x, m.tensor([[0, 1, 2]]))",
    "F.nll_loss(x, t.view(3, 1))", "F.nll_loss(x[0], t)", "F.nll_loss(x[0, 0], m.tensor(0))",
    "F.nll_loss(x, t.double())", "F.nll_loss(m.ones(2, 3, 4), m.ones(2, 5).long())",
    "F.nll_loss(m.ones(2, 3, 4, 5), m.ones(2, 5, 5).long())", "F.nll_loss(m.ones(2, 3, 4, 5), m.ones(2, 5).long())",
    "F.binary_cross_entropy(x * 2, x)", "F.binary_cross_entropy(x, x * 2)", "F.binary_cross_entropy(x, m.ones(3))",
    "F.binary_cross_entropy(x, long)", "F.binary_cross_entropy(x, x.double())",
    "F.binary_cross_entropy(x, x, weight=m.ones(4, requires_grad=True))",
    "F.binary_cross_entropy_with_logits(x, m.ones(3))", "F.binary_cross_entropy_with_logits(x, long)",
    "F.embedding(m.tensor([0, 5]), x)", "F.embedding(m.tensor([-1]), x)", "F.embedding(m.tensor([0.]), x)",
    "F.embedding(t, x[0])", "F.embedding(t.short(), x)", "F.embedding(t, x, padding_idx=7)",
    "F.one_hot(m.tensor([0.]))", "F.one_hot(m.tensor([3]), 2)", "F.one_hot(m.tensor([-1]))",
    "F.one_hot(m.tensor([], dtype=m.int64))", "F.one_hot(m.tensor([1]), 0)", "F.layer_norm(x, (3,))",
    "F.layer_norm(x, (4,), m.ones(3))", "F.layer_norm(x, ())", "F.batch_norm(x[:1], None, None, training=True)",
    "F.batch_norm(x, None, None)", "F.batch_norm(x, m.ones(3), m.ones(3), training=True)",
    "F.batch_norm(x, m.ones(4), m.ones(4), m.ones(2), training=True)",
    "F.batch_norm(x, None, None, training=True, eps=0.0)", "F.group_norm(x, 3)", "F.group_norm(x, 2, m.ones(3))",
    "F.elu_(x * 2, -2.0).sum().backward()", "F.celu_(x * 2, -2.0).sum().backward()",
    "F.rrelu_(x * 2, -5.0, 1.0).sum().backward()",
    "F.group_norm(x[0], 2)", "F.instance_norm(m.ones(2, 3, 1))",
    "F.instance_norm(m.ones(2, 3, 2), use_input_stats=False)", "F.dropout(x, 1.5)", "F.dropout1d(x[0])",
    "F.dropout2d(x[0])", "F.alpha_dropout(x, -1, True)", "F.cosine_similarity(t, t, 0)",
    "F.cosine_embedding_loss(x, x, m.ones(2, 2))", "F.cosine_embedding_loss(x[0], x[0], m.ones(2))",
    "F.margin_ranking_loss(x, x, m.ones(3))", "F.triplet_margin_loss(x, x, x[0])",
    "F.triplet_margin_loss(x, x, x, margin=-1.)", "F.multi_margin_loss(x, m.tensor([0, 1, 7]))",
    "F.multi_margin_loss(x, t, p=3)", "F.multilabel_margin_loss(x, t)", "F.gaussian_nll_loss(x, x, -1.)",
    "F.gaussian_nll_loss(x, x, m.ones(2))", "F.gaussian_nll_loss(x, x, x, reduction='q')",
    "F.poisson_nll_loss(x, x, reduction='q')", "F.kl_div(x, x, reduction='q')",
    "F.hinge_embedding_loss(x, x, reduction='q')", "F.glu(m.ones(3))", "F.glu(m.tensor(1.))", "F.prelu(x, m.ones(3))",
    "F.prelu(x, m.ones(2, 2))", "F.prelu(x, m.ones(4).double())", "F.bilinear(x, x, m.ones(2, 3, 4))",
    "F.softshrink(x, -1.)",
]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression: str) -> None:
    same_error(lambda: eval(expression, {"F": torch.nn.functional, **tensors(torch)}),
               lambda: eval(expression, {"F": whygrad.nn.functional, **tensors(whygrad)}))


WARNINGS = [
    "F.mse_loss(x, m.ones(4))", "F.l1_loss(x, m.ones(4))", "F.softmax(x)", "F.log_softmax(m.ones(2))", "F.softmin(x)",
    "F.kl_div(x, x)", "F.mse_loss(x, x, size_average=False)", "F.l1_loss(x, x, reduce=False)",
    "F.dropout2d(m.ones(2, 3, 4))", "F.dropout3d(m.ones(2, 3, 4))", "F.gumbel_softmax(x, eps=1e-5)",
    "F.mse_loss(x, x, reduction='elementwise_mean')",
]


@pytest.mark.parametrize("expression", WARNINGS)
def test_warnings(expression: str) -> None:
    caught = []
    for module in (torch, whygrad):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            eval(expression, {"F": module.nn.functional, **tensors(module)})
        caught.append([(w.category, str(w.message)) for w in found])
        assert found[0].filename == "<string>" or module is torch
    assert caught[0] == caught[1]


def test_running_statistics() -> None:
    x = f(4, 5, 3)
    theirs, ours = [], []
    for module, into in ((torch, theirs), (whygrad, ours)):
        mean, var = module.zeros(5, dtype=module.float64), module.ones(5, dtype=module.float64)
        module.nn.functional.batch_norm(constant(module, x), mean, var, training=True, momentum=0.3)
        into += [mean, var, mean._version, var._version]
        mean, var = module.zeros(5, dtype=module.float64), module.ones(5, dtype=module.float64)
        module.nn.functional.instance_norm(constant(module, x), mean, var)
        into += [mean, var]
    assert_same(theirs, ours)


def test_one_target_in_a_vector() -> None:
    def loss(module: Any) -> Any:
        return module.nn.functional.nll_loss(module.ones(5, requires_grad=True), module.tensor([3]), reduction="none")

    assert_same(loss(torch), loss(whygrad))
    same_error(lambda: loss(torch).backward(), lambda: loss(whygrad).backward())


def test_one_hot() -> None:
    theirs, ours = pair(i(4, 2, 3))
    assert_same(torch.nn.functional.one_hot(theirs), whygrad.nn.functional.one_hot(ours))
    assert_same(torch.nn.functional.one_hot(theirs, 7), whygrad.nn.functional.one_hot(ours, 7))


def test_embedding_max_norm_shrinks_the_named_rows() -> None:
    (theirs, ours), (their_index, our_index) = pair(f(6, 3)), pair(np.array([0, 2, 2]))
    assert_same(torch.nn.functional.embedding(their_index, theirs, max_norm=1.0),
                whygrad.nn.functional.embedding(our_index, ours, max_norm=1.0))
    assert_same(theirs, ours)


def test_softmax_methods() -> None:
    theirs, ours = pair(f(3, 4).astype("f4"))
    assert_same(theirs.softmax(-1), ours.softmax(-1))
    assert_same(torch.log_softmax(theirs, 0, torch.float64), whygrad.log_softmax(ours, 0, whygrad.float64))
    assert_same(torch.softmax(theirs.long(), 0, dtype=torch.float),
                whygrad.softmax(ours.long(), 0, dtype=whygrad.float))
    assert_same(theirs.half().softmax(1), ours.half().softmax(1))
