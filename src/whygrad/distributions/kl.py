"""The Kullback-Leibler divergence: a registry of pairs, and the formulas for pairs of one family."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from whygrad import distributions as D
from whygrad.base.errors import user_stacklevel
from whygrad.distributions.distribution import Distribution
from whygrad.distributions.utils import Values, _sum_rightmost, euler_constant
from whygrad.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_KL_REGISTRY: dict[tuple[type[Any], type[Any]], Formula] = {}
_KL_MEMOIZE: dict[tuple[type[Any], type[Any]], Formula] = {}


def register_kl(type_p: type[Any], type_q: type[Any]) -> Callable[[Formula], Formula]:
    """A decorator: this function is KL(p || q) for these classes and their subclasses."""
    def decorator(function: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Values:
    """KL(p || q), the expectation under p of log p(x) - log q(x), for each batch element."""
    pair = type(p), type(q)
    function: Any = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
                                  f"{q.__class__.__name__}")
    return function(p, q)


def _dispatch_kl(type_p: type[Any], type_q: type[Any]) -> Any:
    """The most specific registered pair, ordered by p first and by q first; a warning if the two differ."""
    matches = [(a, b) for a, b in _KL_REGISTRY if issubclass(type_p, a) and issubclass(type_q, b)]
    if not matches:
        return NotImplemented
    mro_p, mro_q = type_p.__mro__, type_q.__mro__
    by_p = min(matches, key=lambda m: (mro_p.index(m[0]), mro_q.index(m[1])))
    by_q = min(matches, key=lambda m: (mro_q.index(m[1]), mro_p.index(m[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl("
                      f"{by_p[0].__name__}, {by_q[1].__name__})", RuntimeWarning, stacklevel=user_stacklevel())
    return _KL_REGISTRY[by_p]


@register_kl(D.Bernoulli, D.Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    hits = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    hits = hits.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    misses = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return hits + misses.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(D.Beta, D.Beta)
def _beta(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    norm = (q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
            - p.concentration1.lgamma() - p.concentration0.lgamma() - total_q.lgamma())
    return (norm + (p.concentration1 - q.concentration1) * p.concentration1.digamma()
            + (p.concentration0 - q.concentration0) * p.concentration0.digamma()
            + (total_q - total_p) * total_p.digamma())


@register_kl(D.Binomial, D.Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(D.Categorical, D.Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(D.ContinuousBernoulli, D.ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + (-p.probs).log1p()
            - q._cont_bern_log_norm() - (-q.probs).log1p())


@register_kl(D.Dirichlet, D.Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    norm = total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    mean_log = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return norm + ((p.concentration - q.concentration) * mean_log).sum(-1)


@register_kl(D.Exponential, D.Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(D.ExponentialFamily, D.ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot "
                                  "                            be computed using Bregman divergences")
    ours, normalizer, means = p._normalizer_and_means()
    theirs = q._natural_params
    result = q._log_normalizer(*theirs) - normalizer
    for a, b, mean in zip(ours, theirs, means, strict=True):
        result = result - _sum_rightmost((b - a) * mean, len(q.event_shape))
    return result


@register_kl(D.Gamma, D.Gamma)
def _gamma(p: Any, q: Any) -> Any:
    return (q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
            + (p.concentration - q.concentration) * p.concentration.digamma()
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(D.Gumbel, D.Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + gap + ratio * euler_constant + ((1 + ratio).lgamma() - gap).exp() - (1 + euler_constant)


@register_kl(D.Geometric, D.Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(D.Laplace, D.Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + gap / q.scale + ratio * (-gap / p.scale).exp() - 1


@register_kl(D.Normal, D.Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(D.Pareto, D.Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)


@register_kl(D.Poisson, D.Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(D.Uniform, D.Uniform)
def _uniform(p: Any, q: Any) -> Any:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(D.Cauchy, D.Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(D.HalfNormal, D.HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(D.OneHotCategorical, D.OneHotCategorical)
def _one_hot_categorical(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(D.TransformedDistribution, D.TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(D.Independent, D.Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
