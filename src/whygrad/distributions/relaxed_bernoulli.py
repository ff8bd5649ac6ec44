"""The relaxed Bernoulli distribution (binary Concrete), with reparametrized gradients."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.transformed_distribution import TransformedDistribution
from whygrad.distributions.transforms import SigmoidTransform
from whygrad.distributions.utils import Values, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logit of RelaxedBernoulli(temperature, probs or logits)."""

    support = constraints.real
    _constants = ("_given", "temperature")

    def __init__(self, temperature: Values, probs: Real | None = None, logits: Real | None = None,
                 validate_args: bool | None = None) -> None:
        self.temperature: Any = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        units: Any = clamp_probs(torch.rand(shape, dtype=probs.dtype))
        odds = units.log() - (-units).log1p() + probs.log() - (-probs).log1p()
        return odds / self.temperature

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        difference: Any = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """RelaxedBernoulli(temperature, probs or logits): in (0, 1), closer to 0 or 1 for lower temperatures."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, temperature: Values, probs: Real | None = None, logits: Real | None = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
