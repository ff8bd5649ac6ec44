"""What is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle import outcome

import whygrad

ERRORS: dict[str, Any] = {
    "scale of Normal": lambda d, t: d.Normal(t([0.0, 1.0]), t([1.0, -1.0])),
    "scale of Normal, a number": lambda d, t: d.Normal(0.0, -1.0),
    "nan": lambda d, t: d.Normal(t([float("nan")]), 1.0),
    "not a number": lambda d, t: d.Normal("a", 1.0),
    "low above high": lambda d, t: d.Uniform(2.0, 1.0),
    "probs and logits": lambda d, t: d.Bernoulli(probs=t([0.5]), logits=t([0.0])),
    "neither": lambda d, t: d.Categorical(),
    "probs of Bernoulli": lambda d, t: d.Bernoulli(t([1.5])),
    "probs of Categorical": lambda d, t: d.Categorical(t([-0.5, 1.5])),
    "0-dim Categorical": lambda d, t: d.Categorical(t(0.5)),
    "0-dim logits": lambda d, t: d.Categorical(logits=t(0.5)),
    "Geometric of zero": lambda d, t: d.Geometric(t([0.0, 0.5])),
    "0-dim Dirichlet": lambda d, t: d.Dirichlet(t(1.0)),
    "Beta": lambda d, t: d.Beta(t([-1.0]), t([1.0])),
    "Gamma": lambda d, t: d.Gamma(0.0, 1.0),
    "loc of MultivariateNormal": lambda d, t: d.MultivariateNormal(t(0.0), t([[1.0]])),
    "no matrix": lambda d, t: d.MultivariateNormal(t([0.0])),
    "a vector for a matrix": lambda d, t: d.MultivariateNormal(t([0.0]), scale_tril=t([1.0])),
    "not positive definite": lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]])),
    "not symmetric": lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 0.5], [0.0, 1.0]])),
    "not triangular": lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), scale_tril=t([[1.0, 0.5], [0.0, 1.0]])),
    "too many dims": lambda d, t: d.Independent(d.Normal(0.0, 1.0), 1),
    "transforms": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    "list of transforms": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
    "0-dim base": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "mixture of numbers": lambda d, t: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(t([0.0]), 1.0)),
    "components": lambda d, t: d.MixtureSameFamily(d.Categorical(t([0.5, 0.5])), 3),
    "count of components": lambda d, t: d.MixtureSameFamily(d.Categorical(t([0.5, 0.5])), d.Normal(t([0.0, 1.0, 2.0]), 1.0)),
    "batch of components": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([[0.5, 0.5]] * 3)), d.Normal(t([[0.0, 1.0]] * 2), 1.0)),
    "multinomial count": lambda d, t: d.Multinomial(t([3]), t([0.5, 0.5])),
    "LKJ": lambda d, t: d.LKJCholesky(1),
    "low rank factor": lambda d, t: d.LowRankMultivariateNormal(t([0.0, 0.0]), t([[1.0]]), t([1.0, 1.0])),
    "low rank diag": lambda d, t: d.LowRankMultivariateNormal(t([0.0, 0.0]), t([[1.0], [1.0]]), t([1.0])),
    "value of Bernoulli": lambda d, t: d.Bernoulli(0.5).log_prob(t([0.5])),
    "value of Categorical": lambda d, t: d.Categorical(t([0.5, 0.5])).log_prob(t([2])),
    "value of Beta": lambda d, t: d.Beta(1.0, 2.0).log_prob(t(1.5)),
    "value of Gamma": lambda d, t: d.Gamma(1.0, 2.0).log_prob(t(-1.5)),
    "value of LogNormal": lambda d, t: d.LogNormal(1.0, 2.0).log_prob(t(-1.5)),
    "value of Uniform": lambda d, t: d.Uniform(1.0, 2.0).log_prob(t(3.0)),
    "value of Poisson": lambda d, t: d.Poisson(1.0).log_prob(t(0.5)),
    "value of Dirichlet": lambda d, t: d.Dirichlet(t([1.0, 1.0])).log_prob(t([0.4, 0.4])),
    "event shape": lambda d, t: d.Dirichlet(t([1.0, 1.0])).log_prob(t([0.4, 0.3, 0.3])),
    "batch shape": lambda d, t: d.Normal(t([0.0, 1.0, 2.0]), 1.0).log_prob(t([0.0, 1.0])),
    "value is a number": lambda d, t: d.Normal(0.0, 1.0).log_prob(0.5),
    "cdf": lambda d, t: d.Exponential(1.0).cdf(t(-1.0)),
    "no cdf": lambda d, t: d.Poisson(1.0).cdf(t(1.0)),
    "no rsample": lambda d, t: d.Bernoulli(0.5).rsample(),
    "no mode": lambda d, t: d.LogisticNormal(t([0.0]), 1.0).mode,
    "entropy of unequal counts": lambda d, t: d.Binomial(t([1.0, 2.0]), t([0.5, 0.5])).entropy(),
    "support of unequal counts": lambda d, t: d.Binomial(t([1.0, 2.0]), t([0.5, 0.5])).enumerate_support(),
    "support of Independent": lambda d, t: d.Independent(d.Bernoulli(t([0.5])), 1).enumerate_support(),
    "unchecked": lambda d, t: d.Normal(0.0, -1.0, validate_args=False).scale.item(),
    "unchecked value": lambda d, t: d.Bernoulli(0.5, validate_args=False).log_prob(t(0.5)).item(),
    "transform of a region": lambda d, t: d.transform_to(d.constraints.boolean),
    "registering a number": lambda d, t: d.biject_to.register(3, lambda c: None),
    "dependent": lambda d, t: d.constraints.dependent.check(t(0.5)),
    "dependent event dim": lambda d, t: d.constraints.dependent.event_dim,
    "validation switch": lambda d, t: d.Distribution.set_default_validate_args(3),
    "triangle": lambda d, t: d.utils.vec_to_tril_matrix(t([1.0, 2.0])),
    "diagonal": lambda d, t: d.utils.tril_matrix_to_vec(t([[1.0]]), 2),
    "reshape": lambda d, t: d.ReshapeTransform((2,), (3,)),
}


def whole(call: Any) -> tuple[str, Any]:
    """Like `outcome`, with all lines of the message."""
    try:
        return "value", call()
    except Exception as error:
        return type(error).__name__, str(error).replace("whygrad.", "torch.")


@pytest.mark.parametrize("name", ERRORS)
def test_refused_in_torchs_words(name: str) -> None:
    attempt = ERRORS[name]
    theirs = whole(lambda: attempt(torch.distributions, torch.tensor))
    ours = whole(lambda: attempt(whygrad.distributions, whygrad.tensor))
    if theirs[0] == "value":
        assert ours[0] == "value"
        assert ours[1] == pytest.approx(theirs[1], rel=1e-5)
    else:
        assert ours == theirs


def test_default_can_be_changed() -> None:
    d = whygrad.distributions
    d.Distribution.set_default_validate_args(False)
    try:
        assert outcome(lambda: d.Normal(0.0, -1.0))[0] == "value"
    finally:
        d.Distribution.set_default_validate_args(True)
    assert outcome(lambda: d.Normal(0.0, -1.0))[0] == "error"
