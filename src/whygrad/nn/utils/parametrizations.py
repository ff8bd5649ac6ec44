"""Ready-made parametrizations: orthogonal matrices, weight and spectral normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

import whygrad as torch
from whygrad import linalg
from whygrad.autograd.grad_mode import no_grad
from whygrad.core.tensor import Tensor
from whygrad.nn import functional as F
from whygrad.nn.module import Module
from whygrad.nn.utils import parametrize
from whygrad.nn.utils.spectral_norm import as_matrix, default_dim
from whygrad.nn.utils.weight_norm import _weight_norm, norm_except_dim

ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal columns, or rows if it is wide.

    With a `base`, an orthogonal buffer, the result is `base` times the map of the parameter, so that any orthogonal matrix
    can be assigned. matrix_exp and cayley read the lower triangle as a skew-symmetric matrix; householder reads the columns
    as reflections, and the signs of the diagonal as the signs of the columns.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        wide = X.size(-2) < X.size(-1)
        Q = self._map(X.mT if wide else X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _map(self, X: Any) -> Any:
        n, k = X.size(-2), X.size(-1)
        if self.orthogonal_map == "householder":
            A = X.tril(-1)
            mirrors = linalg.householder_product(A, 2.0 / (1.0 + (A * A).sum(dim=-2)))
            return mirrors * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        X = X.tril()
        if n != k:
            X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = torch.matrix_exp(A)
        else:
            one = torch.eye(n, dtype=A.dtype)
            Q = linalg.solve(torch.add(one, A, alpha=-0.5), torch.add(one, A, alpha=0.5))
        return Q if n == k else Q[..., :k]

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                          "parametrizations when use_trivialization=False.")
            A, tau = torch.geqrf(tall)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return A.mT if wide else A
        self.base = _completed(tall)
        start = torch.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _completed(Q: Any) -> Any:
    """`Q` completed to a square orthogonal matrix."""
    n, k = Q.size(-2), Q.size(-1)
    if n == k:
        product = (Q.mH @ Q)._array
        tolerance = 10.0 * n * np.finfo(product.dtype).eps
        if np.allclose(product, np.eye(k, dtype=product.dtype), atol=tolerance):
            return Q.clone()
    else:
        Q = torch.cat([Q, torch.randn((*Q.shape[:-2], n, n - k), dtype=Q.dtype)], dim=-1)
    X, tau = torch.geqrf(Q)
    return linalg.householder_product(X, tau) * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Any:
    """Parametrize a matrix to be orthogonal."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.dtype.is_complex else "householder"
    if orthogonal_map not in ORTHOGONAL_MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
                         f"{orthogonal_map}")
    parametrize.register_parametrization(
        module, name, _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization), unsafe=True)
    return module


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a parameter into lengths (`original0`) and directions (`original1`)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """Also load checkpoints of `torch.nn.utils.weight_norm`."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


class _SpectralNorm(Module):
    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.size(), strict=True):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Any, n_power_iterations: int) -> None:
        """Power iteration, in place, towards the singular vectors of the largest singular value."""
        for _ in range(n_power_iterations):
            F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            F.normalize(torch.mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, because backward needs the current values.
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Divide a parameter by its largest singular value."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = default_dim(module) if dim is None else dim
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
