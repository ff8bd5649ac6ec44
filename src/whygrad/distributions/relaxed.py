"""Continuous relaxations of discrete distributions (Concrete, Gumbel-softmax), with reparametrized gradients."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.categories import Categorical
from whygrad.distributions.derived import TransformedDistribution
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.probs_or_logits import OfCategories, ProbsOrLogits
from whygrad.distributions.transforms import ExpTransform, SigmoidTransform
from whygrad.distributions.utils import Values, broadcast_all, clamp_probs


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


class ExpRelaxedCategorical(OfCategories):
    """The logarithm of RelaxedOneHotCategorical(temperature, probs or logits)."""

    support = constraints.real_vector
    has_rsample = True
    _constants = ("temperature",)

    def __init__(self, temperature: Values, probs: Values | None = None, logits: Values | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature: Any = temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        units: Any = clamp_probs(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        gumbels = -((-(units.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    @validated
    def log_prob(self, value: Any) -> Any:
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = (torch.full_like(self.temperature, float(count)).lgamma()
                     - self.temperature.log().mul(-(count - 1)))
        score: Any = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """RelaxedOneHotCategorical(temperature, probs or logits): points of the simplex, closer to one-hot for lower temperatures."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, temperature: Values, probs: Values | None = None, logits: Values | None = None,
                 validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
