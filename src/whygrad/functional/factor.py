"""Factors of matrices: Cholesky's, triangular ones with row exchanges, orthogonal ones; and systems solved with them."""

from __future__ import annotations

from typing import Any

from whygrad.base.broadcasting import broadcast_shapes
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional import matrices, return_types
from whygrad.functional.arguments import check_tensors, read_tensor
from whygrad.functional.fresh import in_usual_order, warn_once
from whygrad.functional.outs import with_outs
from whygrad.functional.promotion import promote
from whygrad.functional.run import FUNCTIONS, METHODS, linalg_function, public, rows, with_out
from whygrad.functional.wrong_arguments import checks_flags
from whygrad.ops.table import TABLE

_NOT_POSITIVE = ("The factorization could not be completed because the input is not positive-definite (the leading minor of "
                 "order {} is not positive-definite).")


@linalg_function(autocast="float32")
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """The factor, and for each matrix 0, or the order of its first leading minor that is not positive."""
    matrices.read_matrices("linalg_cholesky_ex", input, "input", name="linalg.cholesky", kernel="cholesky_cpu")
    factor, info = rows.cholesky_ex(input, upper=upper, node="LinalgCholeskyExBackward0")
    if check_errors:
        matrices.check_info("linalg.cholesky_ex", info, _NOT_POSITIVE)
    return with_outs("linalg_cholesky_ex", return_types.linalg_cholesky_ex(factor, info), out, input)


