"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real, Shape, validated

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """GeneralizedPareto(loc, scale, concentration): exceedances; exponential at concentration zero."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Real, scale: Real, concentration: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(loc=loc, scale=scale, concentration=concentration), validate_args=validate_args)

    def _split(self) -> tuple[Any, Any]:
        """Where the concentration is zero, and the concentration without zeros."""
        is_zero = self.concentration.abs() <= 1e-8
        return is_zero, self.concentration.masked_fill(is_zero, 1.0)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    @validated
    def log_prob(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        is_zero, safe = self._split()
        power = 1 / safe + torch.ones_like(z)
        tail = torch.where(power == 0, power, power * (safe * z).log1p())
        return -self.scale.log() - torch.where(is_zero, z, tail)

    @validated
    def log_survival_function(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        is_zero, safe = self._split()
        return torch.where(is_zero, -z, -(safe * z).log1p() / safe)

    def log_cdf(self, value: Any) -> Any:
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        is_zero, safe = self._split()
        log_rest = (-value).log1p()
        curved = self.loc + self.scale / safe * (-safe * log_rest).expm1()
        return torch.where(is_zero, self.loc - self.scale * log_rest, curved)

    @property
    def mean(self) -> Any:
        known = self.concentration < 1
        safe = torch.where(known, self.concentration, 0.5)
        return torch.where(known, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self) -> Any:
        known = self.concentration < 0.5
        safe = torch.where(known, self.concentration, 0.25)
        return torch.where(known, self.scale ** 2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.nan)

    mode = property(lambda self: self.loc)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)
