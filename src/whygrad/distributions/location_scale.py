"""Distributions of loc + scale * x on the real line, and on the circle."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.bounded import Uniform
from whygrad.distributions.derived import TransformedDistribution
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.positive import Chi2
from whygrad.distributions.transforms import AffineTransform, ExpTransform
from whygrad.distributions.utils import Values, _standard_normal, empty_like_parameter, euler_constant
from whygrad.functional.special import SPECIAL


class LocationScale(Distribution):
    """Parameters `loc` and `scale`; symmetric around `loc`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(loc=loc, scale=scale), validate_args=validate_args)

    mode = property(lambda self: self.loc)


class Normal(LocationScale, ExponentialFamily):
    """Normal(loc, scale): mean `loc`, standard deviation `scale`."""

    _mean_carrier_measure = 0

    mean = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.pow(2))

    def sample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype) * self.scale

    @validated
    def log_prob(self, value: Any) -> Any:
        variance = self.scale ** 2
        return -((value - self.loc) ** 2) / (2 * variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    @validated
    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    _natural_params = property(lambda self: (self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()))

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()

    def _divergence(self, q: Any) -> Any:
        ratio = (self.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


class Laplace(LocationScale):
    """Laplace(loc, scale): the double exponential distribution."""

    mean = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2 ** 0.5 * self.scale)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        eps = dtypes.finfo(self.loc.dtype).eps
        u = empty_like_parameter(self.loc, self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    @validated
    def log_prob(self, value: Any) -> Any:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    @validated
    def cdf(self, value: Any) -> Any:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()

    def _divergence(self, q: Any) -> Any:
        ratio, gap = self.scale / q.scale, (self.loc - q.loc).abs()
        return -ratio.log() + gap / q.scale + ratio * (-gap / self.scale).exp() - 1


class Cauchy(LocationScale):
    """Cauchy(loc, scale): the ratio of two normals; it has no mean."""

    mean = property(lambda self: torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype))
    variance = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.loc + empty_like_parameter(self.loc, self._extended_shape(sample_shape)).cauchy_() * self.scale

    @validated
    def log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    @validated
    def cdf(self, value: Any) -> Any:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()

    def _divergence(self, q: Any) -> Any:
        return ((self.scale + q.scale).pow(2) + (self.loc - q.loc).pow(2)).log() - (4 * self.scale * q.scale).log()


class StudentT(Distribution):
    """Student's t, by its degrees of freedom, shifted and scaled."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parts = ("_chi2",)

    def __init__(self, df: Real, loc: Real = 0.0, scale: Real = 1.0, validate_args: bool | None = None) -> None:
        self._broadcast(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        finite = self.df > 2
        df = torch.where(finite, self.df, 3.0)  # a placeholder where the result is masked, so that no nan enters the gradient
        variance = torch.where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        normals = _standard_normal(self._extended_shape(sample_shape), self.df.dtype)
        spread = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normals * (spread / self.df).rsqrt())

    @validated
    def log_prob(self, value: Any) -> Any:
        y = (value - self.loc) / self.scale
        half = 0.5 * self.df
        norm = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma()
                - (0.5 * (self.df + 1.0)).lgamma())
        return -0.5 * (self.df + 1.0) * (y ** 2.0 / self.df).log1p() - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


class Gumbel(TransformedDistribution):
    """Gumbel(loc, scale): loc - scale * log(-log(u)) of a uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Real, scale: Real, validate_args: bool | None = None) -> None:
        self._broadcast(loc=loc, scale=scale)
        info = dtypes.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps),
                       validate_args=validate_args)
        transforms = [ExpTransform().inv, AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
                      ExpTransform().inv, AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Any:
        # Numerically stable form of the transforms' formula.
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)

    def _divergence(self, q: Any) -> Any:
        ratio, gap = self.scale / q.scale, (self.loc - q.loc) / q.scale
        return -ratio.log() + gap + ratio * euler_constant + ((1 + ratio).lgamma() - gap).exp() - (1 + euler_constant)


class VonMises(Distribution):
    """VonMises(loc, concentration): angles around `loc`."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Values, concentration: Values, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(loc=loc, concentration=concentration), validate_args=validate_args)

    @validated
    def log_prob(self, value: Any) -> Any:
        log_bessel = SPECIAL["i0e"](self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - log_bessel

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 1 - SPECIAL["i1e"](self.concentration) / SPECIAL["i0e"](self.concentration))

    def sample(self, sample_shape: Shape = ()) -> Any:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher, 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, kappa = self.loc.to(dtypes.float64), self.concentration.to(dtypes.float64)
            tau = 1 + (1 + 4 * kappa ** 2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho ** 2) / (2 * rho))
            x = torch.zeros(shape, dtype=dtypes.float64)
            done = torch.zeros(shape, dtype=dtypes.bool_)
            while not done.all():
                u1, u2, u3 = torch.rand((3, *shape), dtype=dtypes.float64).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                # As in torch, a later accepted proposal replaces an earlier one.
                x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
