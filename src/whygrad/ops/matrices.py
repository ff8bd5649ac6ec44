"""Helpers of the rules about matrices. All work on each matrix of a batch."""

from whygrad.ops.linear import transposed
from whygrad.ops.table import NoGrad

WHOLE_NUMBERS = NoGrad("these are integers, which have no derivative")


def is_complex(x):
    """Whether a NumPy array or a Tensor is complex."""
    dtype = x.dtype
    return dtype.kind == "c" if hasattr(dtype, "kind") else dtype.is_complex


def conj(xp, x):
    """The conjugate. Gradients travel conjugated: a rule whose formula is not holomorphic conjugates at its beginning and
    at its end, and uses torch's formula in between."""
    return xp.conj(x) if is_complex(x) else x


def adjoint(xp, x):
    """Transposed and conjugated."""
    return transposed(xp, conj(xp, x))


def as_column(xp, x):
    return xp.unsqueeze(x, axis=len(x.shape))


def as_row(xp, x):
    return xp.unsqueeze(x, axis=len(x.shape) - 1)


def as_number(xp, x):
    """One number per matrix, shaped to broadcast against the matrices."""
    return as_column(xp, as_column(xp, x))


def diagonal(xp, x):
    return xp.diagonal(x, offset=0, axis1=len(x.shape) - 2, axis2=len(x.shape) - 1)


def embed(xp, x):
    ndim = len(x.shape)
    return xp.diag_embed(x, shape=(*x.shape, x.shape[-1]), offset=0, axis1=ndim - 1, axis2=ndim)


def eye_like(xp, x):
    """Ones on the diagonals of matrices of this shape."""
    axis = len(x.shape) - 2
    ones = diagonal(xp, xp.zeros_like(x)) + 1
    return xp.diagonal_backward(ones, shape=x.shape, offset=0, axis1=axis, axis2=axis + 1)


def without_diagonal(xp, x):
    return x - embed(xp, diagonal(xp, x))


def differences(xp, x):
    """`x[j] - x[i]` in row i and column j, with 1 on the diagonal, because rules divide by the result."""
    return as_row(xp, x) - as_column(xp, x) + embed(xp, xp.zeros_like(x) + 1)


def first(xp, x, count, axis):
    """The first rows (axis -2) or columns (axis -1)."""
    return part(xp, x, 0, count, axis)


def part(xp, x, start, stop, axis):
    axis += len(x.shape)
    return x if (start, stop) == (0, x.shape[axis]) else xp.slice(x, axis=axis, start=start, stop=stop, step=1)


def join(xp, a, b, axis):
    return xp.cat(a, b, axis=len(a.shape) + axis)
