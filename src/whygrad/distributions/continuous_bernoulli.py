"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from whygrad.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """ContinuousBernoulli(probs) or with logits: density p ** x (1 - p) ** (1 - x) on [0, 1], normalised.

    Around p = 1/2, between the `lims`, its formulas are 0 / 0 and are replaced by Taylor series.
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _constants = ("_given", "_lims")

    def __init__(self, probs: Real | None = None, logits: Real | None = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        self._broadcast(**self._choose(probs, logits))
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        return torch.where(self._stable(), self.probs, self._lims[0])

    def _either(self, formula: Any, taylor: Any) -> Any:
        return torch.where(self._stable(), formula, taylor)

    def _cont_bern_log_norm(self) -> Any:
        p = self._cut_probs()
        below, above = torch.where(p <= 0.5, p, 0.0), torch.where(p >= 0.5, p, 1.0)
        log_gap = torch.where(p <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        return self._either(((-p).log1p() - p.log()).abs().log() - log_gap,
                            math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        p = self._cut_probs()
        x = self.probs - 0.5
        return self._either(p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()),
                            0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Any:
        p = self._cut_probs()
        x = (self.probs - 0.5).pow(2)
        return self._either(p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2),
                            1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    @validated
    def cdf(self, value: Any) -> Any:
        p = self._cut_probs()
        inside = self._either((p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0), value)
        return torch.where(value <= 0.0, 0.0, torch.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        p = self._cut_probs()
        steps = (-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()
        return self._either(steps / (p.log() - (-p).log1p()), value)

    def entropy(self) -> Any:
        miss, hit = (-self.probs).log1p(), self.probs.log()
        return self.mean * (miss - hit) - self._cont_bern_log_norm() - miss

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        low, high = (limit - 0.5 for limit in self._lims)
        stable = (x <= low) | (x > high)
        cut = torch.where(stable, x, low)
        taylor = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return torch.where(stable, cut.expm1().abs().log() - cut.abs().log(), taylor)
