"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.functional.special import SPECIAL

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma(concentration, rate), with mean concentration / rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Real, rate: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(concentration=concentration, rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=dtypes.finfo(value.dtype).tiny)  # away from zero, without changing the gradient
        return value

    def log_prob(self, value: Any) -> Any:
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        if self._validate_args:
            self._validate_sample(value)
        return (torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value)
                - self.rate * value - self.concentration.lgamma())

    @validated
    def cdf(self, value: Any) -> Any:
        return SPECIAL["gammainc"](self.concentration, self.rate * value)

    def entropy(self) -> Any:
        return (self.concentration - self.rate.log() + self.concentration.lgamma()
                + (1.0 - self.concentration) * self.concentration.digamma())

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
