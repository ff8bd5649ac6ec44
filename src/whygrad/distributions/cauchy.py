"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.distributions.distribution import Shape, validated
from whygrad.distributions.location_scale import LocationScale
from whygrad.distributions.utils import empty_like_parameter

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Cauchy(loc, scale): the ratio of two normals; it has no mean."""


    mean = property(lambda self: torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype))
    variance = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.loc + empty_like_parameter(self.loc, self._extended_shape(sample_shape)).cauchy_() * self.scale

    @validated
    def log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    @validated
    def cdf(self, value: Any) -> Any:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()
