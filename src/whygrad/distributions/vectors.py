"""Multivariate normal distributions."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad import linalg
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Shape, validated
from whygrad.distributions.utils import Values, _standard_normal, lazy_property


def _batch_mv(matrices: Any, vectors: Any) -> Any:
    """Batched matrix-vector product."""
    return torch.matmul(matrices, vectors.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factors: Any, vectors: Any) -> Any:
    """The squared norm of factor**-1 @ vector. Vectors that share a factor are solved as one system."""
    batch, shared = vectors.shape[:-1], factors.shape[:-2]
    extra = len(batch) - len(shared)
    # Dims along which the factor is broadcast become columns of one system; the others are batch dims.
    columns = [i for i in range(len(batch)) if i < extra or shared[i - extra] == 1]
    rows = [i for i in range(len(batch)) if i not in columns]
    systems = vectors.permute(*rows, len(batch), *columns)
    systems = systems.reshape(*[batch[i] for i in rows], vectors.shape[-1], -1)
    lean = factors.reshape(*[batch[i] for i in rows], *factors.shape[-2:])
    lengths: Any = linalg.solve_triangular(lean, systems, upper=False)
    lengths = lengths.pow(2).sum(-2).reshape([batch[i] for i in (*rows, *columns)])
    order = [*rows, *columns]
    return lengths.permute([order.index(i) for i in range(len(batch))]) if batch else lengths


def _half_log_det(factors: Any) -> Any:
    return factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision: Any) -> Any:
    """The lower Cholesky factor of the inverse; flipping rows and columns turns a lower factor into an upper one."""
    flipped = linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.flip(flipped, (-2, -1)).mT
    return linalg.solve_triangular(inverse, torch.eye(precision.shape[-1], dtype=precision.dtype), upper=False)


class ScaleMatrix(Distribution):
    """Base of distributions given by one of three matrices; the other two are computed on first access."""

    def _only(self, refusal: type[Exception], **matrices: Any) -> tuple[str, Any]:
        """The name and the value of the matrix that was passed."""
        passed = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(passed) != 1:
            raise refusal("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        return passed[0]

    def _start(self, name: str, matrix: Any, batch_shape: Shape, event_shape: Shape, validate_args: bool | None) -> None:
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        factors: dict[str, Any] = {"covariance_matrix": linalg.cholesky, "precision_matrix": _precision_to_scale_tril}
        self._unbroadcasted_scale_tril = factors[name](matrix) if name in factors else matrix

    def _of_batch(self, matrices: Any) -> Any:
        size = self._event_shape[-1]
        return matrices.expand((*self._batch_shape, size, size))

    @lazy_property
    def scale_tril(self) -> Any:
        return self._of_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._of_batch(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))


class NormalVectors(Distribution):
    """Base of the multivariate normals, and their divergence.

    Of its covariance a subclass knows the log determinant and the Mahalanobis distance, `_roots` (matrices r such that the
    sum of r @ r.mT is the covariance) and `_trace(root)`, the trace of the precision times root @ root.mT.
    """

    support = constraints.real_vector
    has_rsample = True
    mean = mode = property(lambda self: self.loc)

    def _divergence(self, q: Any) -> Any:
        if self.event_shape != q.event_shape:
            low = [isinstance(d, LowRankMultivariateNormal) for d in (self, q)]
            kind = "Low Rank " if all(low) else "(Low Rank) " if any(low) else ""
            raise ValueError(f"KL-divergence between two {kind}Multivariate Normals with                          different "
                             "event shapes cannot be computed")
        trace = sum([q._trace(root) for root in self._roots()])
        return 0.5 * (q._log_det() - self._log_det() + trace + q._mahalanobis(q.loc - self.loc) - self.event_shape[0])


def _sum_of_squares(matrices: Any) -> Any:
    return matrices.pow(2).sum((-2, -1))


class MultivariateNormal(NormalVectors, ScaleMatrix):
    """MultivariateNormal(loc, ...) with one of `covariance_matrix`, `precision_matrix`, `scale_tril`."""

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    _constants = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc: Values, covariance_matrix: Values | None = None, precision_matrix: Values | None = None,
                 scale_tril: Values | None = None, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._only(ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
                                  scale_tril=scale_tril)
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{shown} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch_shape, -1))
        self._start(name, matrix, batch_shape, self.loc.shape[-1:], validate_args)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._of_batch(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def _log_det(self) -> Any:
        return 2 * _half_log_det(self._unbroadcasted_scale_tril)

    def _mahalanobis(self, x: Any) -> Any:
        return _batch_mahalanobis(self._unbroadcasted_scale_tril, x)

    def _roots(self) -> list[Any]:
        return [self._unbroadcasted_scale_tril]

    def _trace(self, root: Any) -> Any:
        return _sum_of_squares(linalg.solve_triangular(self._unbroadcasted_scale_tril, root, upper=False))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        normals = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, normals)

    @validated
    def log_prob(self, value: Any) -> Any:
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return (-0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance)
                - _half_log_det(self._unbroadcasted_scale_tril))

    def entropy(self) -> Any:
        result = (0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
                  + _half_log_det(self._unbroadcasted_scale_tril))
        return result.expand(self._batch_shape)


class LowRankMultivariateNormal(NormalVectors):
    """LowRankMultivariateNormal(loc, cov_factor, cov_diag): covariance cov_factor @ cov_factor.mT + diag(cov_diag).

    Inverse and determinant come from the small matrix I + W' D**-1 W, the capacitance.
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    _constants = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Values, cov_factor: Values, cov_diag: Values, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                             f"{cov_diag.shape}") from error
        self.loc: Any = loc.expand((*batch, -1))
        self.cov_factor: Any = cov_factor.expand((*batch, -1, -1))
        self.cov_diag: Any = cov_diag.expand((*batch, -1))
        self._unbroadcasted_cov_factor: Any = cov_factor
        self._unbroadcasted_cov_diag: Any = cov_diag
        scaled = self._scaled_factor()
        small = torch.matmul(scaled, cov_factor)
        self._capacitance_tril: Any = linalg.cholesky(small + torch.eye(small.shape[-1], dtype=small.dtype))
        super().__init__(batch, event_shape, validate_args=validate_args)

    def _scaled_factor(self) -> Any:
        """W' D**-1"""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _log_det(self) -> Any:
        return 2 * _half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _mahalanobis(self, x: Any) -> Any:
        inner = _batch_mahalanobis(self._capacitance_tril, _batch_mv(self._scaled_factor(), x))
        return (x.pow(2) / self._unbroadcasted_cov_diag).sum(-1) - inner

    def _roots(self) -> list[Any]:
        return [self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag.sqrt().diag_embed()]

    def _trace(self, root: Any) -> Any:
        inner: Any = linalg.solve_triangular(self._capacitance_tril, self._scaled_factor(), upper=False)
        return (_sum_of_squares(root * self._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
                - _sum_of_squares(inner.matmul(root)))

    def _of_batch(self, matrices: Any) -> Any:
        return matrices.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def variance(self) -> Any:
        result = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return result.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        correlations = torch.matmul(scaled, scaled.mT) + torch.eye(self._event_shape[0], dtype=scaled.dtype)
        return self._of_batch(root * linalg.cholesky(correlations))

    @lazy_property
    def covariance_matrix(self) -> Any:
        factor = self._unbroadcasted_cov_factor
        return self._of_batch(torch.matmul(factor, factor.mT) + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Any:
        a: Any = linalg.solve_triangular(self._capacitance_tril, self._scaled_factor(), upper=False)
        return self._of_batch(torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        for_factor = _standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype)
        for_diag = _standard_normal(shape, self.loc.dtype)
        return (self.loc + _batch_mv(self._unbroadcasted_cov_factor, for_factor)
                + self._unbroadcasted_cov_diag.sqrt() * for_diag)

    @validated
    def log_prob(self, value: Any) -> Any:
        distance = self._mahalanobis(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Any:
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return result.expand(self._batch_shape)
