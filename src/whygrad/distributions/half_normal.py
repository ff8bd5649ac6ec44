"""The half-normal distribution."""

from __future__ import annotations

import math

from whygrad.distributions.distribution import Real
from whygrad.distributions.folded import Folded
from whygrad.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """HalfNormal(scale): |x| for x ~ Normal(0, scale)."""


    def __init__(self, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
