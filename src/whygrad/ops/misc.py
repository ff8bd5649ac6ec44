"""Number theory, bits of floating numbers, comparisons within a tolerance."""

import math

from whygrad.ops.sorting import refused
from whygrad.ops.table import NoGrad, along_axes, elementwise, op

WHOLE = NoGrad("whole numbers have no derivative")
COMPARISON = NoGrad("a comparison gives a boolean, which has no derivative")


def _binary(name, rule, other_rule=None, **options):
    def forward(xp, a, b):
        return getattr(xp, name)(a, b)

    forward.__name__ = name
    elementwise(a=rule, b=other_rule or rule, **options)(forward)


_binary("gcd", WHOLE)
_binary("lcm", WHOLE)
_binary("nextafter", lambda xp, g, a, b: xp.where(a == b, 0.0, g), lambda xp, g: xp.zeros_like(g))
_binary("heaviside", refused("heaviside"), node="NotImplemented", half="native", curve="stepwise")


@elementwise(half="native",
             a=lambda xp, g, b: g * xp.exp2(b),
             b=lambda g, out: g * out * math.log(2))
def ldexp(xp, a, b):
    return a * xp.exp2(b)


# mantissa / x is a power of two, which is piecewise constant.
@along_axes(outputs=("mantissa", NoGrad("exponents are integers")), memory="follow",
            x=lambda xp, g, x, out0: g * xp.where(x == 0, 1.0, out0) / xp.where(x == 0, 1.0, x))
def frexp(xp, x): ...


@elementwise(half="native", a=COMPARISON, b=COMPARISON)
def isclose(xp, a, b, *, rtol, atol, equal_nan): ...


@op(batch="own", x=COMPARISON, tests=COMPARISON)
def isin(xp, x, tests, *, invert): ...


@op(batch="own",
    node=lambda kinds, statics: "FillBackward1" if kinds[1] == "t" else "FillBackward0",
    x=lambda xp, g: xp.zeros_like(g),
    value=lambda xp, g: xp.sum(g, axis=None, keepdims=False))
def filled(xp, x, value):
    """One value in the shape of `x`."""


@along_axes(x=NoGrad("a hash does not change smoothly"))
def hash_tensor(xp, x, *, axis, keepdims):
    """The exclusive or of the bits of all elements, taken as 64-bit numbers."""
