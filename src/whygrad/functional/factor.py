"""Cholesky factors and triangular systems. Complex matrices are not supported."""

from __future__ import annotations

import warnings
from typing import Any

from whygrad._apply import apply
from whygrad._inplace import broadcast_shapes
from whygrad._tensor import Tensor, wrap
from whygrad.backends.numpy_factor import LinAlgError, cholesky_info
from whygrad.errors import user_stacklevel
from whygrad.functional.arguments import read_tensor
from whygrad.functional.run import public, with_out
from whygrad.ops.table import TABLE
from whygrad.promotion import promote
from whygrad.return_types import linalg_cholesky_ex

_whygrad_internal_ = True

__all__ = ["LinAlgError"]

_FACTOR_NODE = "LinalgCholeskyExBackward0"


def _check_real(name: str, x: Tensor) -> None:
    if x.dtype.is_complex:
        raise NotImplementedError(f"{name} of complex matrices is not available in whygrad")
    if not x.dtype.is_floating_point:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_name}")


def _check_square(name: str, x: Tensor, argument: str = "A") -> None:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    rows, columns = x.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: {argument} must be batches of square matrices, but they are {rows} by {columns} "
                           "matrices")


def linalg_cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular L with L @ L.mT = A, or its transpose if `upper`."""
    read_tensor("linalg_cholesky", A, "A")
    _check_square("linalg.cholesky", A)
    _check_real("linalg.cholesky", A)
    factor = apply(TABLE["cholesky"], A.mT if upper else A, name="linalg.cholesky", node=_FACTOR_NODE)
    return with_out("linalg_cholesky", factor.mT if upper else factor, out, A)  # type: ignore[no-any-return]


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """The factor, and where a matrix is not positive definite the order of the first minor that is not."""
    if out is not None:
        raise NotImplementedError("linalg.cholesky_ex with out= is not available in whygrad")
    read_tensor("linalg_cholesky_ex", A, "A")
    _check_square("linalg.cholesky", A)
    _check_real("linalg.cholesky", A)
    factor, info = cholesky_info(A._array.swapaxes(-1, -2) if upper else A._array)
    if check_errors or not info.any():
        result = linalg_cholesky(A, upper=upper)
    else:
        result = wrap(factor.swapaxes(-1, -2) if upper else factor)
    return linalg_cholesky_ex(result, wrap(info))


@public()
def cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The Cholesky factor. torch has replaced it by `linalg.cholesky`."""
    read_tensor("cholesky", input)
    if input.ndim < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    _check_square("cholesky", input)
    _check_real("cholesky", input)
    warnings.warn("torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
                  "release.", UserWarning, stacklevel=user_stacklevel())
    factor = apply(TABLE["cholesky"], input.mT if upper else input, name="cholesky", node="CholeskyBackward0")
    return with_out("cholesky", factor.mT if upper else factor, out, input)  # type: ignore[no-any-return]


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False,
                     out: Any = None) -> Tensor:
    """X with A @ X = B, or X @ A = B if not `left`; A is triangular, its other half is not read."""
    name = "linalg.solve_triangular"
    read_tensor("linalg_solve_triangular", A, "A")
    read_tensor("linalg_solve_triangular", B, "B", 2)
    _check_square(name, A)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != B.shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} "
                           f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")
    _check_real(name, A)
    broadcast_shapes(A.shape[:-2], B.shape[:-2])
    result = apply(TABLE["solve_triangular"], *promote(name, A, B), upper=upper, left=left, unit=unitriangular)
    return with_out("linalg_solve_triangular", result, out, A, B)  # type: ignore[no-any-return]


@public()
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """X with (L @ L.mT) @ X = B, or with (L.mT @ L) @ X = B if the factor is `upper`."""
    for letter, x in (("b", B), ("u", L)):
        read_tensor("cholesky_solve", x, letter)
        if x.ndim < 2:
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    if L.shape[-1] != L.shape[-2]:
        raise RuntimeError("cholesky_solve: A must be batches of square matrices, but they are "
                           f"{L.shape[-2]} by {L.shape[-1]} matrices")
    if B.shape[-2] != L.shape[-1]:
        raise RuntimeError(f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.shape[-1]} by {L.shape[-1]} "
                           f"but each b matrix is {B.shape[-2]} by {B.shape[-1]}")
    _check_real("cholesky_solve", L)
    broadcast_shapes(B.shape[:-2], L.shape[:-2])
    result = apply(TABLE["cholesky_solve"], *promote("cholesky_solve", B, L), upper=upper)
    return with_out("cholesky_solve", result, out, B, L)  # type: ignore[no-any-return]


@public()
def cholesky_inverse(L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of L @ L.mT, or of L.mT @ L if the factor is `upper`."""
    read_tensor("cholesky_inverse", L)
    _check_square("cholesky_inverse", L)
    _check_real("cholesky_inverse", L)
    result = apply(TABLE["cholesky_inverse"], L, upper=upper)
    return with_out("cholesky_inverse", result, out, L)  # type: ignore[no-any-return]
