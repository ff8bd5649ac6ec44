"""Cholesky factors, triangular systems and LDL factors, of matrices and batches of them."""

from whygrad.ops.linear import sum_to, transposed
from whygrad.ops.matrices import WHOLE_NUMBERS, adjoint, conj
from whygrad.ops.table import last_axes, op


def cholesky_rule(xp, g, out0, upper):
    g = conj(xp, g)
    factor, g = (adjoint(xp, out0), adjoint(xp, g)) if upper else (out0, g)
    # L^-H S L^-1, where S is the symmetrized lower triangle of L^H g.
    inner = xp.matmul(adjoint(xp, factor), g)
    inner = (xp.tril(inner, diagonal=0) + adjoint(xp, xp.tril(inner, diagonal=-1))) / 2
    solved = xp.solve_triangular(adjoint(xp, factor), inner, upper=True, left=True, unit=False)
    return conj(xp, xp.solve_triangular(factor, solved, upper=False, left=False, unit=False))


@last_axes(memory="columns", outputs=("L", WHOLE_NUMBERS), node=lambda kinds, statics: statics["node"], a=cholesky_rule)
def cholesky_ex(xp, a, *, upper, node):
    """(factor, info): `info` is the order of each matrix's first leading minor that is not positive, or 0."""


def triangle(xp, x, upper, unit):
    """The part of a matrix that a triangular solve reads."""
    return xp.triu(x, diagonal=int(unit)) if upper else xp.tril(x, diagonal=-int(unit))


def solve_a_rule(xp, g, a, out, a_shape, upper, left, unit):
    g = xp.solve_triangular(transposed(xp, a), g, upper=not upper, left=left, unit=unit)
    product = xp.matmul(g, transposed(xp, out)) if left else xp.matmul(transposed(xp, out), g)
    return sum_to(xp, triangle(xp, -product, upper, unit), a_shape)


@op(batch="broadcast_shifted", memory="columns", node="LinalgSolveTriangularBackward0",
    a=solve_a_rule,
    b=lambda xp, g, a, b_shape, upper, left, unit: sum_to(
        xp, xp.solve_triangular(transposed(xp, a), g, upper=not upper, left=left, unit=unit), b_shape))
def solve_triangular(xp, a, b, *, upper, left, unit):
    """x with a x = b, or with x a = b if not left; the leading axes broadcast."""


def towards_factor(xp, change, factor, upper):
    """The gradient of a Cholesky factor, from the gradient of the factored matrix.

    As in torch, the factor counts as a full matrix: its unread triangle gets a gradient too.
    """
    change = change + adjoint(xp, change)
    return conj(xp, xp.matmul(factor, change) if upper else xp.matmul(change, factor))


def cholesky_solve_rule(xp, g, factor, out, factor_shape, upper):
    solved = xp.cholesky_solve(conj(xp, g), factor, upper=upper)
    return sum_to(xp, towards_factor(xp, -xp.matmul(solved, adjoint(xp, out)), factor, upper), factor_shape)


@op(batch="broadcast_shifted",
    memory="columns", b=lambda xp, g, factor, b, upper: sum_to(
        xp, conj(xp, xp.cholesky_solve(conj(xp, g), factor, upper=upper)), b.shape),
    factor=cholesky_solve_rule)
def cholesky_solve(xp, b, factor, *, upper):
    """x with (l l') x = b, for a lower factor l; with (u' u) x = b for an upper one."""
    low, high = (adjoint(xp, factor), factor) if upper else (factor, adjoint(xp, factor))
    half = xp.solve_triangular(low, b, upper=False, left=True, unit=False)
    return xp.solve_triangular(high, half, upper=True, left=True, unit=False)


@last_axes(memory="columns", factor=lambda xp, g, factor, out, upper: towards_factor(
               xp, -xp.matmul(xp.matmul(out, conj(xp, g)), out), factor, upper))
def cholesky_inverse(xp, factor, *, upper):
    """The inverse of l l', or of u' u."""


def no_derivative(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@last_axes(memory="columns", outputs=("LD", WHOLE_NUMBERS, WHOLE_NUMBERS), node="NotImplemented",
           a=no_derivative("linalg_ldl_factor_ex"))
def ldl_factor_ex(xp, a, *, hermitian): ...


@last_axes(memory="columns", node="NotImplemented",
           a=no_derivative("linalg_ldl_solve"), places=WHOLE_NUMBERS, b=no_derivative("linalg_ldl_solve"))
def ldl_solve(xp, a, places, b, *, hermitian): ...