@linalg_function(name="cholesky", autocast="float32")
def linalg_cholesky(input: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular L with L @ L.mH = input, or its adjoint if `upper`."""
    matrices.read_matrices("linalg_cholesky", input, "input", name="linalg.cholesky", kernel="cholesky_cpu")
    factor, info = rows.cholesky_ex(input, upper=upper, node="LinalgCholeskyExBackward0")
    matrices.check_info("linalg.cholesky", info, _NOT_POSITIVE)
    return with_out("linalg_cholesky_ex", factor, out, input)


@public(autocast="float32")
@checks_flags
def cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The Cholesky factor. torch has replaced it by `linalg.cholesky`."""
    read_tensor("cholesky", input)
    matrices.check_matrices(input, "cholesky")
    matrices.check_kernel(input, "cholesky_cpu")
    warn_once("torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.")
    factor, info = rows.cholesky_ex(input, upper=upper, node="CholeskyBackward0")
    matrices.check_info("cholesky", info, _NOT_POSITIVE)
    return with_out("cholesky", factor, out, input)


def _two_matrices(function: str, names: tuple[str, str], b: Any, a: Any) -> None:
    """The checks of the older functions."""
    for position, (letter, x) in enumerate(zip(names, (b, a), strict=True), 1):
        read_tensor(function, x, "input" if position == 1 else "A", position)
        if x._array.ndim < 2:
            raise RuntimeError(f"{letter} should have at least 2 dimensions, but has {x._array.ndim} dimensions instead"
                               if function == "cholesky_solve" else
                               f"torch.triangular_solve: Expected {letter} to have at least 2 dimensions, but it has "
                               f"{x._array.ndim} dimensions instead")
    _check_older(function, b, a)
    matrices.check_kernel(a, f"{function}_cpu")


def _check_older(function: str, b: Tensor, a: Tensor) -> None:
    if b.dtype is not a.dtype:
        raise RuntimeError(f"Expected b and A to have the same dtype, but found b of type {b.dtype.scalar_name} and A of type "
                           f"{a.dtype.scalar_name} instead.")
    rows_, columns = a._array.shape[-2:]
    if rows_ != columns:
        raise matrices.not_square("", a._array.shape)
    if b._array.shape[-2] != rows_:
        raise RuntimeError(f"Incompatible matrix sizes for {function}: each A matrix is {rows_} by {columns} but each b matrix "
                           f"is {b._array.shape[-2]} by {b._array.shape[-1]}")
    broadcast_shapes(b._array.shape[:-2], a._array.shape[:-2])


@public(autocast="float32")
@checks_flags
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """X with (L @ L.mH) @ X = input for a factor L = input2, or with (U.mH @ U) @ X = input if the factor is `upper`."""
    _two_matrices("cholesky_solve", ("b", "u"), input, input2)
    return with_out("cholesky_solve", rows.cholesky_solve(input, input2, upper=upper), out, input, input2)


@public(autocast="float32")
@checks_flags
def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of L @ L.mH, or of U.mH @ U if the factor is `upper`."""
    matrices.read_matrices("cholesky_inverse", input, "input", name="cholesky_inverse", kernel="cholesky_inverse_out_cpu")
    return with_out("cholesky_inverse", rows.cholesky_inverse(input, upper=upper), out, input)


@linalg_function()
def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False,
                     out: Any = None) -> Tensor:
    """X with input @ X = B, or X @ input = B if not `left`; `input` is triangular, its other half is not read."""
    name = "linalg.solve_triangular"
    check_tensors("linalg_solve_triangular", input=input, B=B)
    matrices.check_matrices(input, name)
    matrices.check_matrices(B, name, square=False, letter="B")
    matrices.check_equation(name, input, B._array.shape, left)
    matrices.check_kernel(input, "triangular_solve_cpu")
    broadcast_shapes(B._array.shape[:-2], input._array.shape[:-2])
    result = apply(TABLE["solve_triangular"], *promote(name, input, B), upper=upper, left=left, unit=unitriangular)
    return with_out("linalg_solve_triangular", result, out, input, B)


@public(autocast="float32")
def triangular_solve(input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
                     out: Any = None) -> Any:
    """X with A @ X = input, and a copy of A. torch has replaced it by `linalg.solve_triangular`."""
    _two_matrices("triangular_solve", ("b", "A"), input, A)
    warn_once("torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
              "PyTorch release.")
    matrix = matrices.transposed(A) if transpose else A
    solution = rows.solve_triangular(matrix, input, upper=upper != transpose, left=True, unit=unitriangular)
    copy = METHODS["clone"](FUNCTIONS["broadcast_to"](A, (*solution._array.shape[:-2], *A._array.shape[-2:])))
    return with_outs("triangular_solve", return_types.triangular_solve(solution, copy), out, input, A)


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    if A._array.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A._array.shape)} instead")
    matrices.check_kernel(A, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@linalg_function(name="lu")
def linalg_lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """P, L and U with P @ L @ U = A: a permutation, a lower triangle with ones on the diagonal, an upper triangle."""
    _check_lu("linalg.lu", read_tensor("linalg_lu", A, "A"), pivot)
    return with_outs("linalg_lu", return_types.linalg_lu(*rows.lu(A)), out, A)


@linalg_function()
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """L and U in one matrix, the row exchanges, and for each matrix 0 or the place of the first zero on U's diagonal."""
    _check_lu("torch.lu_factor", read_tensor("linalg_lu_factor_ex", A, "A"), pivot)
    result = return_types.linalg_lu_factor_ex(*rows.lu_factor_ex(A))
    if check_errors:
        _check_no_zero("torch.linalg.lu_factor_ex", result.info)
    return with_outs("linalg_lu_factor_ex", result, out, A)


@linalg_function()
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U in one matrix, and the row exchanges."""
    _check_lu("torch.lu_factor", read_tensor("linalg_lu_factor", A, "A"), pivot)
    factors, pivots, info = rows.lu_factor_ex(A)
    _check_no_zero("torch.linalg.lu_factor", info)
    return with_outs("linalg_lu_factor_ex", return_types.linalg_lu_factor(factors, pivots), out, A)


def _check_no_zero(name: str, info: Tensor) -> None:
    matrices.check_info(name, info, "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you "
                        "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                        "linalg.lu_factor_ex(A, pivot)", RuntimeError)


@public()
@checks_flags
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U in one matrix, and the row exchanges. torch has replaced it by `linalg.lu_factor`."""
    warn_once("torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
              "future PyTorch release.")
    _check_lu("torch.lu_factor", read_tensor("_lu_with_info", A), pivot)
    factors, pivots, info = rows.lu_factor_ex(A)
    if get_infos:
        return with_outs("_lu_with_info", return_types._lu_with_info(factors, pivots, info), out, A)
    _check_no_zero("torch.linalg.lu_factor_ex", info)
    return with_outs("_lu_with_info", (factors, pivots), out, A)


@public(method=False)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *,
              out: Any = None) -> Any:
    """P, L and U out of what `linalg.lu_factor` gives."""
    check_tensors("lu_unpack", LU_data=LU_data, LU_pivots=LU_pivots)
    if LU_data._array.ndim < 2:
        raise RuntimeError(f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
                           f"{list(LU_data._array.shape)} instead")
    if unpack_pivots and str(LU_pivots._array.dtype) != "int32":
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                           "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor")
    result = rows.lu_unpack(LU_data, LU_pivots, data=unpack_data, pivots=unpack_pivots)
    return with_outs("lu_unpack", return_types.lu_unpack(*result), out, LU_data)


