"""Casts, and complex numbers from real ones. Dtypes are statics, given as the backend's dtypes."""

from whygrad.ops.table import NoGrad, elementwise


def _cast(xp, g, dtype, origin):
    return g if dtype == origin else xp.to_copy(g, dtype=dtype, origin=origin)


@elementwise(half="native", linear="x", x=lambda xp, g, dtype, origin: _cast(xp, g, origin, dtype))
def to_copy(xp, x, *, dtype, origin):
    """`x` (of dtype `origin`) in a dtype that can carry a gradient. Always a copy."""


@elementwise(half="native", x=NoGrad("integers have no gradient"))
def to_whole(xp, x, *, dtype, origin):
    """`x` in an integer or boolean dtype."""
    return xp.to_copy(x, dtype=dtype, origin=origin)


# The gradient of a real part is the real part of the gradient, and that is a cast.

@elementwise(half="native",
             real=lambda xp, g, part, whole: xp.to_copy(g, dtype=part, origin=whole),
             imag=lambda xp, g, part, whole: xp.to_copy(g * 1j, dtype=part, origin=whole))
def complex_(xp, real, imag, *, part, whole): ...


def polar_abs_rule(xp, g, angle, part, whole):
    direction = xp.complex(xp.cos(angle), xp.sin(angle), part=part, whole=whole)
    return xp.to_copy(g * direction, dtype=part, origin=whole)


@elementwise(half="native", abs=polar_abs_rule,
             angle=lambda xp, g, out, part, whole: xp.to_copy(g * out * 1j, dtype=part, origin=whole))
def polar(xp, abs, angle, *, part, whole):
    return xp.complex(abs * xp.cos(angle), abs * xp.sin(angle), part=part, whole=whole)
