"""Cholesky factors and triangular systems, of matrices and batches of them."""

from whygrad.ops.linear import sum_to, transposed
from whygrad.ops.table import op


def cholesky_rule(xp, g, out):
    # Of L' g only the lower triangle counts, and of its diagonal one half; between the inverse factors, made symmetric.
    inner = xp.matmul(transposed(xp, out), g)
    lower = (xp.tril(inner, diagonal=0) + xp.tril(inner, diagonal=-1)) / 2
    solved = xp.solve_triangular(transposed(xp, out), lower, upper=True, left=True, unit=False)
    solved = xp.solve_triangular(out, solved, upper=False, left=False, unit=False)
    return (solved + transposed(xp, solved)) / 2


@op(node=lambda kinds, statics: statics["node"], a=cholesky_rule)
def cholesky(xp, a, *, name, node):
    """The lower factor."""
    return xp.cholesky(a, name=name, node=node)


def triangle(xp, x, upper, unit):
    """The part of a matrix that a triangular solve reads."""
    return xp.triu(x, diagonal=int(unit)) if upper else xp.tril(x, diagonal=-int(unit))


def solve_a_rule(xp, g, a, out, a_shape, upper, left, unit):
    g = xp.solve_triangular(transposed(xp, a), g, upper=not upper, left=left, unit=unit)
    product = xp.matmul(g, transposed(xp, out)) if left else xp.matmul(transposed(xp, out), g)
    return sum_to(xp, triangle(xp, -product, upper, unit), a_shape)


@op(node="LinalgSolveTriangularBackward0",
    a=solve_a_rule,
    b=lambda xp, g, a, b_shape, upper, left, unit: sum_to(
        xp, xp.solve_triangular(transposed(xp, a), g, upper=not upper, left=left, unit=unit), b_shape))
def solve_triangular(xp, a, b, *, upper, left, unit):
    """x with a x = b, or with x a = b if not left; the leading axes broadcast."""
    return xp.solve_triangular(a, b, upper=upper, left=left, unit=unit)


def cholesky_solve_rule(xp, g, factor, out, factor_shape, upper):
    solved = xp.cholesky_solve(g, factor, upper=upper)
    product = xp.matmul(solved, transposed(xp, out))
    product = -(product + transposed(xp, product))
    product = xp.matmul(factor, product) if upper else xp.matmul(product, factor)
    return sum_to(xp, product, factor_shape)  # torch fills the other triangle too


@op(b=lambda xp, g, factor, b_shape, upper: sum_to(xp, xp.cholesky_solve(g, factor, upper=upper), b_shape),
    factor=cholesky_solve_rule)
def cholesky_solve(xp, b, factor, *, upper):
    """x with (l l') x = b, for a lower factor l; with (u' u) x = b for an upper one."""
    first, second = (transposed(xp, factor), factor) if upper else (factor, transposed(xp, factor))
    half = xp.solve_triangular(first, b, upper=False, left=True, unit=False)
    return xp.solve_triangular(second, half, upper=True, left=True, unit=False)


def cholesky_inverse_rule(xp, g, factor, out, upper):
    product = -xp.matmul(xp.matmul(out, g + transposed(xp, g)), out)
    return xp.matmul(factor, product) if upper else xp.matmul(product, factor)


@op(factor=cholesky_inverse_rule)
def cholesky_inverse(xp, factor, *, upper):
    """The inverse of l l', or of u' u."""
    return xp.cholesky_inverse(factor, upper=upper)