@linalg_function(name="lu_solve")
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False,
                    out: Any = None) -> Tensor:
    """X with A @ X = B (X @ A = B if not `left`), given what `linalg.lu_factor` gives for A; for A.mH if `adjoint`."""
    return _lu_solve("linalg_lu_solve", LU, pivots, B, left, adjoint, out)


@public(name="lu_solve", autocast="float32")
def torch_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """X with A @ X = input, given what `linalg.lu_factor` gives for A. torch has replaced it by `linalg.lu_solve`."""
    warn_once("torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.")
    return _lu_solve("lu_solve", LU_data, LU_pivots, input, True, False, out)


def _lu_solve(function: str, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool, out: Any) -> Tensor:
    check_tensors(function, LU=LU, pivots=pivots, B=B)
    name = "linalg.lu_solve"
    matrices.check_matrices(LU, f"torch.{name}")
    matrices.check_floating(LU, f"torch.{name}")
    matrices.check_same_dtype(name, LU, B, ("LU", "B"))
    if str(pivots._array.dtype) != "int32":
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    matrices.check_matrices(B, name, square=False, letter="B")
    matrices.check_equation(name, LU, B._array.shape, left)
    if pivots._array.ndim and pivots._array.shape[-1] != LU._array.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots._array.shape != LU._array.shape[:-1]:
        raise RuntimeError(f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots._array.shape)} instead")
    matrices.check_kernel(LU, f"{name}_cpu")
    broadcast_shapes(B._array.shape[:-2], LU._array.shape[:-2])
    conjugate = adjoint and LU.dtype.is_complex
    result = rows.lu_solve(LU, pivots, B, left=left, flip=adjoint, conjugate=conjugate)
    return with_out(function, result if left else in_usual_order(result), out, LU, B)


@linalg_function()
def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """L and D with L @ D @ L.mT = input (L.mH if `hermitian`) in one matrix, the exchanges, and 0 or where D has a zero."""
    matrices.read_matrices("linalg_ldl_factor_ex", input, "input", name="torch.linalg.ldl_factor_ex",
                           kernel="ldl_factor_kernel_cpu")
    result = return_types.linalg_ldl_factor_ex(*rows.ldl_factor_ex(input, hermitian=hermitian))
    if check_errors:
        matrices.check_info("torch.linalg.ldl_factor_ex", result.info, "D[{0},{0}] is zero", RuntimeError)
    return with_outs("linalg_ldl_factor_ex", result, out, input)


@linalg_function()
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """L and D with L @ D @ L.mT = input (L.mH if `hermitian`) in one matrix, and the exchanges."""
    factors, pivots, _ = ldl_factor_ex(input, hermitian=hermitian, check_errors=True)
    return with_outs("linalg_ldl_factor_ex", return_types.linalg_ldl_factor(factors, pivots), out, input)


@linalg_function()
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Any = None) -> Tensor:
    """X with A @ X = B, given what `linalg.ldl_factor` gives for A."""
    name = "torch.linalg.ldl_solve"
    check_tensors("linalg_ldl_solve", LD=LD, pivots=pivots, B=B)
    matrices.check_matrices(LD, name)
    matrices.check_floating(LD, name)
    if B._array.ndim < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B._array.ndim} dimensions instead")
    if pivots._array.shape != LD._array.shape[:-1]:
        raise RuntimeError(f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots._array.shape)} instead")
    if pivots._array.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype.scalar_name}")
    _check_older(name, B, LD)
    matrices.check_kernel(LD, "ldl_solve_kernel_cpu")
    return with_out("linalg_ldl_solve", rows.ldl_solve(LD, pivots, B, hermitian=hermitian), out, LD, B)


