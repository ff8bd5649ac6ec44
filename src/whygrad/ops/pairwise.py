"""Distances between all pairs of rows, and block diagonal matrices."""

import math

from whygrad.ops.reduction import norm_rule
from whygrad.ops.table import last_axes, op


def differences(xp, a, b):
    """a[i] - b[j] for each row of `a` and each row of `b`."""
    rows, columns = a.shape[-2:], b.shape[-2:]
    return (xp.reshape(a, shape=(*a.shape[:-2], rows[0], 1, rows[1])) -
            xp.reshape(b, shape=(*b.shape[:-2], 1, *columns)))


def distance_rule(xp, g, a, b, out, ord):
    """The gradient of the rows of `a`: the sum over the rows of `b` of each distance's gradient."""
    if ord == 0:
        return xp.zeros_like(a)
    if ord == 2:
        share = xp.where(out == 0, 0.0, g / out)
        return a * xp.sum(share, axis=(len(g.shape) - 1,), keepdims=True) - xp.matmul(share, b)
    if ord == 1:
        return xp.signs_towards(g, a, b)
    difference = differences(xp, a, b)
    g, out = (xp.reshape(v, shape=(*v.shape, 1)) for v in (g, out))
    if ord == math.inf:
        # As in torch, each of several maximal coordinates receives the whole gradient.
        towards = xp.where(xp.abs(difference) == out, g * xp.sgn(difference), 0.0)
    else:
        # Equal coordinates have gradient 0; without the mask a power of zero would make the second derivative NaN.
        equal = difference == 0
        towards = norm_rule(xp, g, xp.where(equal, 1.0, difference), out, ord, (len(difference.shape) - 1,), True)
        towards = xp.where(equal, 0.0, towards)
    return xp.sum(towards, axis=(len(difference.shape) - 2,), keepdims=False)


@last_axes(half="float32", curve="kinked", a=distance_rule,
           b=lambda xp, g, a, b, out, ord: distance_rule(xp, _flipped(xp, g), b, a, _flipped(xp, out), ord))
def cdist(xp, a, b, *, ord, by_products=False):
    """Distances of arrays with the same batch axes. `by_products`: Euclidean, by a matrix product, |a|² - 2ab + |b|²."""


# The derivative of the 1-norm and its adjoint. Both are linear in `x`; the derivative of the sign is zero.

@last_axes(linear="x",
           x=lambda xp, g, a, b: xp.signs_apart(g, a, b),
           a=lambda xp, a: xp.zeros_like(a),
           b=lambda xp, b: xp.zeros_like(b))
def signs_towards(xp, x, a, b):
    """The sum over j of x[i, j] * sgn(a[i, k] - b[j, k])."""


@last_axes(linear="x",
           x=lambda xp, g, a, b: xp.signs_towards(g, a, b),
           a=lambda xp, a: xp.zeros_like(a),
           b=lambda xp, b: xp.zeros_like(b))
def signs_apart(xp, x, a, b):
    """The sum over k of x[i, k] * sgn(a[i, k] - b[j, k])."""


def _flipped(xp, x):
    return xp.transpose(x, axis0=len(x.shape) - 2, axis1=len(x.shape) - 1)


def pdist_rule(xp, g, x, out, ord):
    n = x.shape[0]
    return distance_rule(xp, xp.both_triangles(g, n=n), x, x, xp.both_triangles(out, n=n), ord)


@op(batch="defined", curve="kinked", saved={"ord": "p"}, x=pdist_rule)
def pdist(xp, x, *, ord):
    return xp.upper_triangle(xp.cdist(x, x, ord=ord))


@op(batch="own", linear="x", x=lambda xp, g, x_shape: xp.one_triangle(g, n=x_shape[0]))
def upper_triangle(xp, x):
    """The elements above the diagonal of a square matrix, as a vector."""


@op(batch="own", linear="x", x=lambda xp, g: xp.upper_triangle(g))
def one_triangle(xp, x, *, n):
    """The adjoint of `upper_triangle`: `x` above the diagonal of a matrix of zeros."""


@op(batch="defined", linear="x", x=lambda xp, g: xp.upper_triangle(g + xp.t(g)))
def both_triangles(xp, x, *, n):
    """The symmetric matrix with `x` above the diagonal and zeros on it."""
    upper = xp.one_triangle(x, n=n)
    return upper + xp.t(upper)


def _blocks(xp, g, shapes):
    parts, top, left = [], 0, 0
    for shape in shapes:
        height, width = shape if len(shape) == 2 else (1, math.prod(shape))
        part = xp.slice(g, axis=0, start=top, stop=top + height, step=1)
        parts.append(xp.reshape(xp.slice(part, axis=1, start=left, stop=left + width, step=1), shape=shape))
        top, left = top + height, left + width
    return parts


@op(batch="own", linear="xs", xs=lambda xp, g, xs_shape: _blocks(xp, g, xs_shape))
def block_diag(xp, *xs): ...
