"""Transforms of vectors and matrices: onto simplexes, Cholesky factors, correlations."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad import linalg
from whygrad.base import dtypes
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.transforms.base import TOO_FEW, Transform
from whygrad.distributions.transforms.pointwise import Fixed, _clipped_sigmoid
from whygrad.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from whygrad.nn.functional import logsigmoid, pad, softplus

__all__ = ["CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
           "StickBreakingTransform"]


def _at_least(shape: Any, dims: int) -> Any:
    if len(shape) < dims:
        raise ValueError(TOO_FEW)
    return shape


class SoftmaxTransform(Fixed):
    """y = exp(x), normalised along the last dim. Many x give the same y; the inverse gives one of them."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _at_least(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(Fixed):
    """n reals to the simplex of n + 1: each takes the fraction sigmoid(x - offset) of the remainder."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Any) -> Any:
        """The offset for which x = 0 gives equal components."""
        return torch.arange(x.shape[-1], 0, -1, dtype=x.dtype).log()

    def _call(self, x: Any) -> Any:
        broken = _clipped_sigmoid(x - self._offset(x))
        left = (1 - broken).cumprod(-1)
        shares: Any = pad(broken, [0, 1], value=1)
        return shares * pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        shares = y[..., :-1]
        left = (1 - shares.cumsum(-1)).clamp(min=dtypes.finfo(y.dtype).tiny)
        return shares.log() - left.log() + self._offset(shares)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return _at_least(shape, 1)[:-1] + Size((shape[-1] + 1,))

    def inverse_shape(self, shape: Any) -> Any:
        return _at_least(shape, 1)[:-1] + Size((shape[-1] - 1,))


class LowerCholeskyTransform(Fixed):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Fixed):
    """Matrices to positive definite ones."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 reals to the Cholesky factor of a correlation matrix: tanh, then stick-breaking of each row's unit norm."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = dtypes.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r ** 2).sqrt().cumprod(-1)
        return (r + torch.eye(r.shape[-1], dtype=r.dtype)) * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return 0.5 * left.log().sum(-1) + tanh

    def forward_shape(self, shape: Any) -> Any:
        count = _at_least(shape, 1)[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + Size((size, size))

    def inverse_shape(self, shape: Any) -> Any:
        if _at_least(shape, 2)[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + Size((shape[-1] * (shape[-1] - 1) // 2,))
