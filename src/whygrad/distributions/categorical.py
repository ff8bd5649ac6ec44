"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Shape, validated
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.utils import Values

__all__ = ["Categorical"]


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
