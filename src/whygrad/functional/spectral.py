"""Singular values, eigenvalues, and the norms and numbers that they give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends import raw
from whygrad.backends.numpy_solve import cutoff
from whygrad.base import dtypes
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional import matrices, return_types
from whygrad.functional.arguments import invalid_combination, is_integer, read_tensor
from whygrad.functional.dims import normalize_dim
from whygrad.functional.outs import with_outs
from whygrad.functional.promotion import cast
from whygrad.functional.reduction import numpy_names, vector_norm
from whygrad.functional.run import FUNCTIONS, METHODS, linalg_function, made_under_transforms, public, rows, run, with_out
from whygrad.functional.solve import as_tolerance
from whygrad.functional.wrong_arguments import checks_flags


@linalg_function(name="svd", autocast="float32")
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """U, S and Vh with U @ diag(S) @ Vh = A: orthonormal, the singular values in descending order, orthonormal."""
    _read_for_svd("linalg_svd", A, driver)
    return with_outs("_linalg_svd", return_types.linalg_svd(*rows.svd(A, full=full_matrices)), out, A)


@linalg_function(autocast="float32")
def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """The singular values, in descending order."""
    _read_for_svd("linalg_svdvals", A, driver)
    values = rows.svd(A, full=False)[1] if A.requires_grad and grad_state.grad else rows.svdvals(A)
    return with_out("_linalg_svd", values, out, A)


def _read_for_svd(function: str, A: Any, driver: str | None) -> None:
    matrices.read_matrices(function, A, name="linalg.svd", square=False, kernel="linalg_svd_cpu")
    if driver is not None:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
                           "backend.")


@public(autocast="float32")
@checks_flags
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, S and V with U @ diag(S) @ V.mH = input. torch has replaced it by `linalg.svd`."""
    read_tensor("svd", input)
    if input._array.ndim < 2:
        raise RuntimeError(f"linalg.svd: input should have at least 2 dimensions, but has {input._array.ndim} dimensions "
                           "instead")
    _read_for_svd("svd", input, None)
    if compute_uv:
        u, s, vh = rows.svd(input, full=not some)
        return with_outs("svd", return_types.svd(u, s, FUNCTIONS["adjoint"](vh)), out, input)
    *batch, m, n = input._array.shape
    u, v = [np.zeros((*batch, size, size), input._array.dtype) for size in (m, n)]
    return with_outs("svd", return_types.svd(wrap(u), rows.svdvals(input), wrap(v.mT)), out, input)


@linalg_function(autocast="float32")
def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues in ascending order, and eigenvectors, of a symmetric or Hermitian matrix; one triangle is read."""
    lower = _read_for_eigh("linalg_eigh", input, UPLO)
    return with_outs("_linalg_eigh", return_types.linalg_eigh(*rows.eigh(input, lower=lower)), out, input)


@linalg_function(autocast="float32")
def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """Eigenvalues in ascending order of a symmetric or Hermitian matrix; one triangle is read."""
    lower = _read_for_eigh("linalg_eigvalsh", input, UPLO)
    values = rows.eigh(input, lower=lower)[0] if input.requires_grad and grad_state.grad else rows.eigvalsh(input, lower=lower)
    return with_out("_linalg_eigh", values, out, input)


def _read_for_eigh(function: str, input: Any, UPLO: str) -> bool:
    read_tensor(function, input)
    matrices.check_matrices(input, "linalg.eigh")
    letter = UPLO.upper()
    if letter not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    matrices.check_kernel(input, "linalg_eigh_cpu")
    return letter == "L"


@linalg_function(autocast="float32")
def eig(input: Tensor, *, out: Any = None) -> Any:
    """Complex eigenvalues and eigenvectors of a square matrix."""
    a, real = _read_for_eig("linalg_eig", "linalg.eig", input)
    return with_outs("linalg_eig", return_types.linalg_eig(*rows.eig(a, real=real)), out, input)


@linalg_function(autocast="float32")
def eigvals(input: Tensor, *, out: Any = None) -> Tensor:
    """Complex eigenvalues of a square matrix."""
    a, real = _read_for_eig("linalg_eigvals", "linalg.eigvals", input)
    return with_out("linalg_eigvals", rows.eigvals(a, real=real), out, input)


def _read_for_eig(function: str, name: str, input: Any) -> tuple[Tensor, bool]:
    read_tensor(function, input)
    matrices.check_matrices(input, name)
    wanted = input.dtype.to_complex()
    matrices.check_kernel(input, "linalg_eig_out_cpu")
    if not np.isfinite(input._numbers).all():
        raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")
    return cast(input, wanted.numpy), not input.dtype.is_complex


@linalg_function()
@numpy_names
def matrix_norm(input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None,
                out: Any = None) -> Tensor:
    """A norm of the matrices in two dims: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    return _matrix_norm("linalg_matrix_norm", input, ord, dim, keepdim, dtype, out)


