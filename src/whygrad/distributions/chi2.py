"""The chi-squared distribution."""

from __future__ import annotations

from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real
from whygrad.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Chi2(df): the sum of `df` squared standard normals."""

    arg_constraints = {"df": constraints.positive}
    _parts = ("concentration", "rate")

    def __init__(self, df: Real, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)
