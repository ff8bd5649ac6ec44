"""QR factorization and products of Householder reflections, of matrices and batches of them."""

from whygrad.ops.linear import sum_to, transposed
from whygrad.ops.matrices import (
    adjoint,
    as_number,
    conj,
    diagonal,
    embed,
    eye_like,
    first,
    join,
    part,
)
from whygrad.ops.table import last_axes, op


def qr_rule(xp, g, out0, out1, mode):
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
    q, r = out0, out1
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    q_g, r_g = [None if x is None else conj(xp, x) for x in g]
    core = None if r_g is None else xp.matmul(r_g, adjoint(xp, r))
    if q_g is not None:
        turn = xp.matmul(adjoint(xp, q), q_g)
        core = -turn if core is None else core - turn
    if rows >= columns:
        core = xp.triu(core, diagonal=0)
        core = core + adjoint(xp, core)
        core = xp.matmul(q, core - embed(xp, diagonal(xp, core) / 2))
        if q_g is not None:
            core = core + q_g
        return conj(xp, xp.solve_triangular(adjoint(xp, r), core, upper=False, left=False, unit=False))
    core = xp.tril(adjoint(xp, core) - core, diagonal=0)
    core = xp.matmul(q, core - embed(xp, diagonal(xp, core) / 2))
    core = xp.solve_triangular(adjoint(xp, first(xp, r, rows, -1)), core, upper=False, left=False, unit=False)
    core = join(xp, core, xp.zeros_like(part(xp, r, rows, columns, -1)), -1)
    if r_g is not None:
        core = core + xp.matmul(q, r_g)
    return conj(xp, core)


@op(batch="own", memory="columns 0 1", outputs=("Q", "R"), partial=True, node="LinalgQrBackward0", a=qr_rule)
def qr(xp, a, *, mode): ...


def reflectors(xp, a, count):
    """The Householder vectors below the diagonal of `a`: column i has 1 in row i and zeros above."""
    vectors = xp.tril(a, diagonal=-1) + eye_like(xp, a)
    return [part(xp, vectors, i, i + 1, -1) for i in range(count)]


def reflect(xp, vector, factor, x):
    return x - vector * factor * xp.matmul(adjoint(xp, vector), x)


def householder_gradients(xp, g, a, tau):
    """The gradients of each Householder vector and each factor."""
    count = tau.shape[-1]
    vectors = reflectors(xp, a, count)
    factors = [as_number(xp, xp.select(tau, axis=len(tau.shape) - 1, index=i)) for i in range(count)]
    right = eye_like(xp, a)
    rights = []  # the matrix that each reflection is applied to
    for vector, factor in zip(reversed(vectors), reversed(factors), strict=True):
        rights.append(right)
        right = reflect(xp, vector, factor, right)
    vector_gradients, factor_gradients = [], []
    for vector, factor, right in zip(vectors, factors, reversed(rights), strict=True):
        # The reflection is 1 - factor * vector * vector^H, applied to `right`.
        to_right = xp.matmul(transposed(xp, right), conj(xp, vector))
        to_left = xp.matmul(transposed(xp, vector), g)
        straight = xp.matmul(g, to_right)
        backwards = xp.matmul(right, transposed(xp, to_left))
        factor_gradients.append(-xp.matmul(to_left, to_right))
        vector_gradients.append(-(factor * straight + conj(xp, factor * backwards)))
        # The gradient for the next reflection: multiplied by this one transposed.
        g = g - conj(xp, vector) * (factor * to_left)
    return vector_gradients, factor_gradients


def householder_a_rule(xp, g, a, tau):
    if 0 in a.shape or 0 in tau.shape:
        return None
    gradients, _ = householder_gradients(xp, g, a, tau)
    return columns_below(xp, gradients, a, tau)


def columns_below(xp, gradients, a, tau):
    """The gradient of `a` from those of the Householder vectors: below its diagonal, zero in unused columns."""
    unused = a.shape[-1] - tau.shape[-1]
    if unused:
        gradients.append(xp.zeros_like(part(xp, a, tau.shape[-1], a.shape[-1], -1)))
    return xp.tril(xp.cat(*gradients, axis=len(a.shape) - 1), diagonal=-1)


def householder_tau_rule(xp, g, a, tau):
    if 0 in a.shape or 0 in tau.shape:
        return None
    _, gradients = householder_gradients(xp, g, a, tau)
    return xp.reshape(xp.cat(*gradients, axis=len(a.shape) - 1), shape=tau.shape)


@last_axes(memory="columns", node="LinalgHouseholderProductBackward0", a=householder_a_rule, tau=householder_tau_rule)
def householder_product(xp, a, tau):
    """The first columns of the product of the Householder reflections given by the columns of `a` and the factors `tau`."""


def square(xp, a):
    """`a` with as many columns as rows, cut or filled up with zeros, so that the product of reflections is square."""
    rows, columns = a.shape[-2:]
    if columns >= rows:
        return first(xp, a, rows, -1)
    return xp.constant_pad(a, pads=((0, 0),) * (len(a.shape) - 1) + ((0, rows - columns),), value=0)


def ormqr_q_gradient(xp, g, c, left, transpose):
    """The gradient of the square matrix of reflections, which multiplies `c` from the left or right, itself or adjoint."""
    to_factor = xp.matmul(g, transposed(xp, c)) if left else xp.matmul(transposed(xp, c), g)
    return adjoint(xp, to_factor) if transpose else to_factor


def ormqr_a_rule(xp, g, a, tau, c, left, transpose):
    if 0 in a.shape or 0 in tau.shape:
        return None
    gradients, _ = householder_gradients(xp, ormqr_q_gradient(xp, g, c, left, transpose), square(xp, a), tau)
    return columns_below(xp, gradients, a, tau)


@op(batch="defined", memory="columns", a=ormqr_a_rule,
    tau=lambda xp, g, a, tau, c, left, transpose:
        householder_tau_rule(xp, ormqr_q_gradient(xp, g, c, left, transpose), square(xp, a), tau),
    c=lambda xp, g, a, tau, left, transpose:
        conj(xp, xp.ormqr(a, tau, conj(xp, g), left=left, transpose=not transpose)))
def ormqr(xp, a, tau, c, *, left, transpose):
    """The product of `c` with the square matrix of reflections."""
    q = xp.householder_product(square(xp, a), tau)
    q = adjoint(xp, q) if transpose else q
    return xp.matmul(q, c) if left else xp.matmul(c, q)


def no_derivative(name):
    def rule(g):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


@last_axes(memory="columns", outputs=("a", "tau"), a=no_derivative("geqrf"))
def geqrf(xp, a): ...


@op(batch="defined", node="LinalgCrossBackward0",
    a=lambda xp, g, b, a_shape, axis: sum_to(xp, xp.cross(b, g, axis=axis), a_shape),
    b=lambda xp, g, a, b_shape, axis: sum_to(xp, xp.cross(g, a, axis=axis), b_shape))
def cross(xp, a, b, *, axis):
    """The cross product of vectors in three dimensions."""
    a1, b1 = [xp.roll(x, shifts=(-1,), axes=(axis,)) for x in (a, b)]
    return xp.roll(a * b1 - a1 * b, shifts=(-1,), axes=(axis,))
