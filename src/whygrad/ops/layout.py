"""Shapes: rows that give another view of the same numbers."""

from whygrad.ops.table import view


@view(x=lambda xp, g, x_shape: xp.sum_to(g, shape=x_shape))
def expand(xp, x, *, shape):
    return xp.expand(x, shape=shape)


@view(node="ViewBackward0",
      x=lambda xp, g, x_shape: xp.reshape(g, shape=x_shape))
def reshape(xp, x, *, shape):
    return xp.reshape(x, shape=shape)


@view(x=lambda xp, g: xp.t(g))
def t(xp, x):
    return xp.t(x)
