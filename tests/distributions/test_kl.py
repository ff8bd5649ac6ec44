"""KL divergences against torch: every registered pair, values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from distribution_cases import CASES, Case, covariance, positive, real, shares, simple, unit
from oracle import assert_same, check, outcome, same_error

import whygrad

# A second distribution of each kind; where it is not here, its case serves both sides.
OTHERS: dict[str, Case] = {
    "Normal": Case(simple("Normal", "loc", "scale"), [real(3), positive(2, 3)], None),
    "Categorical": Case(simple("Categorical", "logits"), [real(2, 4)], None),
    "Bernoulli": Case(simple("Bernoulli", "logits"), [real(2, 3)], None),
    "Uniform": Case(simple("Uniform", "low", "high"), [unit(3) - 8, positive(2, 3) + 5], None),
    "MultivariateNormal": Case(simple("MultivariateNormal", "loc", "precision_matrix"), [real(2, 4), covariance(2, 4, 4)],
                               None),
    "LowRankMultivariateNormal": Case(simple("LowRankMultivariateNormal", "loc", "cov_factor", "cov_diag"),
                                      [real(2, 4), real(2, 4, 3), positive(2, 4)], None),
    "Beta": Case(simple("Beta", "concentration1", "concentration0"), [positive(3), positive(2, 3)], None),
    "Gamma": Case(simple("Gamma", "concentration", "rate"), [positive(2, 3), positive(3)], None),
    "Dirichlet": Case(simple("Dirichlet", "concentration"), [positive(2, 4)], None),
    "Exponential": Case(simple("Exponential", "rate"), [positive(2, 3)], None),
    "Gumbel": Case(simple("Gumbel", "loc", "scale"), [real(3), positive(2, 3)], None),
    "Geometric": Case(simple("Geometric", "probs"), [unit(2, 3)], None),
    "Laplace": Case(simple("Laplace", "loc", "scale"), [real(3), positive(2, 3)], None),
    "Pareto": Case(simple("Pareto", "scale", "alpha"), [positive(3) / 9, positive(2, 3)], None),
    "Poisson": Case(simple("Poisson", "rate"), [positive(2, 3)], None),
    "Binomial": Case(lambda lib, p: lib.distributions.Binomial(7, p), [unit(2, 3)], None),
    "OneHotCategorical": Case(simple("OneHotCategorical", "probs"), [shares(2, 4)], None),
    "HalfNormal": Case(simple("HalfNormal", "scale"), [positive(2, 3)], None),
    "Cauchy": Case(simple("Cauchy", "loc", "scale"), [real(3), positive(2, 3)], None),
    "ContinuousBernoulli": Case(simple("ContinuousBernoulli", "probs"), [unit(2, 3)], None),
    "Independent": Case(lambda lib, a, b: lib.distributions.Independent(lib.distributions.Laplace(a, b), 1),
                        [real(2, 3), positive(2, 3)], None),
}
FIRST: dict[str, Case] = {
    "Uniform": Case(simple("Uniform", "low", "high"), [unit(3) / 3, 0.5 + unit(2, 3) / 3], None),
    "Pareto": Case(simple("Pareto", "scale", "alpha"), [positive(3), positive(2, 3)], None),
    "MultivariateNormal": Case(simple("MultivariateNormal", "loc", "covariance_matrix"), [real(2, 4), covariance(4, 4)], None),
    "Independent": Case(lambda lib, a, b: lib.distributions.Independent(lib.distributions.Normal(a, b), 1),
                        [real(2, 3), positive(2, 3)], None),
}
ABSTRACT = {"ExponentialFamily", "TransformedDistribution"}
PAIRS = sorted((p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY
               if not {p.__name__, q.__name__} & ABSTRACT)


def test_the_same_pairs_are_registered() -> None:
    ours = {(p.__name__, q.__name__) for p, q in whygrad.distributions.kl._KL_REGISTRY}
    theirs = {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}
    assert ours == theirs


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_pair(first: str, second: str) -> None:
    p, q = FIRST.get(first, CASES[first]), OTHERS[second]
    check_pair(p, q)


def check_pair(p: Case, q: Case, order: int = 1) -> None:
    def run(lib: Any, *tensors: Any) -> Any:
        ours, theirs = tensors[:len(p.arrays)], tensors[len(p.arrays):]
        return lib.distributions.kl_divergence(p.make(lib, *ours), q.make(lib, *theirs))

    # torch's gradients of an infinite result are a mixture of zeros, infinities and nans.
    numbers = run(torch, *map(torch.from_numpy, [*p.arrays, *q.arrays]))
    check(run, [*p.arrays, *q.arrays], order=order if torch.isfinite(numbers).all() else 0, check_node=False, rtol=1e-8)


@pytest.mark.parametrize(("first", "second", "arrays"), [
    ("Uniform", "Exponential", [real(3) - 3, positive(3), positive(3)]),
    ("Uniform", "Uniform", [real(3) - 3, positive(3), real(3), positive(3) + 2]),
    ("Uniform", "Normal", [real(3) - 3, positive(3), real(3), positive(3) + 2]),
    ("Pareto", "Normal", [positive(3), positive(3), real(3), positive(3)]),
    ("Beta", "Uniform", [positive(3), positive(3), np.array([0.1, -1.0, 0.0]), np.array([2.0, 2.0, 0.9])]),
    ("Chi2", "Gamma", [positive(3), positive(3), positive(3)]),
    ("Gamma", "Chi2", [positive(3), positive(3), positive(3)]),
    ("Chi2", "Exponential", [positive(3), positive(3)]),
])
def test_where_it_may_be_infinite(first: str, second: str, arrays: list[np.ndarray]) -> None:
    def run(lib: Any) -> Any:
        tensors = [lib.from_numpy(a) for a in arrays]
        count = len(CASES[first].arrays)
        return lib.distributions.kl_divergence(CASES[first].make(lib, *tensors[:count]),
                                               CASES[second].make(lib, *tensors[count:]))

    assert_same(run(torch), run(whygrad), rtol=1e-8)


def test_certain_events() -> None:
    def run(lib: Any, kind: str, p: Any, q: Any) -> Any:
        make = getattr(lib.distributions, kind)
        return lib.distributions.kl_divergence(make(lib.tensor(p)), make(lib.tensor(q)))

    for kind, p, q in (("Bernoulli", [0.0, 1.0, 0.5, 0.0], [0.5, 0.5, 0.0, 0.0]),
                       ("Categorical", [[0.0, 1.0], [0.5, 0.5]], [[0.5, 0.5], [0.0, 1.0]])):
        assert_same(run(torch, kind, p, q), run(whygrad, kind, p, q), rtol=1e-5)


def test_transformed_and_exponential_family() -> None:
    check_pair(CASES["LogNormal"], CASES["LogNormal"])
    case = CASES["TransformedDistribution"]
    other = Case(simple("LogNormal", "loc", "scale"), case.arrays, None)
    same_error(lambda: kl_of(torch, case, other), lambda: kl_of(whygrad, case, other))

    def bregman(lib: Any, *tensors: Any) -> Any:
        family = lib.distributions.ExponentialFamily
        p, q = lib.distributions.Gamma(*tensors[:2]), lib.distributions.Gamma(*tensors[2:])
        return lib.distributions.kl._KL_REGISTRY[family, family](p, q), family.entropy(p)

    check(bregman, [positive(3) for _ in range(4)], order=0, check_node=False, rtol=1e-8)


def kl_of(lib: Any, p: Case, q: Case) -> Any:
    return lib.distributions.kl_divergence(p.make(lib, *map(lib.from_numpy, p.arrays)),
                                           q.make(lib, *map(lib.from_numpy, q.arrays)))


ERRORS: dict[str, Any] = {
    "unknown pair": lambda lib: lib.distributions.kl_divergence(
        lib.distributions.Normal(0.0, 1.0), lib.distributions.Categorical(lib.ones(2))),
    "different sizes": lambda lib: lib.distributions.kl_divergence(
        lib.distributions.MultivariateNormal(lib.zeros(2), lib.eye(2)),
        lib.distributions.MultivariateNormal(lib.zeros(3), lib.eye(3))),
    "different families": lambda lib: lib.distributions.kl_divergence(
        lib.distributions.Dirichlet(lib.ones(2)), lib.distributions.Poisson(1.0)),
    "more trials": lambda lib: lib.distributions.kl_divergence(
        lib.distributions.Binomial(2, lib.tensor(0.5)), lib.distributions.Binomial(3, lib.tensor(0.5))),
    "independent": lambda lib: lib.distributions.kl_divergence(
        lib.distributions.Independent(lib.distributions.Normal(lib.zeros(2, 3), 1.0), 1),
        lib.distributions.Independent(lib.distributions.Normal(lib.zeros(2, 3), 1.0), 2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same_error(lambda: ERRORS[name](torch), lambda: ERRORS[name](whygrad))


def test_registering_a_pair_of_ones_own() -> None:
    d = whygrad.distributions

    class Mine(d.Normal):
        pass

    @d.register_kl(Mine, d.Normal)
    def mine(p: Any, q: Any) -> Any:
        return whygrad.tensor(7.0)

    try:
        assert d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0)).item() == 7
        assert d.kl_divergence(d.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0
        assert outcome(lambda: d.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)))[0] == "value"
    finally:
        del d.kl._KL_REGISTRY[Mine, d.Normal]
        d.kl._KL_MEMOIZE.clear()
