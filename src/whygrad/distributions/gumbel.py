"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, validated
from whygrad.distributions.transformed_distribution import TransformedDistribution
from whygrad.distributions.transforms import AffineTransform, ExpTransform
from whygrad.distributions.uniform import Uniform
from whygrad.distributions.utils import euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel(loc, scale): loc - scale * log(-log(u)) of a uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        self._broadcast(loc=loc, scale=scale)
        info = dtypes.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps),
                       validate_args=validate_args)
        transforms = [ExpTransform().inv, AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
                      ExpTransform().inv, AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Any:
        # Numerically stable form of the transforms' formula.
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)
