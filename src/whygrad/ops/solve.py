"""Inverses, determinants, linear systems and the exponential, of matrices and batches of them."""

from whygrad.ops.linear import sum_to, transposed
from whygrad.ops.matrices import (
    WHOLE_NUMBERS,
    adjoint,
    as_column,
    as_number,
    conj,
    first,
    is_complex,
    join,
    part,
)
from whygrad.ops.table import NoGrad, last_axes, op


def inverse_transposed(xp, a):
    return transposed(xp, xp.inv_ex(a)[0])


def inv_rule(xp, g, out0):
    inverse = transposed(xp, out0)
    return -xp.matmul(inverse, xp.matmul(g, inverse))


@last_axes(memory="columns", outputs=("inverse", WHOLE_NUMBERS), node="LinalgInvExBackward0", a=inv_rule)
def inv_ex(xp, a):
    """(inverse, info): `info` is the position of each matrix's first zero pivot, counted from 1, or 0."""


def solve_a_rule(xp, g, a, out0, a_shape, left, vector):
    g = xp.solve_ex(transposed(xp, a), g, left=left, vector=vector)[0]
    if vector:
        g, out0 = as_column(xp, g), as_column(xp, out0)
    out0 = transposed(xp, out0)
    return sum_to(xp, -(xp.matmul(g, out0) if left else xp.matmul(out0, g)), a_shape)


@op(batch="own", memory="own", outputs=("result", WHOLE_NUMBERS), node="LinalgSolveExBackward0",
    a=solve_a_rule,
    b=lambda xp, g, a, b_shape, left, vector: sum_to(
        xp, xp.solve_ex(transposed(xp, a), g, left=left, vector=vector)[0], b_shape))
def solve_ex(xp, a, b, *, left, vector):
    """(x with a x = b, or x a = b if not left; info, as of `inv_ex`). The leading axes broadcast."""


# The gradient of the determinant is the matrix of cofactors, which exists also for singular matrices.

@last_axes(node="LinalgDetBackward0", a=lambda xp, g, a, out: as_number(xp, g) * xp.cofactors(a))
def det(xp, a): ...


@last_axes(a=lambda xp, g, a: xp.cofactors_change(a, g))
def cofactors(xp, a): ...


def third_derivative_of_det(xp, g, a, b):
    """By the inverse: a regular matrix has derivatives of all orders, a singular one only the first two."""
    inverse = inverse_transposed(xp, a)
    ib = xp.matmul(inverse, transposed(xp, b))
    ig = xp.matmul(inverse, transposed(xp, g))
    b_part, g_part = xp.matmul(ib, inverse), xp.matmul(ig, inverse)
    b_trace, g_trace = trace(xp, ib), trace(xp, ig)
    both = xp.matmul(ib, g_part) + xp.matmul(ig, b_part) - b_trace * g_part - g_trace * b_part
    return as_number(xp, xp.det(a)) * (both + (b_trace * g_trace - trace(xp, xp.matmul(ib, ig))) * inverse)


def trace(xp, x):
    diagonal = xp.diagonal(x, offset=0, axis1=len(x.shape) - 2, axis2=len(x.shape) - 1)
    return as_number(xp, xp.sum(diagonal, axis=(len(x.shape) - 2,)))


@last_axes(a=third_derivative_of_det,
           b=lambda xp, g, a: xp.cofactors_change(a, g))
def cofactors_change(xp, a, b):
    """The derivative of the cofactors of `a` in the direction `b`: the second derivative of det, a symmetric form."""


def slogdet_rule(xp, g, a, out0):
    sign_g, g = g
    if is_complex(a) and sign_g is not None:
        # The sign has modulus 1, so only its phase can change: the gradient's component along it is removed.
        turn = sign_g * out0
        turn = (turn - conj(xp, turn)) / 2
        g = turn if g is None else g + turn
    return xp.zeros_like(a) if g is None else as_number(xp, g) * inverse_transposed(xp, a)


@last_axes(outputs=("sign", "logabsdet"), partial=True, node="LinalgSlogdetBackward0", a=slogdet_rule)
def slogdet(xp, a): ...


def pinv_rule(xp, g, a, out):
    """The derivative of the pseudoinverse for constant rank."""
    g, h, inverse = transposed(xp, g), adjoint(xp, out), out  # here g is the adjoint of torch's gradient
    if a.shape[-2] <= a.shape[-1]:
        k = xp.matmul(g, inverse)
        kh = xp.matmul(k, h)
        result = (kh - adjoint(xp, xp.matmul(inverse, k)) - xp.matmul(xp.matmul(a, inverse), kh)
                  + xp.matmul(xp.matmul(h, inverse), g - xp.matmul(k, a)))
    else:
        k = xp.matmul(inverse, g)
        hk = xp.matmul(h, k)
        result = (hk - adjoint(xp, xp.matmul(k, inverse)) - xp.matmul(xp.matmul(hk, inverse), a)
                  + xp.matmul(xp.matmul(g - xp.matmul(a, k), inverse), h))
    return conj(xp, result)


@last_axes(node="LinalgPinvBackward0", a=pinv_rule)
def pinv(xp, a, *, atol, rtol, hermitian):
    """The pseudoinverse; singular values below the tolerances (arrays, or None for torch's default) count as zero."""


def residual_parts(xp, residuals_g, a, b, solution):
    """The gradient of `a @ solution - b` from that of the residuals, conjugated as all gradients are."""
    rest = conj(xp, xp.matmul(a, solution) - b)
    return 2 * (xp.unsqueeze(residuals_g, axis=len(residuals_g.shape) - 1) * rest)


def has_residuals(residuals_g):
    return residuals_g is not None and 0 not in residuals_g.shape


def lstsq_a_rule(xp, g, a, b, out0):
    g, residuals_g, *_ = g
    total = None
    if g is not None:
        inverse = xp.pinv(a, atol=None, rtol=None, hermitian=False)
        total = pinv_rule(xp, xp.matmul(g, transposed(xp, b)), a, inverse)
    if has_residuals(residuals_g):
        along = xp.matmul(residual_parts(xp, residuals_g, a, b, out0), transposed(xp, out0))
        total = along if total is None else total + along
    return xp.zeros_like(a) if total is None else total


def lstsq_b_rule(xp, g, a, b, out0):
    g, residuals_g, *_ = g
    total = None
    if g is not None:
        inverse = xp.pinv(a, atol=None, rtol=None, hermitian=False)
        total = xp.matmul(transposed(xp, inverse), g)
    if has_residuals(residuals_g):
        along = -residual_parts(xp, residuals_g, a, b, out0)
        total = along if total is None else total + along
    return xp.zeros_like(b) if total is None else total


@op(batch="own", memory="columns", partial=True,
    outputs=("solution", "residuals", WHOLE_NUMBERS, NoGrad("torch has no derivative for these singular values")),
    node="LinalgLstsqBackward0", a=lstsq_a_rule, b=lstsq_b_rule)
def lstsq(xp, a, b, *, rcond, driver): ...


def matrix_exp_rule(xp, g, a):
    """The derivative of an analytic matrix function is the upper right block of its value at [[a, g], [0, a]]."""
    a = transposed(xp, a)
    size = a.shape[-1]
    twice = join(xp, join(xp, a, g, -1), join(xp, xp.zeros_like(a), a, -1), -2)
    return part(xp, first(xp, xp.matrix_exp(twice), size, -2), size, 2 * size, -1)


@last_axes(node="LinalgMatrixExpBackward0", a=matrix_exp_rule)
def matrix_exp(xp, a): ...
