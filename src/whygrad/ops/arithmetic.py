"""Arithmetic, element by element."""

from whygrad.ops.table import elementwise


@elementwise(a=lambda g: g,
             b=lambda g: g)
def add(xp, a, b):
    return xp.add(a, b)


@elementwise(node="AddBackward0",
             a=lambda g: g,
             b=lambda g, alpha: g * alpha)
def add_scaled(xp, a, b, *, alpha):
    return xp.add(a, xp.mul(b, alpha))


@elementwise(a=lambda g, b: g * b,
             b=lambda g, a: g * a)
def mul(xp, a, b):
    return xp.mul(a, b)


@elementwise(x=lambda g: -g)
def neg(xp, x):
    return xp.neg(x)


@elementwise(x=lambda g, out: g * out)
def exp(xp, x):
    return xp.exp(x)
