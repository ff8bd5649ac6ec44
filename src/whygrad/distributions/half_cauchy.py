"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import whygrad as torch
from whygrad.distributions.cauchy import Cauchy
from whygrad.distributions.distribution import Real
from whygrad.distributions.folded import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """HalfCauchy(scale): |x| for x ~ Cauchy(0, scale)."""


    def __init__(self, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)
