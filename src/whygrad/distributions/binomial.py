"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.probs_or_logits import ProbsOrLogits

__all__ = ["Binomial"]


def _positive_part(x: Any) -> Any:
    """max(x, 0), with a gradient of 1/2 at zero."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class CountDistribution(ProbsOrLogits):
    """Base of distributions of counts: `total_count` trials with the same probability of success."""


    def __init__(self, total_count: Real, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        shape = self._broadcast(total_count=total_count, **self._choose(probs, logits))
        self.total_count = self.total_count.to(self._param.dtype)
        Distribution.__init__(self, shape, validate_args=validate_args)


class Binomial(CountDistribution):
    """Binomial(total_count, probs) or with logits: successes among `total_count` trials."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Real = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        n = self.total_count
        # log((1 - p) ** -n), stable for logits of either sign
        misses = n * _positive_part(self.logits) + n * (-self.logits.abs()).exp().log1p()
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return value * self.logits + ways - misses

    def _common_count(self, function: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{function}`.")
        return count

    def entropy(self) -> Any:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = self._common_count("enumerate_support")
        return self._enumerated(torch.arange(1 + count, dtype=self._param.dtype), expand)
