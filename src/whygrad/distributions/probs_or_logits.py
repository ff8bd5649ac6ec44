"""Parameters given as probabilities or as logits; the other form is computed on first access."""

from __future__ import annotations

from typing import Any

from whygrad.core.tensor import Size
from whygrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


def given(probs: Any, logits: Any) -> str:
    """Which of the two was passed."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


class ProbsOrLogits:
    """Mixin for distributions whose `_given` is "probs" or "logits"."""

    _given: str
    _is_binary = True

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self) -> Any:
        return getattr(self, self._given)

    @property
    def param_shape(self) -> Size:
        return self._param.size()


class OfCategories:
    """Mixin for distributions that wrap a Categorical."""

    _categorical: Any
    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
