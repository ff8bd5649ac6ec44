"""The von Mises distribution on the circle."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Shape, validated
from whygrad.distributions.utils import Values
from whygrad.functional.special import SPECIAL

__all__ = ["VonMises"]


class VonMises(Distribution):
    """VonMises(loc, concentration): angles around `loc`."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Values, concentration: Values, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(loc=loc, concentration=concentration), validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Any:
        log_bessel = SPECIAL["i0e"](self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 1 - SPECIAL["i1e"](self.concentration) / SPECIAL["i0e"](self.concentration))

    def sample(self, sample_shape: Shape = ()) -> Any:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher, 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, kappa = self.loc.to(dtypes.float64), self.concentration.to(dtypes.float64)
            tau = 1 + (1 + 4 * kappa ** 2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho ** 2) / (2 * rho))
            x = torch.zeros(shape, dtype=dtypes.float64)
            done = torch.zeros(shape, dtype=dtypes.bool_)
            while not done.all():
                u1, u2, u3 = torch.rand((3, *shape), dtype=dtypes.float64).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                # As in torch, a later accepted proposal replaces an earlier one.
                x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
