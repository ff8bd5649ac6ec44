"""Rows of in-place writes. The old value is overwritten, so its gradient is zero."""

from whygrad.ops.table import NoGrad, along_axes, elementwise, op


@along_axes(x=NoGrad("zeros do not depend on the values they are shaped after"))
def zeros_like(xp, x): ...


@elementwise(batch="broadcast_shifted", half="native", curve="analytic", node="CopyBackwards",
             x=lambda xp, g: xp.zeros_like(g),
             src=lambda g: g)
def copy(xp, x, src):
    """`x` overwritten with `src`, which the in-place write broadcasts."""
    return src


@elementwise(batch="broadcast_shifted", half="native", node="FillBackward3",
             x=lambda xp, g: xp.zeros_like(g),
             value=lambda g: g)
def fill(xp, x, value):
    """`x` overwritten with one value that may require a gradient."""
    return xp.copy(x, value)


@op(batch="with_values",
    node=lambda kinds, statics: statics["node"],
    x=lambda xp, g: xp.zeros_like(g))
def overwrite(xp, x, *, values, node):
    """`x` overwritten with values without gradients: constants or random numbers."""
