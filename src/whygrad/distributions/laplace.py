"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes
from whygrad.distributions.distribution import Shape, validated
from whygrad.distributions.location_scale import LocationScale
from whygrad.distributions.utils import empty_like_parameter

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Laplace(loc, scale): the double exponential distribution."""


    mean = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2 ** 0.5 * self.scale)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        eps = dtypes.finfo(self.loc.dtype).eps
        u = empty_like_parameter(self.loc, self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    @validated
    def log_prob(self, value: Any) -> Any:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    @validated
    def cdf(self, value: Any) -> Any:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()
