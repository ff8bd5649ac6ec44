"""The base of distributions of loc + scale * x on the real line."""

from __future__ import annotations

from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real


class LocationScale(Distribution):
    """Parameters `loc` and `scale`; symmetric around `loc`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(loc=loc, scale=scale), validate_args=validate_args)

    mode = property(lambda self: self.loc)
