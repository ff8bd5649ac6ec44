"""Distributions of counts."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.positive import Gamma
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.utils import broadcast_all, empty_like_parameter, lazy_property
from whygrad.nn.functional import binary_cross_entropy_with_logits, logsigmoid, softplus


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """Bernoulli(probs) or Bernoulli(logits=...): 1 with that probability, else 0."""

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.bernoulli(self.probs.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(torch.arange(2, dtype=self._param.dtype), expand)

    _natural_params = property(lambda self: (self.probs.logit(),))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp().log1p()

    def _divergence(self, q: Any) -> Any:
        hits = self.probs * (softplus(-q.logits) - softplus(-self.logits))
        hits = hits.masked_fill(q.probs == 0, math.inf).masked_fill(self.probs == 0, 0)
        misses = (1 - self.probs) * (softplus(q.logits) - softplus(self.logits))
        return hits + misses.masked_fill(q.probs == 1, math.inf).masked_fill(self.probs == 1, 0)


def _positive_part(x: Any) -> Any:
    """max(x, 0), with a gradient of 1/2 at zero."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class CountDistribution(ProbsOrLogits):
    """Base of distributions of counts: `total_count` trials with the same probability of success."""

    total_count: Any

    def __init__(self, total_count: Real, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        shape = self._broadcast(total_count=total_count, **self._choose(probs, logits))
        self.total_count = self.total_count.to(self._param.dtype)
        Distribution.__init__(self, shape, validate_args=validate_args)


class Binomial(CountDistribution):
    """Binomial(total_count, probs) or with logits: successes among `total_count` trials."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Real = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        n = self.total_count
        # log((1 - p) ** -n), stable for logits of either sign
        misses = n * _positive_part(self.logits) + n * (-self.logits.abs()).exp().log1p()
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return value * self.logits + ways - misses

    def _common_count(self, function: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{function}`.")
        return count

    def entropy(self) -> Any:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = self._common_count("enumerate_support")
        return self._enumerated(torch.arange(1 + count, dtype=self._param.dtype), expand)

    def _divergence(self, q: Any) -> Any:
        if (self.total_count < q.total_count).any():
            raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
        each = self.probs * (self.logits - q.logits) + (-self.probs).log1p() - (-q.probs).log1p()
        return (self.total_count * each).masked_fill(self.total_count > q.total_count, math.inf)


class NegativeBinomial(CountDistribution):
    """NegativeBinomial(total_count, probs) or with logits: successes before `total_count` failures."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Any:
        with no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        weights = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        everything = self.total_count + value
        ways = -everything.lgamma() + (1.0 + value).lgamma() + self.total_count.lgamma()
        return weights - ways.masked_fill(everything == 0.0, 0.0)


class Geometric(ProbsOrLogits):
    """Geometric(probs) or Geometric(logits=...): failures before the first success."""

    support = constraints.nonnegative_integer

    def __init__(self, probs: Real | None = None, logits: Real | None = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None:
            self._check_positive()

    def _check_positive(self) -> None:
        positive = self.probs > 0
        if not positive.all():
            raise ValueError(f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                             f"distribution {self!r} to be positive but found invalid values:\n{self.probs.data[~positive]}")

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape: Shape = ()) -> Any:
        tiny = dtypes.finfo(self.probs.dtype).tiny
        with no_grad():
            u = empty_like_parameter(self.probs, self._extended_shape(sample_shape)).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @validated
    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(value, self.probs)
        # For probs 1 and value 0 the term is 0 * log(0), defined as 0.
        safe = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-safe).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs

    def _divergence(self, q: Any) -> Any:
        return -self.entropy() - (-q.probs).log1p() / self.probs - q.logits


class Poisson(ExponentialFamily):
    """Poisson, by its rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(rate=rate), validate_args=validate_args)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.poisson(self.rate.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp()

    def _divergence(self, q: Any) -> Any:
        return self.rate * (self.rate.log() - q.rate.log()) - (self.rate - q.rate)
