"""Elementwise transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.transforms.base import Transform
from whygrad.distributions.utils import Real, _Number, broadcast_all, lazy_property
from whygrad.nn.functional import softplus

__all__ = ["AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform",
           "SigmoidTransform", "SoftplusTransform", "TanhTransform"]


class Fixed(Transform):
    """A transform without parameters: all instances of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class Increasing(Fixed):
    """A strictly increasing function on the reals."""

    domain = constraints.real
    bijective = True
    sign = +1


def _increasing(name: str, doc: str, codomain: Any, call: Callable[[Any, Any], Any], inverse: Callable[[Any, Any], Any],
                log_slope: Callable[[Any, Any, Any], Any]) -> Any:
    """A transform given by its function, the inverse, and the logarithm of the derivative at x: methods, all three."""
    members = {"codomain": codomain, "_call": call, "_inverse": inverse, "log_abs_det_jacobian": log_slope, "__doc__": doc,
               "__module__": __name__}
    return type(name, (Increasing,), members)


def _away_from_the_ends(y: Any) -> Any:
    info = dtypes.finfo(y.dtype)
    return y.clamp(min=info.tiny, max=1.0 - info.eps)


def _clipped_sigmoid(x: Any) -> Any:
    return _away_from_the_ends(x.sigmoid())


def _logit(y: Any) -> Any:
    y = _away_from_the_ends(y)
    return y.log() - (-y).log1p()


ExpTransform = _increasing("ExpTransform", "y = exp(x)", constraints.positive,
                           lambda self, x: x.exp(), lambda self, y: y.log(), lambda self, x, y: x)
SigmoidTransform = _increasing("SigmoidTransform", "y = 1 / (1 + exp(-x)), clamped away from 0 and 1", constraints.unit_interval,
                               lambda self, x: _clipped_sigmoid(x), lambda self, y: _logit(y),
                               lambda self, x, y: -softplus(-x) - softplus(x))
SoftplusTransform = _increasing("SoftplusTransform", "y = log(1 + exp(x))", constraints.positive,
                                lambda self, x: softplus(x), lambda self, y: (-y).expm1().neg().log() + y,
                                lambda self, x, y: -softplus(-x))
TanhTransform = _increasing("TanhTransform", "y = tanh(x)", constraints.interval(-1.0, 1.0),
                            lambda self, x: x.tanh(), lambda self, y: y.atanh(),
                            # log(1 - tanh(x)**2), without cancellation.
                            lambda self, x, y: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x)))


class AbsTransform(Fixed):
    """y = |x|; the inverse takes the positive branch"""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class PowerTransform(Transform):
    """y = x ** exponent"""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Real, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _again(self, cache_size: int) -> Transform:
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """y = loc + scale * x"""

    bijective = True

    def __init__(self, loc: Real, scale: Real, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    event_dim = property(lambda self: self._event_dim)  # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def _again(self, cache_size: int) -> Transform:
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, _Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        is_number = isinstance(self.scale, _Number)
        result = torch.full_like(x, math.log(abs(self.scale))) if is_number else self.scale.abs().log()
        if not self.event_dim:
            return result.expand(x.shape)
        return result.view((*result.size()[:-self.event_dim], -1)).sum(-1).expand(x.shape[:-self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, _Number) and isinstance(b, _Number):
        return a == b
    return bool((a == b).all())


def _broadcast(shape: Any, *parameters: Any) -> Any:
    return torch.broadcast_shapes(shape, *[getattr(p, "shape", ()) for p in parameters])


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x)"""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def _again(self, cache_size: int) -> Transform:
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