@linalg_function(name="qr", autocast="float32")
def linalg_qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """Q with orthonormal columns and an upper triangular R, with Q @ R = A."""
    matrices.read_matrices("linalg_qr", A, name="linalg.qr", square=False)
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    matrices.check_kernel(A, "geqrf_cpu")
    return with_outs("linalg_qr", return_types.linalg_qr(*rows.qr(A, mode=mode)), out, A)


@public(autocast="float32")
def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Q and R. torch has replaced it by `linalg.qr`."""
    warn_once("torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
              "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
         "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
    read_tensor("qr", input)
    q, r = linalg_qr(input, "reduced" if some else "complete")
    return with_outs("linalg_qr", return_types.qr(q, r), out, input)


@public(autocast="float32")
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """R, with the reflections that give Q below its diagonal, and their factors."""
    read_tensor("geqrf", input)
    if input._array.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    matrices.check_kernel(input, "geqrf_cpu")
    return with_outs("geqrf", return_types.geqrf(*rows.geqrf(input)), out, input)


@linalg_function(autocast="float32")
def householder_product(input: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of the product of the reflections that `geqrf` gives."""
    _check_reflections("torch.linalg.householder_product", "linalg_householder_product", input, tau)
    return with_out("linalg_householder_product", rows.householder_product(input, tau), out, input, tau)


@public(autocast="float32")
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of the product of the reflections that `geqrf` gives."""
    return householder_product(input, input2, out=out)


def _check_reflections(name: str, function: str, input: Any, tau: Any) -> None:
    check_tensors(function, input=input, tau=tau)
    shape, count = input._array.shape, tau._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if shape[-2] < shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if not count or shape[-1] < count[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if len(shape) - len(count) != 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                           f"{len(count)} and input.ndim is equal to {len(shape)}")
    if shape[:-2] != count[:-1]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{list(count[:-1])}")
    if input.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.scalar_name} does not match input dtype {input.dtype.scalar_name}")
    matrices.check_kernel(input, "orgqr_cpu")


@public(autocast="float32")
@checks_flags
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False, *,
          out: Any = None) -> Tensor:
    """Q @ input3, where Q is the whole product of the reflections (`input`, `input2`) that `geqrf` gives."""
    check_tensors("ormqr", input=input, input2=input2, input3=input3)
    shape = input._array.shape
    for argument, x in (("input", input), ("other", input3)):
        if x._array.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {argument} must have at least 2 dimensions.")
    side, tau, other = -2 if left else -1, input2._array.shape, input3._array.shape
    if not tau:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if other[side] != shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau[-1] != min(other[side], shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if len(tau) != len(shape) - 1:
        raise RuntimeError("torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                           f"{len(tau)} and input.ndim is equal to {len(shape)}")
    if len(other) != len(shape):
        raise RuntimeError("torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal "
                           f"to {len(other)} and input.ndim is equal to {len(shape)}")
    for argument, batch in (("tau", tau[:-1]), ("other", other[:-2])):
        if batch != shape[:-2]:
            raise RuntimeError(f"torch.ormqr: Expected batch dimensions of {argument} to be equal to input.shape[:-2], but got "
                               f"{list(batch)}")
    for argument, x in (("tau", input2), ("other", input3)):
        if x.dtype is not input.dtype:
            raise RuntimeError(f"torch.ormqr: Expected input and {argument} to have the same dtype, but input has dtype"
                               f"{input.dtype.scalar_name} and {argument} has dtype {x.dtype.scalar_name}")
    matrices.check_kernel(input, "ormqr_cpu")
    result = rows.ormqr(input, input2, input3, left=left, transpose=transpose)
    return with_out("ormqr", result, out, input, input2, input3)
