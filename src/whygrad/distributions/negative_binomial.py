"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.distributions import constraints
from whygrad.distributions.binomial import CountDistribution
from whygrad.distributions.distribution import Shape, validated
from whygrad.distributions.gamma import Gamma
from whygrad.distributions.utils import lazy_property
from whygrad.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(CountDistribution):
    """NegativeBinomial(total_count, probs) or with logits: successes before `total_count` failures."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Any:
        with no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        weights = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        everything = self.total_count + value
        ways = -everything.lgamma() + (1.0 + value).lgamma() + self.total_count.lgamma()
        return weights - ways.masked_fill(everything == 0.0, 0.0)
