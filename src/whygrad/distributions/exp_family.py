"""Exponential families: densities exp(<t(x), theta> - F(theta) + k(x))."""

from __future__ import annotations

from typing import Any

from whygrad import autograd
from whygrad.distributions.distribution import Distribution
from whygrad.distributions.utils import Values, _sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Entropy and divergence follow from the log normalizer F and its gradient, the mean of t(x)."""

    @property
    def _natural_params(self) -> tuple[Values, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Values) -> Values:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def _normalizer_and_means(self) -> tuple[list[Values], Values, Any]:
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        return parameters, normalizer, autograd.grad(normalizer.sum(), parameters, create_graph=True)

    def entropy(self) -> Values:
        carrier = self._mean_carrier_measure
        parameters, normalizer, means = self._normalizer_and_means()
        result = normalizer - carrier
        for parameter, mean in zip(parameters, means, strict=True):
            result = result - (parameter * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return result

    def _divergence(self, q: Any) -> Any:
        """The Bregman divergence of the log normalizer."""
        if type(self) is not type(q):
            raise NotImplementedError("The cross KL-divergence between different exponential families cannot "
                                      "                            be computed using Bregman divergences")
        ours, normalizer, means = self._normalizer_and_means()
        theirs = q._natural_params
        result = q._log_normalizer(*theirs) - normalizer
        for a, b, mean in zip(ours, theirs, means, strict=True):
            result = result - _sum_rightmost((b - a) * mean, len(q.event_shape))
        return result
