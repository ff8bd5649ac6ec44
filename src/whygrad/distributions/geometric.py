"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Real, Shape, validated
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.utils import broadcast_all, empty_like_parameter
from whygrad.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """Geometric(probs) or Geometric(logits=...): failures before the first success."""

    support = constraints.nonnegative_integer

    def __init__(self, probs: Real | None = None, logits: Real | None = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None:
            self._check_positive()

    def _check_positive(self) -> None:
        positive = self.probs > 0
        if not positive.all():
            raise ValueError(f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                             f"distribution {self!r} to be positive but found invalid values:\n{self.probs.data[~positive]}")

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape: Shape = ()) -> Any:
        tiny = dtypes.finfo(self.probs.dtype).tiny
        with no_grad():
            u = empty_like_parameter(self.probs, self._extended_shape(sample_shape)).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @validated
    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(value, self.probs)
        # For probs 1 and value 0 the term is 0 * log(0), defined as 0.
        safe = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-safe).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
