"""LU factorization with partial pivoting (`a = p l u`), of matrices and batches of them."""

from whygrad.ops.linear import sum_to, transposed
from whygrad.ops.matrices import WHOLE_NUMBERS, conj, first, join, part
from whygrad.ops.table import NoGrad, last_axes, op

EXCHANGES = NoGrad("row exchanges do not change by small steps")


def lu_rule(xp, low_g, high_g, p, low, high):
    rows, columns = low.shape[-2], high.shape[-1]
    size = min(rows, columns)
    low1, high1 = transposed(xp, first(xp, low, size, -2)), transposed(xp, first(xp, high, size, -1))
    strict = xp.matmul(low1, first(xp, low_g, size, -2))
    upper = xp.matmul(first(xp, high_g, size, -1), high1)
    if columns > rows:
        right = part(xp, high_g, size, columns, -1)
        strict = strict - xp.matmul(right, transposed(xp, part(xp, high, size, columns, -1)))
    if rows > columns:
        below = part(xp, low_g, size, rows, -2)
        upper = upper - xp.matmul(transposed(xp, part(xp, low, size, rows, -2)), below)
    core = xp.tril(strict, diagonal=-1) + xp.triu(upper, diagonal=0)
    core = xp.solve_triangular(low1, core, upper=True, left=True, unit=True)
    core = xp.solve_triangular(high1, core, upper=False, left=False, unit=False)
    if columns > rows:
        core = join(xp, core, xp.solve_triangular(low1, right, upper=True, left=True, unit=True), -1)
    if rows > columns:
        core = join(xp, core, xp.solve_triangular(high1, below, upper=False, left=False, unit=False), -2)
    return xp.matmul(p, core)


@last_axes(outputs=(EXCHANGES, "L", "U"), node="LinalgLuBackward0",
           a=lambda xp, g, out0, out1, out2: lu_rule(xp, g[1], g[2], out0, out1, out2))
def lu(xp, a):
    factors, places, _ = xp.lu_factor_ex(a)
    return xp.lu_unpack(factors, places, data=True, pivots=True)


def lu_factor_rule(xp, g, out0, out1):
    p, low, high = xp.lu_unpack(out0, out1, data=True, pivots=True)
    size = min(g.shape[-2:])
    return lu_rule(xp, first(xp, g, size, -1), first(xp, g, size, -2), p, low, high)


@last_axes(memory="columns", outputs=("LU", EXCHANGES, WHOLE_NUMBERS), node="LinalgLuFactorExBackward0", a=lu_factor_rule)
def lu_factor_ex(xp, a):
    """(both factors in one matrix; pivots, counted from 1; position of the first zero on the diagonal of u, or 0)."""


def lu_unpack_rule(xp, g, a_shape, data):
    _, low_g, high_g = g
    rows, columns = a_shape[-2:]
    if not data:
        raise RuntimeError("lu_unpack with unpack_data=False has no derivative")
    before = ((0, 0),) * (len(a_shape) - 2)
    lower = xp.constant_pad(xp.tril(low_g, diagonal=-1), pads=(*before, (0, 0), (0, max(columns - rows, 0))), value=0)
    upper = xp.constant_pad(xp.triu(high_g, diagonal=0), pads=(*before, (0, max(rows - columns, 0)), (0, 0)), value=0)
    return lower + upper


@last_axes(outputs=(EXCHANGES, "L", "U"), node="LuUnpackBackward0",
           a=lu_unpack_rule,
           places=WHOLE_NUMBERS)
def lu_unpack(xp, a, places, *, data, pivots): ...


def lu_solve_a_rule(xp, g, a, places, out, a_shape, left, flip, conjugate):
    g = xp.lu_solve(a, places, g, left=left, flip=not flip, conjugate=conjugate)
    out = transposed(xp, out)
    product = -(xp.matmul(g, out) if left else xp.matmul(out, g))
    if flip:
        product = transposed(xp, product)
    product = sum_to(xp, conj(xp, product) if conjugate else product, a_shape)
    p, low, high = xp.lu_unpack(a, places, data=True, pivots=True)
    product = xp.matmul(transposed(xp, p), product)
    return (xp.tril(xp.matmul(product, transposed(xp, high)), diagonal=-1)
            + xp.triu(xp.matmul(transposed(xp, low), product), diagonal=0))


@op(batch="defined", memory="columns", node="LinalgLuSolveBackward0",
    a=lu_solve_a_rule,
    places=WHOLE_NUMBERS,
    b=lambda xp, g, a, places, b_shape, left, flip, conjugate: sum_to(
        xp, xp.lu_solve(a, places, g, left=left, flip=not flip, conjugate=conjugate), b_shape))
def lu_solve(xp, a, places, b, *, left, flip, conjugate):
    """x with m x = b, or x m = b if not left, where m is p l u: transposed if `flip`, conjugated if `conjugate`."""
    p, low, high = xp.lu_unpack(conj(xp, a) if conjugate else a, places, data=True, pivots=True)
    if left != flip:
        b = b if left else transposed(xp, b)
        b = xp.solve_triangular(low, xp.matmul(transposed(xp, p), b), upper=False, left=True, unit=True)
        out = xp.solve_triangular(high, b, upper=True, left=True, unit=False)
    else:
        b = b if left else transposed(xp, b)
        b = xp.solve_triangular(transposed(xp, high), b, upper=False, left=True, unit=False)
        out = xp.matmul(p, xp.solve_triangular(transposed(xp, low), b, upper=True, left=True, unit=True))
    return out if left else transposed(xp, out)
