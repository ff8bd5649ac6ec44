"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.categories import Categorical
from whygrad.distributions.distribution import Distribution, Shape, validated

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """MixtureSameFamily(Categorical, components): the components are the last batch dim of one distribution."""

    arg_constraints: dict[str, Any] = {}
    has_rsample = False
    _parts = ("_mixture_distribution",)
    _constants = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        batch = component_distribution.batch_shape[:-1]
        self._num_component = mixture_distribution.logits.shape[-1]
        self._check_shapes(mixture_distribution.batch_shape, batch, component_distribution.batch_shape[-1])
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def _check_shapes(self, mixture: Size, components: Size, count: int) -> None:
        for a, b in zip(reversed(mixture), reversed(components), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixture}) is not compatible with "
                                 f"`component_distribution.batch_shape`({components})")
        if self._num_component != count:
            raise ValueError(f"`mixture_distribution component` ({self._num_component}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({count})")

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def _weights(self) -> Any:
        """The mixture's probabilities, with dims to broadcast against the components' events."""
        probs = self._mixture_distribution.probs
        batch = len(self._mixture_distribution.batch_shape)
        missing = 0 if batch == 1 else len(self.batch_shape) - batch
        return probs.reshape((*probs.shape[:-1], *[1] * missing, probs.shape[-1], *[1] * self._event_ndims))

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def _mixed(self, of_components: Any) -> Any:
        return (self._weights() * of_components).sum(dim=-1 - self._event_ndims)

    mean = property(lambda self: self._mixed(self._component_distribution.mean))

    @property
    def variance(self) -> Any:
        between = (self._component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return self._mixed(self._component_distribution.variance) + self._mixed(between)

    def cdf(self, x: Any) -> Any:
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(dim=-1)

    @validated
    def log_prob(self, x: Any) -> Any:
        of_components: Any = self._component_distribution.log_prob(self._pad(x))
        return (of_components + self._mixture_distribution.logits.log_softmax(dim=-1)).logsumexp(dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Any:
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            event = self.event_shape
            index = chosen.reshape((*chosen.shape, *[1] * (len(event) + 1)))
            index = index.expand((*chosen.shape, 1, *event))
            dim = len(sample_shape) + len(self.batch_shape)
            return torch.gather(samples, dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