def _matrix_norm(called: str, input: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> Tensor:
    read_tensor("linalg_matrix_norm", input)
    name = "linalg.matrix_norm"
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    matrices.check_matrices(input, name, square=False)
    matrices.check_floating(input, name)
    dim = [dim] if is_integer(dim) else dim
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    row, column = [normalize_dim(d, input._array.ndim) for d in dim]
    if row == column:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if ord == "fro":
        return with_out(called, vector_norm(input, 2, (row, column), keepdim, dtype=dtype), out, input)
    x = input if dtype is None else cast(input, dtype.numpy)
    if ord == "nuc" or abs(ord) == 2:
        result = _norm_of_values(x, ord, row, column, keepdim)
    else:
        # The largest or smallest sum of absolute values in a column (1) or in a row (inf).
        inner, outer = (column, row) if abs(ord) == math.inf else (row, column)
        sums = vector_norm(x, 1, inner, keepdim)
        result = _extreme(ord, sums, outer if keepdim or outer < inner else outer - 1, keepdim)
    return with_out(called, result, out, input)


def _extreme(ord: Any, values: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The largest of the values, or the smallest if `ord` is negative; the largest of none is 0."""
    if ord > 0 and not values._array.shape[dim]:
        return FUNCTIONS["sum"](values, dim, keepdim)
    return FUNCTIONS["amax" if ord > 0 else "amin"](values, dim, keepdim)


def _norm_of_values(x: Tensor, ord: Any, row: int, column: int, keepdim: bool) -> Tensor:
    ndim = x._array.ndim
    order = (*[i for i in range(ndim) if i not in (row, column)], row, column)
    values = svdvals(rows.permute(x, axes=order))
    result = FUNCTIONS["sum"](values, -1, keepdim) if ord == "nuc" else _extreme(ord, values, -1, keepdim)
    if keepdim:
        result = rows.unsqueeze(result, axis=ndim - 1)
        result = rows.permute(result, axes=tuple(np.argsort(order).tolist()))
    return result


@linalg_function()
@numpy_names
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         out: Any = None) -> Tensor:
    """The norm of a vector or of a matrix, as `ord`, `dim` and the shape say."""
    read_tensor("linalg_norm", input)
    ndim = input._array.ndim
    if dim is not None:
        dim = [dim] if is_integer(dim) else list(dim)
        if len(dim) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dim}")
    elif ord is not None and ndim not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.")
    of_matrix = ndim == 2 if dim is None else len(dim) == 2
    if isinstance(ord, str) or (ord is not None and of_matrix):
        return _matrix_norm("linalg_norm", input, ord, (-2, -1) if dim is None else dim, keepdim, dtype, out)
    return with_out("linalg_norm", vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype), out, input)


@public(method=False)
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The sum of the singular values."""
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)


@linalg_function(autocast="float32")
def cond(input: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """How much solving with a matrix can magnify an error: its norm times the norm of its inverse."""
    read_tensor("linalg_cond", input)
    if input._array.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, 1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    return with_out("linalg_cond", _cond(input, 2 if p is None else p), out, input)


def _cond(x: Tensor, p: Any) -> Tensor:
    shape = x._array.shape
    if not x._array.size:
        return wrap(np.zeros(shape[:-2], x.dtype.to_real().numpy))
    if p in (2, -2):
        values = svdvals(x)
        last = values._array.ndim - 1
        largest, smallest = [rows.slice(values, axis=last, start=i, stop=i + 1, step=1) for i in (0, values._array.shape[-1] - 1)]
        ratio = run("div", largest, smallest) if p == 2 else run("div", smallest, largest)
        return rows.squeeze(ratio, axis=last)
    if shape[-1] != shape[-2]:
        raise matrices.not_square(f"linalg.cond(ord={p}): ", shape)
    if p == "nuc":
        values = svdvals(x)
        return run("mul", METHODS["sum"](values, -1), METHODS["sum"](run("reciprocal", values), -1))
    matrices.check_floating(x, "linalg.inv")
    inverse, info = rows.inv_ex(x)
    if info._numbers.any():
        singular = info._with_numbers(info._numbers > 0)[..., None, None]  # type: ignore[index]
        inverse = METHODS["masked_fill"](inverse, singular, math.inf)
    with np.errstate(invalid="ignore"):
        product = run("mul", matrix_norm(x, p), matrix_norm(inverse, p))
    return METHODS["nan_to_num"](product, math.inf, math.inf, -math.inf)


@linalg_function(autocast="float32")
@made_under_transforms("looped")
def matrix_rank(input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None,
                out: Any = None) -> Tensor:
    """How many singular values lie above max(atol, rtol * the largest)."""
    if not isinstance(input, Tensor):
        raise invalid_combination("linalg_matrix_rank", input)
    array = input._array
    if array.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if input.dtype.category < 2 or input.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if hermitian:
        matrices.check_matrices(input, "linalg.eigh")
    if tol is not None:
        atol, rtol = tol, 0.0
    if not array.size:
        result = np.zeros(array.shape[:-2], np.int64)
    else:
        sizes = abs(raw.eigvalsh(array, lower=True)) if hermitian else raw.svdvals(array)
        limit = np.asarray(cutoff(array, sizes.max(axis=-1), as_tolerance("matrix_rank", "atol", atol),
                                  as_tolerance("matrix_rank", "rtol", rtol)))
        result = (sizes > limit[..., None]).sum(axis=-1)
    return with_out("linalg_matrix_rank", wrap(np.asarray(result, dtypes.int64.numpy)), out, input)
