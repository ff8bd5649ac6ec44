"""Casts, complex numbers from real ones, and their parts. Dtypes are statics, given as the backend's dtypes."""

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


@elementwise(x=lambda xp, x, g: xp.zeros_like(g))
def angle(xp, x):
    """The argument of a complex number; of a real one 0, or pi if it is negative."""


@elementwise(curve="kinked", node="AngleBackward0", x=lambda xp, g, x: xp.where(x == 0, 0.0, g * -1j / x))
def angle_complex(xp, x):
    return xp.angle(x)


def _conj_physical(name, node):
    def forward(xp, x):
        return xp.conj(x)

    forward.__name__ = name
    elementwise(node=node, x=lambda xp, g: xp.conj(g))(forward)


_conj_physical("conj_physical", "ConjPhysicalBackward0")
_conj_physical("conj_physical_inplace", "ConjPhysicalBackward1")
