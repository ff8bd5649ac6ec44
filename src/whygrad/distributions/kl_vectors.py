"""KL divergences between multivariate normals with full or low-rank covariances."""

from __future__ import annotations

from typing import Any

from whygrad import linalg
from whygrad.distributions.kl import register_kl
from whygrad.distributions.vectors import LowRankMultivariateNormal, MultivariateNormal, _batch_mahalanobis, _half_log_det

DIFFERENT = "KL-divergence between two {} with                          different event shapes cannot be computed"
PAIRS = {(MultivariateNormal, MultivariateNormal): "Multivariate Normals",
         (LowRankMultivariateNormal, LowRankMultivariateNormal): "Low Rank Multivariate Normals",
         (MultivariateNormal, LowRankMultivariateNormal): "(Low Rank) Multivariate Normals",
         (LowRankMultivariateNormal, MultivariateNormal): "(Low Rank) Multivariate Normals"}


def _log_det(d: Any) -> Any:
    """The log determinant of the covariance."""
    return d._log_det() if isinstance(d, LowRankMultivariateNormal) else 2 * _half_log_det(d._unbroadcasted_scale_tril)


def _distance(q: Any, x: Any) -> Any:
    return q._mahalanobis(x) if isinstance(q, LowRankMultivariateNormal) else _batch_mahalanobis(
        q._unbroadcasted_scale_tril, x)


def _roots(p: Any) -> list[Any]:
    """Matrices r such that the sum of r @ r.mT is the covariance."""
    if isinstance(p, LowRankMultivariateNormal):
        return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]
    return [p._unbroadcasted_scale_tril]


def _sum_of_squares(matrices: Any) -> Any:
    return matrices.pow(2).sum((-2, -1))


def _trace(q: Any, root: Any) -> Any:
    """The trace of q's precision times root @ root.mT."""
    if not isinstance(q, LowRankMultivariateNormal):
        return _sum_of_squares(linalg.solve_triangular(q._unbroadcasted_scale_tril, root, upper=False))
    inner: Any = linalg.solve_triangular(q._capacitance_tril, q._scaled_factor(), upper=False)
    return (_sum_of_squares(root * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
            - _sum_of_squares(inner.matmul(root)))


def _normal_vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        kinds = tuple(LowRankMultivariateNormal if isinstance(d, LowRankMultivariateNormal) else MultivariateNormal
                      for d in (p, q))
        raise ValueError(DIFFERENT.format(PAIRS[kinds]))  # type: ignore[index]
    trace = sum([_trace(q, root) for root in _roots(p)])
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])


for _pair in PAIRS:
    register_kl(*_pair)(_normal_vectors)
