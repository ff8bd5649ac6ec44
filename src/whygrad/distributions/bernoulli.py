"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.utils import broadcast_all
from whygrad.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """Bernoulli(probs) or Bernoulli(logits=...): 1 with that probability, else 0."""

    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

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

    _natural_params = property(lambda self: (self.probs.logit(),))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.exp().log1p()
