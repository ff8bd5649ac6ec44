"""Distributions on an interval, and on the simplex."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.distributions import constraints, utils
from whygrad.distributions.derived import TransformedDistribution
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.probs_or_logits import ProbsOrLogits
from whygrad.distributions.transforms import AffineTransform, PowerTransform
from whygrad.functional.special import sample_dirichlet
from whygrad.nn.functional import binary_cross_entropy_with_logits, one_hot


class Uniform(Distribution):
    """Uniform(low, high), on the half-open interval [low, high)."""

    has_rsample = True
    _parts = ("low", "high")

    def __init__(self, low: Real, high: Real, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast(low=low, high=high), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12 ** 0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        units = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + units * (self.high - self.low)

    @validated
    def log_prob(self, value: Any) -> Any:
        inside = (self.low <= value).to(self.low.dtype) * (self.high > value).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    @validated
    def cdf(self, value: Any) -> Any:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()

    def _divergence(self, q: Any) -> Any:
        result = ((q.high - q.low) / (self.high - self.low)).log()
        return result.masked_fill((q.low > self.low) | (q.high < self.high), math.inf)


class Dirichlet(ExponentialFamily):
    """Dirichlet(concentration): points of the simplex, with mean proportional to the concentration."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: utils.Values, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration: Any = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Any) -> Any:
        weighted = torch.xlogy(self.concentration - 1.0, value).sum(-1)
        return weighted + self.concentration.sum(-1).lgamma() - self.concentration.lgamma().sum(-1)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Any:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        corner = one_hot(mode.argmax(dim=-1), mode.shape[-1]).to(mode.dtype)
        return torch.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        total = self.concentration.sum(-1)
        return (self.concentration.lgamma().sum(-1) - total.lgamma()
                - (self.concentration.size(-1) - total) * total.digamma()
                - ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1))

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()

    def _divergence(self, q: Any) -> Any:
        total_p, total_q = self.concentration.sum(-1), q.concentration.sum(-1)
        norm = total_p.lgamma() - total_q.lgamma() - (self.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
        mean_log = self.concentration.digamma() - total_p.digamma().unsqueeze(-1)
        return norm + ((self.concentration - q.concentration) * mean_log).sum(-1)


class Beta(ExponentialFamily):
    """Beta(concentration1, concentration0), on [0, 1]: the first component of a two-dimensional Dirichlet."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _parts = ("_dirichlet",)

    def __init__(self, concentration1: Real, concentration0: Real, validate_args: bool | None = None) -> None:
        if isinstance(concentration1, utils._Number) and isinstance(concentration0, utils._Number):
            both = torch.tensor([float(concentration1), float(concentration0)])
        else:
            both = torch.stack(utils.broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    @validated
    def log_prob(self, value: Any) -> Any:
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    def _divergence(self, q: Any) -> Any:
        total_p, total_q = self.concentration1 + self.concentration0, q.concentration1 + q.concentration0
        norm = (q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
                - self.concentration1.lgamma() - self.concentration0.lgamma() - total_q.lgamma())
        return (norm + (self.concentration1 - q.concentration1) * self.concentration1.digamma()
                + (self.concentration0 - q.concentration0) * self.concentration0.digamma()
                + (total_q - total_p) * total_p.digamma())


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy(concentration1, concentration0): close to Beta, with a simple inverse: (1 - u ** (1 / b)) ** (1 / a)."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, concentration1: Real, concentration0: Real, validate_args: bool | None = None) -> None:
        self._broadcast(concentration1=concentration1, concentration0=concentration0)
        base = Uniform(torch.zeros_like(self.concentration0), torch.ones_like(self.concentration0),
                       validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
                      PowerTransform(exponent=self.concentration1.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> Any:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    @property
    def mode(self) -> Any:
        # torch's formula, which gives nan where it takes the logarithm of a negative number.
        log_mode = (self.concentration0.reciprocal() * (-self.concentration0).log1p()
                    - (-self.concentration0 * self.concentration1).log1p())
        return log_mode.masked_fill((self.concentration0 < 1) | (self.concentration1 < 1), math.nan).exp()

    def entropy(self) -> Any:
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = (self.concentration0 + 1).digamma() + utils.euler_constant
        return t0 + t1 * harmonic - self.concentration1.log() - self.concentration0.log()


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """ContinuousBernoulli(probs) or with logits: density p ** x (1 - p) ** (1 - x) on [0, 1], normalised.

    Around p = 1/2, between the `lims`, its formulas are 0 / 0 and are replaced by Taylor series.
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _constants = ("_given", "_lims")

    def __init__(self, probs: Real | None = None, logits: Real | None = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        self._broadcast(**self._choose(probs, logits))
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = utils.clamp_probs(self.probs)
        self._lims = lims
        Distribution.__init__(self, self._param.size(), validate_args=validate_args)

    @utils.lazy_property
    def probs(self) -> Any:
        return utils.clamp_probs(utils.logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        return torch.where(self._stable(), self.probs, self._lims[0])

    def _either(self, formula: Any, taylor: Any) -> Any:
        return torch.where(self._stable(), formula, taylor)

    def _cont_bern_log_norm(self) -> Any:
        p = self._cut_probs()
        below, above = torch.where(p <= 0.5, p, 0.0), torch.where(p >= 0.5, p, 1.0)
        log_gap = torch.where(p <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        return self._either(((-p).log1p() - p.log()).abs().log() - log_gap,
                            math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        p = self._cut_probs()
        x = self.probs - 0.5
        return self._either(p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()),
                            0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Any:
        p = self._cut_probs()
        x = (self.probs - 0.5).pow(2)
        return self._either(p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2),
                            1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    @validated
    def log_prob(self, value: Any) -> Any:
        logits, value = utils.broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    @validated
    def cdf(self, value: Any) -> Any:
        p = self._cut_probs()
        inside = self._either((p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0), value)
        return torch.where(value <= 0.0, 0.0, torch.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Any) -> Any:
        p = self._cut_probs()
        steps = (-p + value * (2.0 * p - 1.0)).log1p() - (-p).log1p()
        return self._either(steps / (p.log() - (-p).log1p()), value)

    def entropy(self) -> Any:
        miss, hit = (-self.probs).log1p(), self.probs.log()
        return self.mean * (miss - hit) - self._cont_bern_log_norm() - miss

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        low, high = (limit - 0.5 for limit in self._lims)
        stable = (x <= low) | (x > high)
        cut = torch.where(stable, x, low)
        taylor = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return torch.where(stable, cut.expm1().abs().log() - cut.abs().log(), taylor)

    def _divergence(self, q: Any) -> Any:
        return (self.mean * (self.logits - q.logits) + self._cont_bern_log_norm() + (-self.probs).log1p()
                - q._cont_bern_log_norm() - (-q.probs).log1p())
