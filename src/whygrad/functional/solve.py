"""Inverses, determinants, linear systems, powers and exponentials of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.numpy_factor import SINGULAR_INVERSE
from whygrad.base.broadcasting import broadcast_shapes
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional import matrices, return_types
from whygrad.functional.arguments import check_tensors, invalid_combination, read_int, read_tensor
from whygrad.functional.dims import normalize_dim
from whygrad.functional.linalg import matmul
from whygrad.functional.outs import with_outs
from whygrad.functional.run import FUNCTIONS, METHODS, linalg_function, public, rows, run, with_out
from whygrad.ops.table import TABLE

_SINGULAR_SYSTEM = "The solver failed because the input matrix is singular."


@linalg_function(autocast="float32")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """The inverse, and for each matrix 0, or where its elimination met the first zero (counted from 1)."""
    inverse, info = _inverse("linalg_inv_ex", A)
    if check_errors:
        matrices.check_info("linalg.inv_ex", info, SINGULAR_INVERSE)
    return with_outs("linalg_inv_ex", return_types.linalg_inv_ex(inverse, info), out, A)


@linalg_function(autocast="float32")
def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverse of a square matrix or of each of a batch of them."""
    inverse, info = _inverse("linalg_inv", A)
    matrices.check_info("linalg.inv", info, SINGULAR_INVERSE)
    return with_out("linalg_inv_ex", inverse, out, A)


def _inverse(function: str, A: Any) -> tuple[Tensor, Tensor]:
    matrices.check_precision(matrices.read_matrices(function, A, name="linalg.inv"), "linalg.inv")
    inverse, info = rows.inv_ex(A)
    return inverse, info


@public(autocast="float32")
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """The inverse of a square matrix or of each of a batch of them."""
    read_tensor("inverse", input)
    return inv(input, out=out)


@linalg_function()
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """The X with A @ X = B (X @ A = B if not `left`), and for each matrix 0, or a number if it is singular."""
    result, info = _solution("linalg_solve_ex", A, B, left)
    if check_errors:
        matrices.check_info("torch.linalg.solve_ex", info, _SINGULAR_SYSTEM)
    return with_outs("_linalg_solve_ex", return_types.linalg_solve_ex(result, info), out, A, B)


@linalg_function(autocast="float32")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """The X with A @ X = B, or X @ A = B if not `left`."""
    result, info = _solution("linalg_solve", A, B, left)
    matrices.check_info("torch.linalg.solve", info, _SINGULAR_SYSTEM)
    return with_out("_linalg_solve_ex", result, out, A, B)


def _solution(function: str, A: Any, B: Any, left: bool) -> tuple[Tensor, Tensor]:
    matrices.read_matrices(function, A, name="linalg.solve")
    read_tensor(function, B, "B", 2)
    matrices.check_same_dtype("linalg.solve", A, B)
    vector = matrices.is_vector(A, B)
    shape = (*B._array.shape, 1) if vector else B._array.shape
    matrices.check_matrices(A, "linalg.solve")
    matrices.check_equation("linalg.solve", A, shape, left)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this "
                           "case linalg.solve is equivalent to B / A.squeeze(-1)")
    broadcast_shapes(shape[:-2], A._array.shape[:-2])
    matrices.check_kernel(A, "lu_cpu")
    result, info = rows.solve_ex(A, B, left=left, vector=vector)
    return result, info


@public()
def det(input: Tensor) -> Tensor:
    """The determinant of a square matrix or of each of a batch of them."""
    matrices.read_matrices("det", input, "input", name="linalg.det", kernel="lu_cpu")
    return rows.det(input)


@linalg_function(name="det")
def linalg_det(A: Tensor, *, out: Any = None) -> Tensor:
    """The determinant of a square matrix or of each of a batch of them."""
    matrices.read_matrices("linalg_det", A, name="linalg.det", kernel="lu_cpu")
    return with_out("_linalg_det", rows.det(A), out, A)


@public()
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    return with_outs("_linalg_slogdet", return_types.slogdet(*_slogdet("slogdet", input, "input")), out, input)


