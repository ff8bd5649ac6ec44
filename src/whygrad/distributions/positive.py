"""Distributions of positive numbers."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.distributions import constraints
from whygrad.distributions.derived import TransformedDistribution
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.transforms import AffineTransform, ExpTransform, PowerTransform
from whygrad.distributions.utils import empty_like_parameter, euler_constant
from whygrad.functional.special import SPECIAL

__all__ = ["Chi2", "Exponential", "FisherSnedecor", "Gamma", "GeneralizedPareto", "InverseGamma", "Pareto", "Weibull"]


class Exponential(ExponentialFamily):
    """Exponential, by its rate."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return empty_like_parameter(self.rate, self._extended_shape(sample_shape)).exponential_() / self.rate

    @validated
    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * value

    @validated
    def cdf(self, value: Any) -> Any:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return -(-x).log()

    def _divergence(self, q: Any) -> Any:
        ratio = q.rate / self.rate
        return -ratio.log() + ratio - 1


class Gamma(ExponentialFamily):
    """Gamma(concentration, rate), with mean concentration / rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Real, rate: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(concentration=concentration, rate=rate), validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=dtypes.finfo(value.dtype).tiny)  # away from zero, without changing the gradient
        return value

    def log_prob(self, value: Any) -> Any:
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        if self._validate_args:
            self._validate_sample(value)
        return (torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value)
                - self.rate * value - self.concentration.lgamma())

    @validated
    def cdf(self, value: Any) -> Any:
        return SPECIAL["gammainc"](self.concentration, self.rate * value)

    def entropy(self) -> Any:
        return (self.concentration - self.rate.log() + self.concentration.lgamma()
                + (1.0 - self.concentration) * self.concentration.digamma())

    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()

    def _divergence(self, q: Any) -> Any:
        return (q.concentration * (self.rate / q.rate).log() + q.concentration.lgamma() - self.concentration.lgamma()
                + (self.concentration - q.concentration) * self.concentration.digamma()
                + (q.rate - self.rate) * (self.concentration / self.rate))


class Chi2(Gamma):
    """Chi2(df): the sum of `df` squared standard normals."""

    arg_constraints = {"df": constraints.positive}
    _parts = ("concentration", "rate")

    def __init__(self, df: Real, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)


class InverseGamma(TransformedDistribution):
    """InverseGamma(concentration, rate): 1 / x for x ~ Gamma(concentration, rate)."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, concentration: Real, rate: Real, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def mean(self) -> Any:
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def variance(self) -> Any:
        value = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return torch.where(self.concentration > 2, value, math.inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """FisherSnedecor(df1, df2): the ratio of two chi-squared variables, each divided by its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parts = ("_gamma1", "_gamma2")

    def __init__(self, df1: Real, df2: Real, validate_args: bool | None = None) -> None:
        self._broadcast(df1=df1, df2=df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        tiny = dtypes.finfo(self.df1.dtype).tiny
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    @validated
    def log_prob(self, value: Any) -> Any:
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        return (norm + half1 * ratio.log() + (half1 - 1) * value.log()
                - (half1 + half2) * (ratio * value).log1p())


class Weibull(TransformedDistribution):
    """Weibull(scale, concentration): scale * x ** (1 / concentration) for x ~ Exponential(1)."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parts = ("concentration_reciprocal",)

    def __init__(self, scale: Real, concentration: Real, validate_args: bool | None = None) -> None:
        self._broadcast(scale=scale, concentration=concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(Exponential(torch.ones_like(self.scale), validate_args=validate_args), self._make_transforms(),
                         validate_args=validate_args)

    def _make_transforms(self) -> list[Any]:
        return [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._make_transforms()
        return new

    mean = property(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    @property
    def mode(self) -> Any:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Any:
        second = (1 + 2 * self.concentration_reciprocal).lgamma().exp()
        return self.scale.pow(2) * (second - (2 * (1 + self.concentration_reciprocal).lgamma()).exp())

    def entropy(self) -> Any:
        spread = (self.scale * self.concentration_reciprocal).log()
        return euler_constant * (1 - self.concentration_reciprocal) + spread + 1


class Pareto(TransformedDistribution):
    """Pareto(scale, alpha): scale * exp(x) for x ~ Exponential(alpha)."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Real, alpha: Real, validate_args: bool | None = None) -> None:
        self._broadcast(scale=scale, alpha=alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args),
                         [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)  # the mean is infinite for alpha <= 1
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())

    def _divergence(self, q: Any) -> Any:
        ratio = q.alpha / self.alpha
        result = q.alpha * (self.scale / q.scale).log() - ratio.log() + ratio - 1
        return result.masked_fill(self.scale < q.scale, math.inf)


class GeneralizedPareto(Distribution):
    """GeneralizedPareto(loc, scale, concentration): exceedances; exponential at concentration zero."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Real, scale: Real, concentration: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(loc=loc, scale=scale, concentration=concentration), validate_args=validate_args)

    def _split(self) -> tuple[Any, Any]:
        """Where the concentration is zero, and the concentration without zeros."""
        is_zero = self.concentration.abs() <= 1e-8
        return is_zero, self.concentration.masked_fill(is_zero, 1.0)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    @validated
    def log_prob(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        is_zero, safe = self._split()
        power = 1 / safe + torch.ones_like(z)
        tail = torch.where(power == 0, power, power * (safe * z).log1p())
        return -self.scale.log() - torch.where(is_zero, z, tail)

    @validated
    def log_survival_function(self, value: Any) -> Any:
        z = (value - self.loc) / self.scale
        is_zero, safe = self._split()
        return torch.where(is_zero, -z, -(safe * z).log1p() / safe)

    def log_cdf(self, value: Any) -> Any:
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        is_zero, safe = self._split()
        log_rest = (-value).log1p()
        curved = self.loc + self.scale / safe * (-safe * log_rest).expm1()
        return torch.where(is_zero, self.loc - self.scale * log_rest, curved)

    @property
    def mean(self) -> Any:
        known = self.concentration < 1
        safe = torch.where(known, self.concentration, 0.5)
        return torch.where(known, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self) -> Any:
        known = self.concentration < 0.5
        safe = torch.where(known, self.concentration, 0.25)
        return torch.where(known, self.scale ** 2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.nan)

    mode = property(lambda self: self.loc)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)
