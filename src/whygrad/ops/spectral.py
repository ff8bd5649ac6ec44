"""Singular values and vectors, eigenvalues and eigenvectors, of matrices and batches of them.

The vectors are determined up to a sign, or for complex matrices up to a phase: a loss that depends on it has no derivative.
"""

from whygrad.ops.matrices import (
    adjoint,
    as_column,
    as_row,
    conj,
    diagonal,
    differences,
    embed,
    first,
    is_complex,
    without_diagonal,
)
from whygrad.ops.table import NoGrad, last_axes

LOOKED_AT = NoGrad("it is only looked at")


@last_axes(x=LOOKED_AT, y=LOOKED_AT)
def no_phase(xp, x, y, *, message):
    """Raise if the loss depends on the vectors' phases, that is, if the imaginary parts of `x` and `-y` (or None) differ."""


SVD_PHASE = ("svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. The "
             "specified loss function depends on this phase term, making it ill-defined.")
EIG_PHASE = (": The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The specified loss "
             "function depends on this quantity, so it is ill-defined.")


def conjugates(xp, gradients):
    return [None if g is None else conj(xp, g) for g in gradients]


def skew(xp, x):
    return x - adjoint(xp, x)


def svd_rule(xp, g, out0, out1, out2, full):
    u_g, s_g, vh_g = conjugates(xp, g)
    u, s, vh = out0, out1, out2
    rows, columns, count = u.shape[-2], vh.shape[-1], s.shape[-1]
    if full:
        u, vh = first(xp, u, count, -1), first(xp, vh, count, -2)
        u_g = None if u_g is None else first(xp, u_g, count, -1)
        vh_g = None if vh_g is None else first(xp, vh_g, count, -2)
    if u_g is None and vh_g is None:
        return conj(xp, xp.matmul(u, as_column(xp, s_g) * vh))
    # The skew-Hermitian parts: rotations of the vectors among each other.
    u_turn = None if u_g is None else skew(xp, xp.matmul(adjoint(xp, u), u_g))
    v_turn = None if vh_g is None else skew(xp, xp.matmul(vh, adjoint(xp, vh_g)))
    if is_complex(u):
        phases = [diagonal(xp, turn) for turn in (u_turn, v_turn) if turn is not None]
        xp.no_phase(phases[0], phases[1] if len(phases) == 2 else None, message=SVD_PHASE)
    if v_turn is None:
        core = u_turn * as_row(xp, s)
    elif u_turn is None:
        core = v_turn * as_column(xp, s)
    else:
        core = u_turn * as_row(xp, s) + v_turn * as_column(xp, s)
    core = core / differences(xp, s * s)
    if s_g is not None:
        core = core + embed(xp, s_g)
    if is_complex(u) and u_turn is not None and v_turn is not None:
        core = core + embed(xp, diagonal(xp, u_turn) / (2 * s))
    if rows > columns and u_g is not None:
        scaled = u_g / as_row(xp, s)
        outside = scaled - xp.matmul(u, xp.matmul(adjoint(xp, u), scaled))
        return conj(xp, xp.matmul(xp.matmul(u, core) + outside, vh))
    if rows < columns and vh_g is not None:
        scaled = vh_g / as_column(xp, s)
        outside = scaled - xp.matmul(xp.matmul(scaled, adjoint(xp, vh)), vh)
        return conj(xp, xp.matmul(u, xp.matmul(core, vh) + outside))
    return conj(xp, xp.matmul(u, xp.matmul(core, vh)))


@last_axes(memory="columns 0 2", outputs=("U", "S", "Vh"), partial=True, node="LinalgSvdBackward0", a=svd_rule)
def svd(xp, a, *, full): ...


def svdvals_rule(xp, g, a):
    u, _, vh = xp.svd(a, full=False)
    return conj(xp, xp.matmul(u, as_column(xp, g) * vh))


@last_axes(node="LinalgSvdBackward0", a=svdvals_rule)
def svdvals(xp, a): ...


def eigh_rule(xp, g, out0, out1):
    values_g, vectors_g = conjugates(xp, g)
    values, vectors = out0, out1
    if vectors_g is None:
        core = as_column(xp, values_g) * adjoint(xp, vectors)
    else:
        turn = xp.matmul(adjoint(xp, vectors), vectors_g)
        if is_complex(vectors):
            xp.no_phase(diagonal(xp, turn), None, message="linalg_eigh_backward" + EIG_PHASE)
        core = skew(xp, turn) / 2 / differences(xp, values)
        if values_g is not None:
            core = without_diagonal(xp, core) + embed(xp, values_g)
        core = xp.matmul(core, adjoint(xp, vectors))
    return conj(xp, xp.matmul(vectors, core))


@last_axes(memory="columns 1", outputs=("eigenvalues", "eigenvectors"), partial=True, node="LinalgEighBackward0", a=eigh_rule)
def eigh(xp, a, *, lower): ...


def eigvalsh_rule(xp, g, a, lower):
    _, vectors = xp.eigh(a, lower=lower)
    return conj(xp, xp.matmul(vectors, as_column(xp, g) * adjoint(xp, vectors)))


@last_axes(node="LinalgEighBackward0", a=eigvalsh_rule)
def eigvalsh(xp, a, *, lower): ...


def back_from_eigenvectors(xp, vectors, core):
    """The gradient of the matrix: the inverse adjoint of the eigenvectors times `core`, conjugated."""
    return conj(xp, xp.solve_ex(adjoint(xp, vectors), core, left=True, vector=False)[0])


def eig_rule(xp, g, out0, out1):
    values_g, vectors_g = conjugates(xp, g)
    values, vectors = out0, out1
    if vectors_g is None:
        return back_from_eigenvectors(xp, vectors, as_column(xp, values_g) * adjoint(xp, vectors))
    turn = xp.matmul(adjoint(xp, vectors), vectors_g)
    along = diagonal(xp, turn)
    xp.no_phase(along, None, message="linalg_eig_backward" + EIG_PHASE)
    # The vectors have norm 1: the gradient's component along them is removed.
    along = (along + conj(xp, along)) / 2
    core = turn - xp.matmul(adjoint(xp, vectors), vectors * as_row(xp, along))
    core = core / conj(xp, differences(xp, values))
    if values_g is not None:
        core = without_diagonal(xp, core) + embed(xp, values_g)
    return back_from_eigenvectors(xp, vectors, xp.matmul(core, adjoint(xp, vectors)))


@last_axes(memory="columns 1", outputs=("eigenvalues", "eigenvectors"), partial=True, node="LinalgEigBackward0", a=eig_rule)
def eig(xp, a, *, real):
    """Eigenvalues and eigenvectors of a complex `a`; `real`: it was converted from a real matrix."""


def eigvals_rule(xp, g, a, real):
    _, vectors = xp.eig(a, real=real)
    return back_from_eigenvectors(xp, vectors, as_column(xp, conj(xp, g)) * adjoint(xp, vectors))


@last_axes(node="LinalgEigBackward0", a=eigvals_rule)
def eigvals(xp, a, *, real): ...
