"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.chi2 import Chi2
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """StudentT(df, loc, scale)"""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = ("_chi2",)

    def __init__(self, df: Real, loc: Real = 0.0, scale: Real = 1.0, validate_args: bool | None = None) -> None:
        self._broadcast(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        finite = self.df > 2
        df = torch.where(finite, self.df, 3.0)  # a placeholder where the result is masked, so that no nan enters the gradient
        variance = torch.where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        normals = _standard_normal(self._extended_shape(sample_shape), self.df.dtype)
        spread = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normals * (spread / self.df).rsqrt())

    @validated
    def log_prob(self, value: Any) -> Any:
        y = (value - self.loc) / self.scale
        half = 0.5 * self.df
        norm = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma()
                - (0.5 * (self.df + 1.0)).lgamma())
        return -0.5 * (self.df + 1.0) * (y ** 2.0 / self.df).log1p() - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
