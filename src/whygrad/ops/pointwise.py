"""Elementwise functions of one variable, each a name and its derivative."""

import math

from whygrad.ops.table import NoGrad, along_axes, elementwise


def primitive(name, rule, node=None, **traits):
    """A row whose forward is the backend's function of the same name."""

    def forward(xp, x):
        return getattr(xp, name)(x)

    forward.__name__ = name
    elementwise(node=node, x=rule, **traits)(forward)


TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
LN2, LN10 = math.log(2), math.log(10)
RADIAN, DEGREE = math.pi / 180, 180 / math.pi

primitive("neg", lambda g: -g, public="foreach", curve="arithmetic analytic")
primitive("reciprocal", lambda g, out: -g * (out * out), public="float foreach")
primitive("sqrt", lambda g, out: g / (2 * out), public="float foreach sparse")
primitive("rsqrt", lambda g, out: -0.5 * g * (out * out * out), public="float foreach")
primitive("exp", lambda g, out: g * out, public="float foreach", curve="saturating analytic")
primitive("exp2", lambda g, out: g * out * LN2, public="special float")
primitive("expm1", lambda g, out: g * (out + 1), public="special float foreach sparse")
primitive("log", lambda g, x: g / x, public="float foreach")
primitive("log2", lambda g, x: g / (x * LN2), public="float foreach")
primitive("log10", lambda g, x: g / (x * LN10), public="float foreach")
primitive("log1p", lambda g, x: g / (x + 1), node="Log1PBackward0", public="special float foreach sparse")
primitive("sin", lambda xp, g, x: g * xp.cos(x), public="float foreach sparse", curve="analytic")
primitive("cos", lambda xp, g, x: g * -xp.sin(x), public="float foreach", curve="analytic")
primitive("tan", lambda g, out: g * (1 + out ** 2), public="float foreach sparse")
primitive("asin", lambda xp, g, x: g * xp.rsqrt(-x * x + 1), public="foreach sparse")
primitive("acos", lambda xp, g, x: g * -xp.rsqrt(-x * x + 1), public="foreach")
primitive("atan", lambda g, x: g / (x * x + 1), public="foreach sparse")
primitive("sinh", lambda xp, g, x: g * xp.cosh(x), public="float foreach sparse")
primitive("cosh", lambda xp, g, x: g * xp.sinh(x), public="float foreach")
primitive("tanh", lambda xp, g, out: xp.tanh_backward(g, out), public="float foreach sparse", curve="saturating")
primitive("asinh", lambda xp, g, x: g * xp.rsqrt(x ** 2 + 1), public="sparse")
primitive("acosh", lambda xp, g, x: g * xp.rsqrt(x * x - 1))
primitive("atanh", lambda g, x: g / (1 - x ** 2), public="sparse")
primitive("erf", lambda xp, g, x: TWO_OVER_SQRT_PI * xp.exp(-(x ** 2)) * g, public="special foreach sparse", curve="saturating")
primitive("erfc", lambda xp, g, x: -TWO_OVER_SQRT_PI * xp.exp(-(x ** 2)) * g, public="special foreach", curve="saturating")
primitive("sigmoid", lambda xp, g, out: xp.sigmoid_backward(g, out), public="float foreach", curve="saturating")
primitive("abs", lambda xp, g, x: g * xp.sgn(x), public="foreach sparse", curve="distance")
primitive("frac", lambda g: g, public="foreach sparse")
primitive("deg2rad", lambda g: g * RADIAN, node="Deg2RadBackward0", public="sparse")
primitive("rad2deg", lambda g: g * DEGREE, node="Rad2DegBackward0", public="sparse")

for _name in ("sign", "floor", "ceil", "trunc"):
    primitive(_name, lambda xp, g: xp.zeros_like(g), half="native", public="foreach sparse", curve="stepwise")
primitive("round", lambda xp, g: xp.zeros_like(g), half="native", public="special foreach sparse", curve="stepwise")