@linalg_function(name="slogdet")
def linalg_slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    return with_outs("_linalg_slogdet", return_types.linalg_slogdet(*_slogdet("linalg_slogdet", A, "A")), out, A)


def _slogdet(function: str, A: Any, argument: str, name: str = "linalg.slogdet") -> Any:
    matrices.check_precision(matrices.read_matrices(function, A, argument, name=name), name)
    return rows.slogdet(A)


@public()
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN if it is negative."""
    sign, logarithm = _slogdet("logdet", input, "input", "logdet")
    if sign.dtype.is_complex:
        return run("add", run("log", sign), logarithm)
    return apply(TABLE["where"], run("eq", sign, -1.0), math.nan, logarithm)


@linalg_function()
def pinv(input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None,
         out: Any = None) -> Tensor:
    """The Moore-Penrose inverse. Singular values up to max(atol, rtol * the largest) count as zero."""
    if not isinstance(input, Tensor):
        raise invalid_combination("linalg_pinv", input)
    array = input._array
    if array.ndim < 2 or input.dtype.category < 2 or input.dtype.itemsize == 2:
        raise RuntimeError(f"linalg.pinv({input.dtype.scalar_name}{{{list(array.shape)}}}): expected a tensor with 2 or more "
                           "dimensions of float, double, cfloat or cdouble types")
    if hermitian:
        matrices.check_matrices(input, "linalg.eigh")
    if rcond is not None:
        atol, rtol = 0.0, rcond
    result = rows.pinv(input, atol=as_tolerance("pinv", "atol", atol), rtol=as_tolerance("pinv", "rtol", rtol),
                       hermitian=hermitian)
    return with_out("linalg_pinv", result, out, input)


def as_tolerance(function: str, argument: str, value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype.is_complex:
        raise RuntimeError(f"torch.linalg.{function}: {argument} tensor of complex type is not supported. Got "
                           f"{value.dtype.scalar_name}")
    return value._array if isinstance(value, Tensor) else None if value is None else np.asarray(float(value))


@public(autocast="float32")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose inverse."""
    return pinv(read_tensor("pinverse", input), rcond)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@linalg_function(autocast="float32")
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Any = None) -> Any:
    """The X for which the columns of input @ X - b are shortest, of several the shortest X."""
    check_tensors("linalg_lstsq", input=input, b=b)
    name = "torch.linalg.lstsq"
    shape, b_shape = input._array.shape, b._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if not b_shape:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if not 0 <= len(shape) - len(b_shape) <= 1:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    if input.dtype is not b.dtype:
        raise RuntimeError(f"{name}: Expected input and other to have the same dtype, but got input's dtype "
                           f"{input.dtype.scalar_name} and other's dtype {b.dtype.scalar_name}")
    vector = len(b_shape) == 1 or b_shape == shape[:-1]
    if shape[-2] != b_shape[-1 if vector else -2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2})")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if input.dtype.category < 2 or input.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    other = rows.unsqueeze(b, axis=len(b_shape)) if vector else b
    batch = broadcast_shapes(shape[:-2], other._array.shape[:-2])
    a, other = [_expanded(x, (*batch, *x._array.shape[-2:])) for x in (input, other)]
    solution, residuals, rank, values = rows.lstsq(a, other, rcond=rcond, driver=driver or "gelsy")
    if vector:
        solution = rows.squeeze(solution, axis=solution._array.ndim - 1)
    return with_outs("linalg_lstsq", return_types.linalg_lstsq(solution, residuals, rank, values), out, input, b)


