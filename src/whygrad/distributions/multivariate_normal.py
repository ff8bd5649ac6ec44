"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad import linalg
from whygrad.distributions import constraints
from whygrad.distributions.distribution import Distribution, Shape, validated
from whygrad.distributions.utils import Values, _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


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
        factor = {"covariance_matrix": linalg.cholesky, "precision_matrix": _precision_to_scale_tril}.get(name)
        self._unbroadcasted_scale_tril = matrix if factor is None else factor(matrix)

    def _of_batch(self, matrices: Any) -> Any:
        size = self._event_shape[-1]
        return matrices.expand((*self._batch_shape, size, size))

    @lazy_property
    def scale_tril(self) -> Any:
        return self._of_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._of_batch(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))


class MultivariateNormal(ScaleMatrix):
    """MultivariateNormal(loc, ...) with one of `covariance_matrix`, `precision_matrix`, `scale_tril`."""

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
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

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

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
