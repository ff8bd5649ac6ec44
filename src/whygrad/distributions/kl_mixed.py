"""KL divergences between different families: the cross entropy of q under p minus the entropy of p.

The cross entropy -E log q(x) is linear in a few expectations under p: of x and x**2, log x, log(1 - x), exp(-x / s),
|x - m|. So each q has one formula, and each p provides its expectations. Where the support of p exceeds that of q, the
divergence is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import whygrad as torch
from whygrad import distributions as D
from whygrad.distributions.kl import register_kl
from whygrad.distributions.utils import euler_constant


def _mean_log_of_uniform(low: Any, high: Any) -> Any:
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


# E log x
MEAN_LOG: dict[type[Any], Callable[[Any], Any]] = {
    D.Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    D.Exponential: lambda p: -euler_constant - p.rate.log(),
    D.Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    D.Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    D.Uniform: lambda p: _mean_log_of_uniform(p.low, p.high),
}

# E log(1 - x)
MEAN_LOG_REST: dict[type[Any], Callable[[Any], Any]] = {
    D.Uniform: lambda p: _mean_log_of_uniform(1 - p.high, 1 - p.low),
}


def _laplace_of_uniform(p: Any, q: Any) -> Any:
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return ((-low).exp() - (-high).exp()) / (high - low)


# E exp(-(x - q.loc) / q.scale)
MEAN_EXP: dict[type[Any], Callable[[Any, Any], Any]] = {
    D.Exponential: lambda p, q: (q.loc / q.scale).exp() * (p.rate * q.scale) / (p.rate * q.scale + 1),
    D.Gamma: lambda p, q: (q.loc / q.scale).exp() * (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration),
    D.Normal: lambda p, q: ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp(),
    D.Uniform: _laplace_of_uniform,
}


def _mean_distance_of_normal(p: Any, loc: Any) -> Any:
    gap = p.loc - loc
    ratio = gap / p.scale
    return math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp() + gap * (math.sqrt(0.5) * ratio).erf()


def _under_normal(p: Any, q: Any) -> Any:
    distance = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + distance / (2 * q.scale.pow(2))


def _under_gamma(p: Any, q: Any) -> Any:
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    return norm - (q.concentration - 1) * MEAN_LOG[_kind(p)](p) + q.rate * p.mean


def _under_beta(p: Any, q: Any) -> Any:
    norm = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    return (norm - (q.concentration1 - 1) * MEAN_LOG[_kind(p)](p)
            - (q.concentration0 - 1) * MEAN_LOG_REST[_kind(p)](p))


CROSS_ENTROPY: dict[type[Any], Callable[[Any, Any], Any]] = {
    D.Beta: _under_beta,
    D.ContinuousBernoulli: lambda p, q: -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm(),
    D.Exponential: lambda p, q: -q.rate.log() + q.rate * p.mean,
    D.Gamma: _under_gamma,
    D.Gumbel: lambda p, q: q.scale.log() + (p.mean - q.loc) / q.scale + MEAN_EXP[_kind(p)](p, q),
    D.Laplace: lambda p, q: (2 * q.scale).log() + _mean_distance_of_normal(p, q.loc) / q.scale,
    D.Normal: _under_normal,
    D.Pareto: lambda p, q: -q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * MEAN_LOG[_kind(p)](p),
    D.Poisson: lambda p, q: q.rate - p.mean * q.rate.log(),
    D.Uniform: lambda p, q: (q.high - q.low).log(),
}


def _kind(p: Any) -> type[Any]:
    return next(kind for kind in type(p).__mro__ if kind in MEAN_LOG or kind in MEAN_EXP)


# Whether the divergence is infinite, for pairs where that depends on the parameters.
OUTSIDE: dict[tuple[type[Any], type[Any]], Callable[[Any, Any], Any]] = {
    (D.Beta, D.Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    # This one and the last are too strict, as torch is.
    (D.ContinuousBernoulli, D.Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),
    (D.Pareto, D.Exponential): lambda p, q: p.alpha <= 1,
    (D.Pareto, D.Gamma): lambda p, q: p.alpha <= 1,
    (D.Pareto, D.Normal): lambda p, q: p.alpha <= 2,
    (D.Uniform, D.Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (D.Uniform, D.Exponential): lambda p, q: p.low < 0,
    (D.Uniform, D.Gamma): lambda p, q: p.low < 0,
    (D.Uniform, D.Pareto): lambda p, q: p.low < q.scale,
    (D.Uniform, D.ContinuousBernoulli): lambda p, q: (p.high >= 1) | (p.low <= 0),
}

FINITE: dict[type[Any], tuple[type[Any], ...]] = {
    D.Bernoulli: (D.Poisson,),
    D.Beta: (D.ContinuousBernoulli, D.Exponential, D.Gamma, D.Normal, D.Uniform),
    D.ContinuousBernoulli: (D.Exponential, D.Normal, D.Uniform),
    D.Exponential: (D.Gamma, D.Gumbel, D.Normal),
    D.Gamma: (D.Exponential, D.Gumbel, D.Normal),
    D.Gumbel: (D.Normal,),
    D.Laplace: (D.Normal,),
    D.Normal: (D.Gumbel, D.Laplace),
    D.Pareto: (D.Exponential, D.Gamma, D.Normal),
    D.Uniform: (D.Beta, D.ContinuousBernoulli, D.Exponential, D.Gamma, D.Gumbel, D.Normal, D.Pareto),
}

# p, the parameter whose shape the result has, and the q whose support is smaller than that of p
INFINITE: dict[type[Any], tuple[str, tuple[type[Any], ...]]] = {
    D.Beta: ("concentration1", (D.Pareto,)),
    D.ContinuousBernoulli: ("probs", (D.Pareto,)),
    D.Exponential: ("rate", (D.Beta, D.ContinuousBernoulli, D.Pareto, D.Uniform)),
    D.Gamma: ("concentration", (D.Beta, D.ContinuousBernoulli, D.Pareto, D.Uniform)),
    D.Gumbel: ("loc", (D.Beta, D.ContinuousBernoulli, D.Exponential, D.Gamma, D.Pareto, D.Uniform)),
    D.Laplace: ("loc", (D.Beta, D.ContinuousBernoulli, D.Exponential, D.Gamma, D.Pareto, D.Uniform)),
    D.Normal: ("loc", (D.Beta, D.ContinuousBernoulli, D.Exponential, D.Gamma, D.Pareto, D.Uniform)),
    D.Pareto: ("scale", (D.Beta, D.ContinuousBernoulli, D.Uniform)),
    D.Poisson: ("rate", (D.Bernoulli, D.Binomial)),
}


def _finite(type_p: type[Any], type_q: type[Any]) -> Callable[[Any, Any], Any]:
    cross_entropy, outside = CROSS_ENTROPY[type_q], OUTSIDE.get((type_p, type_q))

    def divergence(p: Any, q: Any) -> Any:
        result = cross_entropy(p, q) - p.entropy()
        return result if outside is None else result.masked_fill(outside(p, q), math.inf)

    return divergence


for _p, _kinds in FINITE.items():
    for _q in _kinds:
        register_kl(_p, _q)(_finite(_p, _q))
for _p, (_parameter, _kinds) in INFINITE.items():
    for _q in _kinds:
        register_kl(_p, _q)(lambda p, q, name=_parameter: torch.full_like(getattr(p, name), math.inf))  # type: ignore[misc]
