"""Distributions of matrices."""

from __future__ import annotations

import math
import numbers
from typing import Any

import whygrad as torch
from whygrad import linalg
from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.bounded import Beta
from whygrad.distributions.distribution import Distribution, Real, Shape, validated
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.positive import Chi2
from whygrad.distributions.utils import Values, lazy_property
from whygrad.distributions.vectors import ScaleMatrix, _half_log_det


class Wishart(ScaleMatrix, ExponentialFamily):
    """Wishart(df, ...) with one of `covariance_matrix`, `precision_matrix`, `scale_tril`."""

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parts = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(self, df: Real, covariance_matrix: Values | None = None, precision_matrix: Values | None = None,
                 scale_tril: Values | None = None, validate_args: bool | None = None) -> None:
        name, matrix = self._only(AssertionError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
                                  scale_tril=scale_tril)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, numbers.Number):
            df = torch.tensor(df, dtype=matrix.dtype)
            batch_shape = matrix.shape[:-2]
            self.df = df
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        size = matrix.shape[-1]
        if bool(self.df.le(size - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if bool(self.df.lt(size).any()):
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        self._start(name, matrix, batch_shape, matrix.shape[-2:], validate_args)
        # Their square roots are the diagonal of a sample's factor.
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - torch.arange(size, dtype=matrix.dtype).expand((*batch_shape, -1)))

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def _copy_of_parts(self, batch_shape: Shape, _instance: Any) -> Any:
        new = super()._copy_of_parts(batch_shape, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand((*batch_shape, *self._event_shape))
        new._dist_chi2 = self._dist_chi2.expand((*batch_shape, self._event_shape[-1]))
        return new

    def _per_matrix(self, values: Any) -> Any:
        return values.view((*self._batch_shape, 1, 1))

    @lazy_property
    def precision_matrix(self) -> Any:
        factor = self._unbroadcasted_scale_tril
        return self._of_batch(torch.cholesky_solve(torch.eye(factor.shape[-1], dtype=factor.dtype), factor))

    mean = property(lambda self: self._per_matrix(self.df) * self.covariance_matrix)

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        return self._per_matrix(torch.where(factor <= 0, math.nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        covariance: Any = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._per_matrix(self.df) * (covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Shape = ()) -> Any:
        """Bartlett decomposition: factor @ factor.mT, with chi variables on the diagonal and normals below it."""
        size = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        roots = roots.clamp(min=dtypes.finfo(roots.dtype).eps)
        noise = roots.diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(size, size, offset=-1)
        shape = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        noise[..., rows, columns] = torch.randn(shape, dtype=noise.dtype)
        factor = torch.matmul(self._unbroadcasted_scale_tril, noise)
        return torch.matmul(factor, factor.mT)

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Any:
        """torch rejects samples as singular that are not, warns, and draws again; repeated here for the same numbers."""
        sample = self._bartlett_sampling(tuple(sample_shape))
        again = self._any_of_batch(self.support.check(sample))
        if bool(again.any()):
            warn("Singular sample detected.")
            for _ in range(10 if max_try_correction is None else max_try_correction):
                fresh = self._bartlett_sampling(again[again].shape)
                sample[again] = fresh
                again[again.clone()] = self._any_of_batch(~self.support.check(fresh))
                if not bool(again.any()):
                    break
        return sample

    def _any_of_batch(self, flags: Any) -> Any:
        return flags.amax([-(i + 1) for i in range(len(self._batch_shape))]) if self._batch_shape else flags

    def _log_scale(self) -> Any:
        return self._event_shape[-1] * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril)

    @validated
    def log_prob(self, value: Any) -> Any:
        size = self._event_shape[-1]
        solved = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        log_det: Any = linalg.slogdet(value).logabsdet
        return (-self.df * self._log_scale() - torch.mvlgamma(self.df / 2, size)
                + (self.df - size - 1) / 2 * log_det - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2)

    def entropy(self) -> Any:
        size = self._event_shape[-1]
        half = self.df / 2
        digammas = torch.digamma(half.unsqueeze(-1) - torch.arange(size, dtype=half.dtype) / 2).sum(-1)
        return ((size + 1) * self._log_scale() + torch.mvlgamma(half, size)
                - (self.df - size - 1) / 2 * digammas + self.df * size / 2)

    _natural_params = property(lambda self: (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2))

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        size = self._event_shape[-1]
        log_det: Any = linalg.slogdet(-2 * x).logabsdet
        half = y + (size + 1) / 2
        return half * (math.log(2) * size - log_det) + torch.mvlgamma(half, size)


class LKJCholesky(Distribution):
    """LKJCholesky(dim, concentration): factors L with density proportional to det(L @ L.mT) ** (concentration - 1).

    Sampled by the onion method (Lewandowski, Kurowicka and Joe, 2009): row by row.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parts = ("_beta",)
    _constants = ("dim",)

    def __init__(self, dim: int, concentration: Real = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self._broadcast(concentration=concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        row = torch.arange(-1, dim - 1, dtype=self.concentration.dtype).clamp(min=0)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def _expanded(self, part: Any, batch_shape: Size) -> Any:
        return part.expand((*batch_shape, self.dim)) if part is self._beta else super()._expanded(part, batch_shape)

    def sample(self, sample_shape: Shape = ()) -> Any:
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        normals = torch.randn(self._extended_shape(sample_shape), dtype=length.dtype).tril(-1)
        direction = normals / normals.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = length.sqrt() * direction
        rest = (1 - (rows ** 2).sum(dim=-1)).clamp(min=dtypes.finfo(rows.dtype).tiny)
        return rows + torch.diag_embed(rest.sqrt())

    @validated
    def log_prob(self, value: Any) -> Any:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - torch.arange(2, self.dim + 1)
        others = self.dim - 1
        alpha = self.concentration + 0.5 * others
        norm = 0.5 * others * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, others) - alpha.lgamma() * others
        return (power * diagonal.log()).sum(dim=-1) - norm
