"""Distributions made of another one: batch dims as event dims, and transformed samples."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.grad_mode import no_grad
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Shape, validated
from whygrad.distributions.transforms import ComposeTransform, Transform
from whygrad.distributions.utils import _sum_rightmost


class Independent(Distribution):
    """Independent(base, n): the last n batch dims of `base` are dims of the event; log_prob sums over them."""

    arg_constraints: dict[str, Any] = {}
    _constants = ("reinterpreted_batch_ndims",)

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{reinterpreted_batch_ndims} vs {len(batch)}")
        shape = batch + base_distribution.event_shape
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def __class_getitem__(cls, item: Any) -> Any:
        return cls  # Independent[Normal] in annotations

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.base_dist = self.base_dist.expand((*batch_shape, *self.event_shape[:self.reinterpreted_batch_ndims]))
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]
    has_enumerate_support = property(  # type: ignore[assignment]
        lambda self: not self.reinterpreted_batch_ndims > 0 and self.base_dist.has_enumerate_support)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @constraints.dependent_property
    def support(self) -> Any:
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    def sample(self, sample_shape: Shape = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """TransformedDistribution(base, transforms): samples of `base` after one transform or a list of them."""

    arg_constraints: dict[str, Any] = {}

    def __init__(self, base_distribution: Distribution, transforms: Transform | list[Transform],
                 validate_args: bool | None = None) -> None:
        self.transforms = self._as_list(transforms)
        transform = ComposeTransform(self.transforms)
        domain_dim, codomain_dim = transform.domain.event_dim, transform.codomain.event_dim
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        if len(shape) < domain_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain_dim}, but got {shape}.")
        forward_shape = transform.forward_shape(shape)
        base_shape = transform.inverse_shape(forward_shape)
        if shape != base_shape:  # the parameters of the transforms may have a larger batch shape
            base_distribution = base_distribution.expand(base_shape[:len(base_shape) - base_dim])
        if domain_dim > base_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_dim)
        self.base_dist = base_distribution
        cut = len(forward_shape) - max(codomain_dim, base_dim + codomain_dim - domain_dim)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    @staticmethod
    def _as_list(transforms: Any) -> list[Transform]:
        if isinstance(transforms, Transform):
            return [transforms]
        if not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        return transforms

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = Size(batch_shape) + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]

    def _transformed(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Shape = ()) -> Any:
        # base_dist.sample may draw in another way than rsample, so this is not rsample under no_grad.
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self._transformed(self.base_dist.rsample(sample_shape))

    @validated
    def log_prob(self, value: Any) -> Any:
        event_dim = len(self.event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _flip_if_decreasing(self, probability: Any) -> Any:
        """1 - p where the transforms together are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._flip_if_decreasing(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._transformed(self.base_dist.icdf(self._flip_if_decreasing(value)))
