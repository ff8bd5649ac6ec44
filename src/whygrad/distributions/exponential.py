"""The exponential distribution."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.utils import empty_like_parameter

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Exponential(rate)"""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return empty_like_parameter(self.rate, self._extended_shape(sample_shape)).exponential_() / self.rate

    @validated
    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * value

    @validated
    def cdf(self, value: Any) -> Any:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return -(-x).log()