def _expanded(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return x if x._array.shape == shape else rows.expand(x, shape=shape)


@public(name="matrix_power")
def torch_matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The product of `n` copies of a square matrix; of its inverse if `n` is negative."""
    return _matrix_power("matrix_power", input, n, out)


@linalg_function()
def matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The product of `n` copies of a square matrix; of its inverse if `n` is negative."""
    return _matrix_power("linalg_matrix_power", input, n, out)


def _matrix_power(function: str, input: Any, n: Any, out: Any) -> Tensor:
    read_tensor(function, input)
    matrices.check_matrices(input, "linalg.matrix_power")
    return with_out("matrix_power", _power(input, read_int(function, "n", 2, n)), out, input)


def _power(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return METHODS["copy_"](METHODS["clone"](x), matrices.eye(x._array.shape[-1], x))
    if n == 1:
        return METHODS["clone"](x)
    if n < 0:
        x, n = inv(x), -n
    if n == 3:
        return matmul(matmul(x, x), x)
    result = None
    while n:
        n, odd = divmod(n, 2)
        if odd:
            result = x if result is None else matmul(result, x)
        if n:
            x = matmul(x, x)
    return result  # type: ignore[return-value]


@public(name="matrix_exp")
def torch_matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential."""
    return rows.matrix_exp(matrices.read_matrices("matrix_exp", input, "input", name="linalg.matrix_exp"))


@linalg_function()
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential."""
    return rows.matrix_exp(matrices.read_matrices("linalg_matrix_exp", input, "input", name="linalg.matrix_exp"))


@linalg_function(autocast="float32")
def tensorinv(input: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse for `tensordot` over `ind` dims."""
    read_tensor("linalg_tensorinv", input)
    shape = tuple(input._array.shape)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > len(shape):
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {len(shape)}")
    back, front = math.prod(shape[ind:]), math.prod(shape[:ind])
    if back != front:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                           f"{back} != {front}")
    matrices.check_floating(input, "linalg.inv")
    reshape = FUNCTIONS["reshape"]
    inverse, info = _inverse("linalg_inv", reshape(input, (back, front)))
    matrices.check_info("inv", info, SINGULAR_INVERSE)
    return with_out("linalg_tensorinv", reshape(inverse, shape[ind:] + shape[:ind]), out, input)


@linalg_function(autocast="float32")
def tensorsolve(input: Tensor, other: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """The X with tensordot(input, X, X.ndim) = other."""
    check_tensors("linalg_tensorsolve", input=input, other=other)
    a = input
    if dims is not None:
        ndim = input._array.ndim
        a = FUNCTIONS["movedim"](input, tuple(dims), tuple(range(ndim - len(dims), ndim)))
    shape, count = tuple(a._array.shape), other._array.ndim
    left, right = math.prod(shape[count:]), math.prod(other._array.shape)
    if left != right:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {left} != {right}")
    reshape = FUNCTIONS["reshape"]
    solved = solve(reshape(a, (right, left)), reshape(other, (-1,)))
    return with_out("linalg_tensorsolve", reshape(solved, shape[count:]), out, input, other)


@linalg_function()
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The products of vectors of three elements, along a dim."""
    check_tensors("linalg_cross", input=input, other=other)
    if input._array.ndim != other._array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = normalize_dim(dim, input._array.ndim)
    lengths = [x._array.shape[axis] for x in (input, other)]
    if lengths != [3, 3]:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {lengths[0]} and {lengths[1]}")
    broadcast_shapes(input._array.shape, other._array.shape)
    if input._array.dtype.kind == "b":
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {other.dtype.scalar_name}")
    result = apply(TABLE["cross"], input, other, axis=axis)
    return with_out("linalg_cross", result, out, input, other)


@linalg_function()
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers of each element of `x`, from 0 to N - 1, along a new last dim."""
    read_tensor("linalg_vander", x, "x")
    if x.dtype.category == 0 or (x.dtype.itemsize == 2 and x.dtype.category > 1):
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got "
                           f"{x.dtype.scalar_name}")
    vector = x if x._array.ndim else rows.unsqueeze(x, axis=0)
    shape = vector._array.shape
    if N is None:
        N = shape[-1]
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    column = rows.unsqueeze(vector, axis=len(shape))
    powers = FUNCTIONS["cumprod"](rows.expand(column, shape=(*shape, N - 1)), -1)
    return FUNCTIONS["cat"]([FUNCTIONS["ones_like"](column), powers], -1)


@linalg_function()
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of the matrices in two dims: a view."""
    return FUNCTIONS["diagonal"](read_tensor("linalg_diagonal", A, "A"), offset, dim1, dim2)
