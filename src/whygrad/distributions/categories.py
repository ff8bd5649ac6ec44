"""Distributions over categories: indices, one-hot vectors and counts."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.counts import Binomial
from whygrad.distributions.distribution import Distribution, Shape, validated
from whygrad.distributions.probs_or_logits import OfCategories, ProbsOrLogits
from whygrad.distributions.utils import Values, broadcast_all
from whygrad.nn.functional import one_hot


class Categorical(ProbsOrLogits):
    """Categorical(probs) or Categorical(logits=...): integers from 0, with probabilities along the last dim."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _constants = ("_given", "_num_events")
    _is_binary = False

    def __init__(self, probs: Values | None = None, logits: Values | None = None,
                 validate_args: bool | None = None) -> None:
        (_, weights), = self._choose(probs, logits).items()
        if weights.dim() < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = weights - weights.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = weights / weights.sum(-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        Distribution.__init__(self, self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    variance = mean
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape: Shape = ()) -> Any:
        rows = self.probs.reshape(-1, self._num_events)
        samples = torch.multinomial(rows, Size(sample_shape).numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        value, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        finite = self.logits.clamp(min=dtypes.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(torch.arange(self._num_events), expand)

    def _divergence(self, q: Any) -> Any:
        terms = self.probs * (self.logits - q.logits)
        return terms.masked_fill(q.probs == 0, math.inf).masked_fill(self.probs == 0, 0).sum(-1)


class OneHotCategorical(OfCategories):
    """OneHotCategorical(probs) or OneHotCategorical(logits=...)"""

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Values | None = None, logits: Values | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def _one_hot(self, indices: Values) -> Any:
        return one_hot(indices, self._categorical._num_events).to(self.probs.dtype)

    mean = property(lambda self: self.probs)
    mode = property(lambda self: self._one_hot(self.probs.argmax(dim=-1)))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Shape = ()) -> Any:
        return self._one_hot(self._categorical.sample(sample_shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype).view((n, *[1] * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values

    def _divergence(self, q: Any) -> Any:
        return self._categorical._divergence(q._categorical)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with the straight-through gradient: samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(OfCategories):
    """Multinomial(total_count, probs) or with logits: the counts of each category in `total_count` draws."""

    _constants = ("total_count",)

    def __init__(self, total_count: int = 1, probs: Values | None = None, logits: Values | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Shape = ()) -> Any:
        draws = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=draws.dtype)
        return counts.scatter_add_(-1, draws, torch.ones_like(draws)).to(self.probs.dtype)

    def entropy(self) -> Any:
        n = torch.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        spread = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + spread

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)
