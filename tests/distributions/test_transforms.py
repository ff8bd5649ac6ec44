"""Transforms and constraints against torch."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from distribution_cases import covariance, positive, real, shares
from oracle import assert_same, check, outcome, same_error

import whygrad

LOWER = np.tril(real(2, 3, 3), -1) + np.eye(3)

# how it is made, a point in its domain
TRANSFORMS: dict[str, tuple[Any, np.ndarray]] = {
    "identity": (lambda d, lib: d.identity_transform, real(2, 3)),
    "Exp": (lambda d, lib: d.ExpTransform(), real(2, 3)),
    "Power": (lambda d, lib: d.PowerTransform(2.5), positive(2, 3)),
    "Power tensor": (lambda d, lib: d.PowerTransform(lib.tensor([2.0, -1.5, 0.5])), positive(2, 3)),
    "Sigmoid": (lambda d, lib: d.SigmoidTransform(), real(2, 3)),
    "Softplus": (lambda d, lib: d.SoftplusTransform(), real(2, 3)),
    "Tanh": (lambda d, lib: d.TanhTransform(), real(2, 3)),
    "Abs": (lambda d, lib: d.AbsTransform(), positive(2, 3)),
    "Affine": (lambda d, lib: d.AffineTransform(1.5, -2.0), real(2, 3)),
    "Affine tensor": (lambda d, lib: d.AffineTransform(lib.tensor([1.0, 2.0, 3.0]), lib.tensor([-2.0, 1.0, 0.5]), event_dim=1),
                      real(2, 3)),
    "Compose": (lambda d, lib: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.TanhTransform(), d.ExpTransform()]),
                real(2, 3)),
    "Compose with vectors": (lambda d, lib: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.StickBreakingTransform()]),
                             real(2, 3)),
    "inverse": (lambda d, lib: d.ExpTransform().inv, positive(2, 3)),
    "inverse of Compose": (lambda d, lib: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.5, 2.0)]).inv,
                           1 + positive(2, 3)),
    "Softmax": (lambda d, lib: d.SoftmaxTransform(), real(2, 3)),
    "StickBreaking": (lambda d, lib: d.StickBreakingTransform(), real(2, 3)),
    "LowerCholesky": (lambda d, lib: d.LowerCholeskyTransform(), LOWER),
    "PositiveDefinite": (lambda d, lib: d.PositiveDefiniteTransform(), LOWER),
    "CorrCholesky": (lambda d, lib: d.CorrCholeskyTransform(), real(2, 6)),
    "Reshape": (lambda d, lib: d.ReshapeTransform((2, 3), (6,)), real(4, 2, 3)),
    "Independent": (lambda d, lib: d.IndependentTransform(d.ExpTransform(), 1), real(2, 3)),
    "Cat": (lambda d, lib: d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]), real(2, 3)),
    "Cat of vectors": (lambda d, lib: d.CatTransform([d.IndependentTransform(d.ExpTransform(), 1), d.TanhTransform()], dim=0),
                       real(2, 3)),
    "Stack": (lambda d, lib: d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=0), real(2, 3)),
    "Cumulative": (lambda d, lib: d.CumulativeDistributionTransform(lib.distributions.Normal(0.5, 2.0)), real(2, 3)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_there_back_and_volume(name: str) -> None:
    make, x = TRANSFORMS[name]

    def run(lib: Any, x: Any) -> Any:
        lib.set_default_dtype(lib.float64)
        try:
            t = make(lib.distributions.transforms, lib)
            y = t(x)
            results = [y, t.inv(y)]
            jacobian = outcome(lambda: t.log_abs_det_jacobian(x, y))
            return [*results, jacobian[1]] if jacobian[0] == "value" else results
        finally:
            lib.set_default_dtype(lib.float32)

    check(run, [x], order=1, check_node=False, rtol=1e-8)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_facts(name: str) -> None:
    make, x = TRANSFORMS[name]
    theirs, ours = make(torch.distributions.transforms, torch), make(whygrad.distributions.transforms, whygrad)
    for fact in (repr, lambda t: t.bijective, lambda t: t.sign, lambda t: repr(t.domain), lambda t: repr(t.codomain),
                 lambda t: t.domain.event_dim, lambda t: t.codomain.event_dim, lambda t: t.event_dim,
                 lambda t: repr(t.inv), lambda t: t.inv.inv is t, lambda t: t == t, lambda t: t == t.inv,
                 lambda t: repr(t.with_cache()), lambda t: tuple(t.forward_shape(x.shape)),
                 lambda t: tuple(t.inverse_shape(t.forward_shape(x.shape))), lambda t: t.forward_shape(())):
        a, b = outcome(lambda f=fact: f(theirs)), outcome(lambda f=fact: f(ours))
        assert a[0] == b[0], (a, b)
        if a[0] == "value":
            assert_same(a[1], b[1])
        else:
            assert a[1] == b[1]


def test_equal_transforms() -> None:
    d = whygrad.distributions
    assert d.AffineTransform(1.0, 2.0) == d.AffineTransform(1.0, 2.0)
    assert d.AffineTransform(1.0, 2.0) != d.AffineTransform(1.0, 3.0)
    assert d.AffineTransform(whygrad.zeros(2), 2.0) == d.AffineTransform(whygrad.zeros(2), 2.0)
    assert d.PowerTransform(2.0) == d.PowerTransform(2.0)
    assert d.ExpTransform() != d.TanhTransform()


def test_cache_gives_the_same_tensor_back() -> None:
    t = whygrad.distributions.TanhTransform(cache_size=1)
    x = whygrad.tensor([10.0])  # atanh(tanh(10)) is not 10 in single precision
    y = t(x)
    assert t.inv(y) is x
    assert t(x) is y
    same_error(lambda: torch.distributions.ExpTransform(cache_size=2), lambda: whygrad.distributions.ExpTransform(cache_size=2))


def test_transforms_and_distributions_can_be_pickled() -> None:
    d = whygrad.distributions
    for kept in (d.ComposeTransform([d.ExpTransform()]), d.Normal(whygrad.zeros(2), 1.0)):
        assert repr(pickle.loads(pickle.dumps(kept))) == repr(kept)


CONSTRAINTS: dict[str, tuple[Any, np.ndarray]] = {
    "boolean": (lambda c: c.boolean, np.array([0.0, 1.0, 0.5])),
    "one_hot": (lambda c: c.one_hot, np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]])),
    "integer_interval": (lambda c: c.integer_interval(0, 3), np.array([0.0, 3.0, 4.0, 1.5, -1.0])),
    "nonnegative_integer": (lambda c: c.nonnegative_integer, np.array([0.0, 3.0, -1.0, 0.5])),
    "positive_integer": (lambda c: c.positive_integer, np.array([0.0, 3.0, 0.5])),
    "real": (lambda c: c.real, np.array([0.0, np.nan, np.inf])),
    "real_vector": (lambda c: c.real_vector, np.array([[0.0, np.nan], [1.0, 2.0]])),
    "positive": (lambda c: c.positive, np.array([0.0, 1.0, -1.0])),
    "nonnegative": (lambda c: c.nonnegative, np.array([0.0, 1.0, -1.0])),
    "greater_than": (lambda c: c.greater_than(2), np.array([2.0, 3.0])),
    "greater_than_eq": (lambda c: c.greater_than_eq(lower_bound=2), np.array([2.0, 1.0])),
    "less_than": (lambda c: c.less_than(2), np.array([2.0, 1.0])),
    "unit_interval": (lambda c: c.unit_interval, np.array([0.0, 1.0, 2.0])),
    "interval": (lambda c: c.interval(-1, 1), np.array([0.0, 1.0, 2.0])),
    "half_open_interval": (lambda c: c.half_open_interval(-1, 1), np.array([0.0, 1.0, -1.0])),
    "simplex": (lambda c: c.simplex, np.array([[0.5, 0.5], [1.0, 1.0], [-0.5, 1.5]])),
    "multinomial": (lambda c: c.multinomial(3), np.array([[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]])),
    "lower_triangular": (lambda c: c.lower_triangular, np.stack([LOWER[0], real(3, 3)])),
    "lower_cholesky": (lambda c: c.lower_cholesky, np.stack([LOWER[0], -LOWER[0]])),
    "corr_cholesky": (lambda c: c.corr_cholesky, np.stack([LOWER[0], np.eye(3)])),
    "square": (lambda c: c.square, real(2, 3, 2)),
    "symmetric": (lambda c: c.symmetric, np.stack([covariance(3, 3), real(3, 3)])),
    "positive_definite": (lambda c: c.positive_definite, np.stack([covariance(3, 3), -covariance(3, 3)])),
    "positive_semidefinite": (lambda c: c.positive_semidefinite, np.stack([covariance(3, 3), -covariance(3, 3)])),
    "independent": (lambda c: c.independent(c.positive, 1), real(3, 2)),
    "cat": (lambda c: c.cat([c.positive, c.real], -1, [1, 2]), real(4, 3)),
    "stack": (lambda c: c.stack([c.positive, c.real], 0), real(2, 3)),
    "mixture": (lambda c: c.MixtureSameFamilyConstraint(c.positive), positive(3)),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name: str) -> None:
    make, values = CONSTRAINTS[name]
    theirs, ours = make(torch.distributions.constraints), make(whygrad.distributions.constraints)
    assert_same(theirs.check(torch.from_numpy(values)), ours.check(whygrad.from_numpy(values)))
    for fact in (repr, lambda c: c.is_discrete, lambda c: c.event_dim):
        assert outcome(lambda f=fact: f(theirs)) == outcome(lambda f=fact: f(ours))


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registry(name: str, registry: str) -> None:
    make, _ = CONSTRAINTS[name]
    a = outcome(lambda: repr(getattr(torch.distributions, registry)(make(torch.distributions.constraints))))
    b = outcome(lambda: repr(getattr(whygrad.distributions, registry)(make(whygrad.distributions.constraints))))
    assert a == b


def test_unconstrained_parameters() -> None:
    """The usual use: optimise freely, map into the region."""
    def run(lib: Any, x: Any) -> Any:
        d = lib.distributions
        return [d.transform_to(c)(x) for c in (d.constraints.positive, d.constraints.interval(-2.0, 3.0), d.constraints.simplex)]

    check(run, [real(3, 4)], check_node=False, rtol=1e-8)
    x = shares(4)
    assert_same(torch.distributions.biject_to(torch.distributions.constraints.simplex).inv(torch.from_numpy(x)),
                whygrad.distributions.biject_to(whygrad.distributions.constraints.simplex).inv(whygrad.from_numpy(x)))
