"""Parameters given as probabilities or as logits; the other form is computed on first access."""

from __future__ import annotations

from typing import Any

from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Real
from whygrad.distributions.utils import lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits(Distribution):
    """Base of distributions whose `_given` is "probs" or "logits"."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _constants: tuple[str, ...] = ("_given",)
    _is_binary = True

    def __init__(self, probs: Real | None = None, logits: Real | None = None, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(**self._choose(probs, logits)), validate_args=validate_args)

    def _choose(self, probs: Any, logits: Any) -> dict[str, Any]:
        """The one that was passed, by name."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "logits" if probs is None else "probs"
        return {self._given: logits if probs is None else probs}

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    _param = property(lambda self: getattr(self, self._given))
    param_shape = property(lambda self: self._param.size())


class OfCategories(Distribution):
    """Base of distributions that wrap a Categorical."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parts = ("_categorical",)
    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)
