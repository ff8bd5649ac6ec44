"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.probs_or_logits import ProbsOrLogits, given
from whygrad.distributions.utils import broadcast_all
from whygrad.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """Bernoulli(probs) or Bernoulli(logits=...): 1 with that probability, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _parts = ("probs", "logits")
    _constants = ("_given",)

    def __init__(self, probs: Real | None = None, logits: Real | None = None, validate_args: bool | None = None) -> None:
        self._given = given(probs, logits)
        self._broadcast(**{self._given: logits if probs is None else probs})
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.bernoulli(self.probs.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(torch.arange(2, dtype=self._param.dtype), expand)

    @property
    def _natural_params(self) -> Any:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp().log1p()
