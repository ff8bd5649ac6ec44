"""One entry per distribution: how it is made from arrays, and values to try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

rng = np.random.default_rng(7)


def real(*shape: int) -> np.ndarray:
    return rng.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    return rng.uniform(0.4, 3.0, shape)


def unit(*shape: int) -> np.ndarray:
    return rng.uniform(0.05, 0.95, shape)


def shares(*shape: int) -> np.ndarray:
    weights = rng.uniform(0.2, 1.0, shape)
    return weights / weights.sum(-1, keepdims=True)


def covariance(*shape: int) -> np.ndarray:
    a = rng.normal(size=shape)
    return a @ a.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])


def one_hot(count: int, *shape: int) -> np.ndarray:
    return np.eye(count)[rng.integers(0, count, shape)]


def single(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32)


def counts(high: int, *shape: int) -> np.ndarray:
    return rng.integers(0, high, shape).astype(float)


class Case(NamedTuple):
    make: Callable[..., Any]  # (library, *tensors)
    arrays: list[np.ndarray]
    values: np.ndarray | None  # where log_prob and cdf are tried


def simple(name: str, *names: str) -> Callable[..., Any]:
    return lambda lib, *tensors: getattr(lib.distributions, name)(**dict(zip(names, tensors, strict=True)))


def temperature(lib: Any, like: Any) -> Any:
    return lib.tensor(0.7, dtype=like.dtype)


CASES: dict[str, Case] = {
    "Normal": Case(simple("Normal", "loc", "scale"), [real(3), positive(2, 3)], real(4, 2, 3)),
    "Categorical": Case(simple("Categorical", "probs"), [shares(2, 4)], counts(4, 5, 2)),
    "Categorical logits": Case(simple("Categorical", "logits"), [real(2, 4)], counts(4, 5, 2)),
    "Categorical one": Case(simple("Categorical", "logits"), [real(4)], counts(4)),
    "Bernoulli": Case(simple("Bernoulli", "probs"), [unit(2, 3)], counts(2, 4, 2, 3)),
    "Bernoulli logits": Case(simple("Bernoulli", "logits"), [real(2, 3)], counts(2, 2, 3)),
    "Uniform": Case(simple("Uniform", "low", "high"), [real(3) - 4, positive(2, 3)], real(2, 3) / 10),
    "MultivariateNormal": Case(simple("MultivariateNormal", "loc", "covariance_matrix"), [real(3), covariance(3, 3)],
                               real(5, 3)),
    "MultivariateNormal tril": Case(
        lambda lib, loc, m: lib.distributions.MultivariateNormal(loc, scale_tril=lib.linalg.cholesky(m)),
        [real(2, 3), covariance(2, 3, 3)], real(5, 2, 3)),
    "MultivariateNormal precision": Case(simple("MultivariateNormal", "loc", "precision_matrix"),
                                         [real(4, 2, 3), covariance(2, 3, 3)], real(5, 4, 2, 3)),
    "MultivariateNormal broadcast": Case(simple("MultivariateNormal", "loc", "covariance_matrix"),
                                         [real(4, 2, 3), covariance(1, 3, 3)], real(4, 2, 3)),
    "Independent": Case(lambda lib, a, b: lib.distributions.Independent(lib.distributions.Normal(a, b), 1),
                        [real(2, 3), positive(2, 3)], real(4, 2, 3)),
    "Beta": Case(simple("Beta", "concentration1", "concentration0"), [positive(3), positive(2, 3)], unit(4, 2, 3)),
    "Gamma": Case(simple("Gamma", "concentration", "rate"), [positive(2, 3), positive(3)], positive(4, 2, 3)),
    "Chi2": Case(simple("Chi2", "df"), [positive(3)], positive(2, 3)),
    "Dirichlet": Case(simple("Dirichlet", "concentration"), [positive(2, 4)], shares(3, 2, 4)),
    "Exponential": Case(simple("Exponential", "rate"), [positive(2, 3)], positive(4, 2, 3)),
    "Laplace": Case(simple("Laplace", "loc", "scale"), [real(3), positive(2, 3)], real(2, 3)),
    "Binomial": Case(lambda lib, p: lib.distributions.Binomial(7, p), [unit(2, 3)], counts(8, 4, 2, 3)),
    "Binomial many": Case(lambda lib, p: lib.distributions.Binomial(100, logits=p), [real(3)], counts(100, 3)),
    "NegativeBinomial": Case(simple("NegativeBinomial", "total_count", "probs"), [positive(3), unit(2, 3)], counts(9, 2, 3)),
    "NegativeBinomial logits": Case(simple("NegativeBinomial", "total_count", "logits"), [positive(3), real(3)], counts(9, 3)),
    "Poisson": Case(simple("Poisson", "rate"), [positive(2, 3) * 6], counts(9, 4, 2, 3)),
    "Geometric": Case(simple("Geometric", "probs"), [unit(2, 3)], counts(9, 2, 3)),
    "Geometric logits": Case(simple("Geometric", "logits"), [real(2, 3)], counts(9, 2, 3)),
    "OneHotCategorical": Case(simple("OneHotCategorical", "probs"), [shares(2, 4)], one_hot(4, 5, 2)),
    "OneHotCategoricalStraightThrough": Case(simple("OneHotCategoricalStraightThrough", "logits"), [real(2, 4)],
                                             one_hot(4, 5, 2)),
    "RelaxedBernoulli": Case(lambda lib, p: lib.distributions.RelaxedBernoulli(temperature(lib, p), probs=p), [unit(2, 3)],
                             unit(4, 2, 3)),
    "RelaxedOneHotCategorical": Case(
        lambda lib, x: lib.distributions.RelaxedOneHotCategorical(temperature(lib, x), logits=x), [real(2, 4)],
        shares(3, 2, 4)),
    "TransformedDistribution": Case(
        lambda lib, a, b: lib.distributions.TransformedDistribution(
            lib.distributions.Normal(a, b), [lib.distributions.TanhTransform(cache_size=1),
                                             lib.distributions.AffineTransform(1.0, -2.0)]),
        [real(3), positive(3)], unit(2, 3)),
    "LogNormal": Case(simple("LogNormal", "loc", "scale"), [real(3), positive(2, 3) / 3], positive(2, 3)),
    "Cauchy": Case(simple("Cauchy", "loc", "scale"), [real(3), positive(2, 3)], real(2, 3)),
    "HalfNormal": Case(simple("HalfNormal", "scale"), [positive(2, 3)], positive(4, 2, 3)),
    "HalfCauchy": Case(simple("HalfCauchy", "scale"), [positive(2, 3)], positive(4, 2, 3)),
    "StudentT": Case(simple("StudentT", "df", "loc", "scale"), [positive(2, 3) * 2, real(3), positive(3)], real(2, 3)),
    "Gumbel": Case(simple("Gumbel", "loc", "scale"), [real(3), positive(2, 3)], real(2, 3)),
    "Pareto": Case(simple("Pareto", "scale", "alpha"), [positive(3), positive(2, 3)], 3 + positive(2, 3)),
    "Weibull": Case(simple("Weibull", "scale", "concentration"), [positive(3), 1 + positive(2, 3)], positive(2, 3)),
    "Kumaraswamy": Case(simple("Kumaraswamy", "concentration1", "concentration0"), [positive(3), positive(2, 3)], unit(2, 3)),
    "MixtureSameFamily": Case(
        lambda lib, w, a, b: lib.distributions.MixtureSameFamily(lib.distributions.Categorical(w),
                                                                 lib.distributions.Normal(a, b)),
        [shares(2, 4), real(2, 4), positive(2, 4)], real(5, 2)),
    "MixtureSameFamily of vectors": Case(
        lambda lib, w, a, m: lib.distributions.MixtureSameFamily(lib.distributions.Categorical(logits=w),
                                                                 lib.distributions.MultivariateNormal(a, m)),
        [real(4), real(4, 3), covariance(4, 3, 3)], real(5, 3)),
    "LogisticNormal": Case(simple("LogisticNormal", "loc", "scale"), [real(2, 3), positive(2, 3)], shares(5, 2, 4)),
    "Multinomial": Case(lambda lib, p: lib.distributions.Multinomial(6, p), [shares(2, 3)], np.array([[1.0, 2, 3], [6, 0, 0]])),
    "InverseGamma": Case(simple("InverseGamma", "concentration", "rate"), [positive(2, 3), positive(3)], positive(2, 3)),
    "FisherSnedecor": Case(simple("FisherSnedecor", "df1", "df2"), [positive(3) * 3, positive(2, 3) * 3], positive(2, 3)),
    "GeneralizedPareto": Case(simple("GeneralizedPareto", "loc", "scale", "concentration"),
                              # torch's own needs single precision
                              [single(real(3) - 3), single(positive(3) + 2), single(np.array([0.0, 0.3, -0.2]))],
                              single(positive(2, 3))),
    "ContinuousBernoulli": Case(simple("ContinuousBernoulli", "probs"), [np.array([0.1, 0.4995, 0.8])], unit(2, 3)),
    "ContinuousBernoulli logits": Case(simple("ContinuousBernoulli", "logits"), [real(3)], unit(2, 3)),
    "VonMises": Case(simple("VonMises", "loc", "concentration"), [real(3), positive(2, 3)], real(2, 3)),
    "LowRankMultivariateNormal": Case(simple("LowRankMultivariateNormal", "loc", "cov_factor", "cov_diag"),
                                      [real(2, 4), real(4, 2), positive(4)], real(5, 2, 4)),
    "LKJCholesky": Case(lambda lib, c: lib.distributions.LKJCholesky(3, c), [positive(2)],
                        np.linalg.cholesky(np.array([[1, 0.3, 0.1], [0.3, 1, -0.4], [0.1, -0.4, 1]]))),
}
