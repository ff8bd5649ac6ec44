"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Poisson(rate)"""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parts = ("rate",)
    rate: Any

    def __init__(self, rate: Real, validate_args: bool | None = None) -> None:
        self._broadcast(rate=rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.poisson(self.rate.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> Any:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp()
