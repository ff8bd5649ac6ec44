"""A symmetric distribution around zero, folded onto the positive numbers."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, validated
from whygrad.distributions.transformed_distribution import TransformedDistribution
from whygrad.distributions.transforms import AbsTransform


class Folded(TransformedDistribution):
    """The distribution of |x|, which has twice the density of x on the positive half."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, base: Distribution, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    @validated
    def log_prob(self, value: Any) -> Any:
        value = torch.as_tensor(value, dtype=self.scale.dtype)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    @validated
    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
