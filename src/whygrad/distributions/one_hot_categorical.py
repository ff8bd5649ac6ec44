"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.categorical import Categorical
from whygrad.distributions.distribution import Shape, validated
from whygrad.distributions.probs_or_logits import OfCategories
from whygrad.distributions.utils import Values
from whygrad.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


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


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with the straight-through gradient: samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
