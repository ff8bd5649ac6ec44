"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.utils import empty_like_parameter

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace(loc, scale): the double exponential distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = ("loc", "scale")
    loc: Any
    scale: Any

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        self._broadcast(loc=loc, scale=scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
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
