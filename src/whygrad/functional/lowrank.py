"""Approximations of low rank, by products with a few random vectors (Halko, Martinsson, Tropp 2009)."""

from __future__ import annotations

from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.factor import linalg_cholesky, linalg_qr
from whygrad.functional.linalg import matmul
from whygrad.functional.run import FUNCTIONS, public
from whygrad.functional.solve import inv
from whygrad.functional.spectral import eigh, linalg_svd


@public(method=False)
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V with U @ diag(S) @ V.mH near A (near A - M), of rank `q`."""
    if M is not None:
        A = FUNCTIONS["sub"](A, M)
    adjoint = FUNCTIONS["adjoint"]
    wide = A._array.shape[-2] < A._array.shape[-1]
    tall = adjoint(A) if wide else A
    basis = _basis(tall, 6 if q is None else q, 2 if niter is None else niter)
    u, s, vh = linalg_svd(matmul(adjoint(basis), tall), False)
    u, v = matmul(basis, u), adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """`q` orthonormal columns whose span nearly contains the columns of A."""
    adjoint = FUNCTIONS["adjoint"](A)
    directions = FUNCTIONS["randn"](A._array.shape[-1], q, dtype=A.dtype)
    basis: Tensor = linalg_qr(matmul(A, directions)).Q
    for _ in range(niter):
        basis = linalg_qr(matmul(adjoint, basis)).Q
        basis = linalg_qr(matmul(A, basis)).Q
    return basis


@public(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The `q` main directions of the rows of A: U, S and V as of `svd_lowrank`, after the mean row is subtracted."""
    smaller = min(A._array.shape[-2:])
    if q is None:
        q = min(6, smaller)
    elif not 0 <= q <= smaller:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={smaller}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = FUNCTIONS["sub"](A, FUNCTIONS["mean"](A, -2, True))
    return svd_lowrank(A, q, niter)


@public(method=False)
def lobpcg(A: Tensor, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None,
           niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None,
           tracker: Any = None, ortho_iparams: Any = None, ortho_fparams: Any = None,
           ortho_bparams: Any = None) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) eigenvalues of the symmetric A, for A x = e B x if B is given, and their vectors.

    They are computed directly: what steers torch's iteration has no influence.
    """
    if k is None:
        k = 1 if X is None else X._array.shape[-1]
    size = A._array.shape[-1]
    if size < 3 * k:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the "
                         f"number of requested eigenpairs (={k})")
    if X is None:  # torch begins with these, so random numbers that come after are the same
        FUNCTIONS["randn"](*A._array.shape[:-2], size, k if n is None else n, dtype=A.dtype)
    if B is None:
        values, vectors = eigh(A)
    else:
        inverse = inv(linalg_cholesky(B))
        adjoint = FUNCTIONS["adjoint"](inverse)
        values, vectors = eigh(matmul(matmul(inverse, A), adjoint))
        vectors = matmul(adjoint, vectors)
    if largest is not False:
        values, vectors = FUNCTIONS["flip"](values, (-1,)), FUNCTIONS["flip"](vectors, (-1,))
    return values[..., :k], vectors[..., :k]
