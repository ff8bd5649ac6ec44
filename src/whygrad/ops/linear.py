"""Products of matrices."""

from whygrad.ops.table import op


@op(a=lambda xp, g, b: xp.mm(g, xp.t(b)),
    b=lambda xp, g, a: xp.mm(xp.t(a), g))
def mm(xp, a, b):
    return xp.mm(a, b)