# The gradient of sgn is zero, but torch saves both the argument and the result.
primitive("sgn", lambda xp, g, x, out: xp.zeros_like(g), half="native", public="sparse", curve="stepwise", called="sign")

TEST = NoGrad("a test gives a boolean, which has no derivative")
for _name, _public in (("isnan", "test sparse"), ("isinf", "test sparse"), ("isfinite", "test"), ("isreal", "test"),
                       ("isposinf", "sparse"), ("isneginf", "sparse"), ("signbit", "sparse")):
    primitive(_name, TEST, half="native", public=_public)


@elementwise(grad=lambda xp, g, y: xp.tanh_backward(g, y),
             y=lambda g, grad, y: g * (-2 * y * grad))
def tanh_backward(xp, grad, y):
    return grad * (1 - y * y)


@elementwise(half="bfloat16",
             grad=lambda xp, g, y: xp.sigmoid_backward(g, y),
             y=lambda g, grad, y: g * grad * (-2 * y + 1))
def sigmoid_backward(xp, grad, y):
    return grad * (1 - y) * y


@elementwise(curve="stepwise", node="RoundBackward1", x=lambda xp, g: xp.zeros_like(g))
def round_decimals(xp, x, *, decimals): ...


@elementwise(curve="masking", public="sparse", x=lambda xp, g, x: g * xp.isfinite(x))
def nan_to_num(xp, x, *, nan, posinf, neginf): ...


def logit_rule(xp, g, x, eps):
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    # abs: at -0.0, too, the slope is +inf.
    return xp.where((x < low) | (x > 1 - low), outside, g / xp.abs(x * (1 - x)))


@elementwise(public="special", x=logit_rule)
def logit(xp, x, *, eps):
    if eps is not None:
        x = xp.where(x < eps, eps, xp.where(x > 1 - eps, 1 - eps, x))
    return xp.log(x / (1 - x))


def sinc_rule(xp, g, x):
    angle = x * math.pi
    scale = x * x * math.pi
    return xp.where(scale == 0, 0.0, g * ((angle * xp.cos(angle) - xp.sin(angle)) / scale))


@elementwise(public="special float", x=sinc_rule)
def sinc(xp, x): ...


# Complex numbers. Gradients travel conjugated, so rules of functions that are not holomorphic conjugate where torch's do not.

@along_axes(memory="follow", x=lambda xp, g: xp.conj(g))
def conj(xp, x): ...


@elementwise(node="AbsBackward0",
             x=lambda xp, g, x: g * xp.conj(xp.sgn_complex(x)))
def abs_complex(xp, x):
    return xp.abs(x)


def sgn_complex_rule(xp, g, x, out):
    """The part of `g` orthogonal to the direction, over the length; the part along it has no effect."""
    direction = xp.conj(out)
    along = g / direction
    length = xp.abs_complex(x)
    return xp.where(length == 0, 0.0, (g - (along + xp.conj(along)) / 2 * direction) / length)


@elementwise(curve="kinked", node="SgnBackward0", x=sgn_complex_rule)
def sgn_complex(xp, x):
    return xp.sgn(x)


@elementwise(node="AcoshBackward0",
             x=lambda xp, g, x: g * (xp.rsqrt(x + 1) * xp.rsqrt(x - 1)))
def acosh_complex(xp, x):
    return xp.acosh(x)


# torch does not differentiate the in-place versions of these three.

def _inplace_without_derivative(name):
    def rule(g):
        raise NotImplementedError(f"the derivative for 'inplace version of {name}' is not implemented.")

    def forward(xp, x):
        return getattr(xp, name)(x)

    forward.__name__ = f"{name}_inplace"
    elementwise(node=f"{name.capitalize()}Backward1", x=rule)(forward)


for _name in ("asinh", "acosh", "atanh"):
    _inplace_without_derivative(_name)
