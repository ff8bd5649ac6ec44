"""Elementwise arithmetic of two or three arguments."""

import cmath
import math

from whygrad.ops.table import elementwise


def underivable(name):
    """The rule of an op that torch records but cannot differentiate."""

    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@elementwise(quiet=False, curve="arithmetic analytic", public="overloaded foreach",
             a=lambda g: g,
             b=lambda g: g)
def add(xp, a, b): ...


@elementwise(curve="analytic", public="overloaded", node="AddBackward0",
             a=lambda g: g,
             b=lambda g, alpha: g * alpha)
def add_scaled(xp, a, b, *, alpha):
    return xp.add(a, xp.mul(b, alpha))


@elementwise(quiet=False, curve="arithmetic comparing analytic", public="overloaded foreach",
             a=lambda g: g,
             b=lambda g: -g)
def sub(xp, a, b): ...


@elementwise(curve="analytic", public="overloaded", node="SubBackward0",
             a=lambda g: g,
             b=lambda g, alpha: -g * alpha)
def sub_scaled(xp, a, b, *, alpha):
    return xp.sub(a, xp.mul(b, alpha))


@elementwise(quiet=False, curve="analytic", called="sub",
             node=lambda kinds, statics: "RsubBackward0" if kinds == "tt" else "RsubBackward1",
             a=lambda g, alpha: -g if alpha == 1 else -g * alpha,
             b=lambda g: g)
def rsub(xp, a, b, *, alpha=1):
    return xp.sub(b, a if alpha == 1 else xp.mul(a, alpha))


@elementwise(quiet=False, curve="arithmetic product analytic", public="overloaded foreach",
             a=lambda g, b: g * b,
             b=lambda g, a: g * a)
def mul(xp, a, b): ...


@elementwise(curve="arithmetic analytic", public="overloaded foreach",
             a=lambda g, b: g / b,
             b=lambda g, a, b: -g * ((a / b) / b))
def div(xp, a, b): ...


# Torch saves both arguments although the gradients are zero, so a later in-place change of them is an error here too.
@elementwise(curve="stepwise", node="DivBackward2",
             a=lambda xp, g, b: xp.zeros_like(g),
             b=lambda xp, g, a, b: xp.zeros_like(g))
def div_rounded(xp, a, b, *, mode): ...


@elementwise(node="NotImplemented",
             a=underivable("floor_divide"),
             b=underivable("floor_divide"))
def floor_divide(xp, a, b):
    return xp.div_rounded(a, b, mode="floor")


@elementwise(node="NotImplemented",
             a=underivable("floor_divide_"),
             b=underivable("floor_divide_"))
def floor_divide_inplace(xp, a, b):
    return xp.div_rounded(a, b, mode="floor")


@elementwise(public="overloaded",
             node=lambda kinds, statics: "RemainderBackward1" if kinds == "tt" else "RemainderBackward0",
             a=lambda g: g,
             b=lambda xp, g, a, b: -g * xp.div_rounded(a, b, mode="floor"))
def remainder(xp, a, b): ...


@elementwise(node="NotImplemented",
             a=underivable("remainder"),
             b=underivable("remainder"))
def remainder_of_number(xp, a, b):
    return xp.remainder(a, b)


@elementwise(public="overloaded",
             node=lambda kinds, statics: "FmodBackward1" if kinds == "tt" else "FmodBackward0",
             a=lambda g: g,
             b=lambda xp, g, a, b: -g * xp.div_rounded(a, b, mode="trunc"))
def fmod(xp, a, b): ...


def pow_number_rule(xp, g, a, exponent):
    if exponent == 0:
        return xp.zeros_like(a)
    # The row, unlike the operator, computes the power -1/2 as torch does, as 1 / sqrt(a), also for -0.0 and -inf.
    power = xp.pow_number(a, exponent=-0.5) if exponent == 0.5 else a ** (exponent - 1)
    return g * (exponent * power)


@elementwise(node="PowBackward0", a=pow_number_rule)
def pow_number(xp, a, *, exponent): ...


# torch saves the result even if only `a` requires a gradient.
@elementwise(curve="distance", public="overloaded foreach", saved={"b": "exponent"}, node="PowBackward1",
             a=lambda xp, g, a, b, out: xp.where(b == 0, 0.0, g * (b * a ** (b - 1))),
             b=lambda xp, g, a, b, out: g * xp.where(xp.power_of_zero(a, b), 0.0, out * xp.log(a)))
def pow(xp, a, b): ...


def pow_of_number_rule(xp, g, b, out, base):
    slope = out * log_of_number(base)
    return g * (slope if base != 0 else xp.where(xp.power_of_zero(base, b), 0.0, slope))


def log_of_number(base):
    if isinstance(base, complex):
        return cmath.log(base) if base else complex(-math.inf, 0)
    return math.log(base) if base > 0 else -math.inf if base == 0 else math.nan


@elementwise(called="pow", node="PowBackward2", b=pow_of_number_rule)
def pow_of_number(xp, b, *, base): ...


@elementwise(a=lambda xp, g, a, b: g * b * atan2_scale(xp, a, b),
             b=lambda xp, g, a, b: g * -a * atan2_scale(xp, a, b))
def atan2(xp, a, b): ...


def atan2_scale(xp, a, b):
    square = a * a + b * b
    return xp.where(square == 0, 0.0, xp.reciprocal(square))


@elementwise(a=lambda g, a, out: g * (a / out),
             b=lambda g, b, out: g * (b / out))
def hypot(xp, a, b): ...


@elementwise(node=lambda kinds, statics: "CopysignBackward0" if kinds == "tt" else "CopysignBackward1",
             a=lambda xp, g, a, out: g * xp.where(a == 0, 0.0, out / a),
             b=lambda xp, g: xp.zeros_like(g))
def copysign(xp, a, b): ...


@elementwise(public="special", half="native",
             node=lambda kinds, statics: f"XlogyBackward{('tt', 'st', 'ts').index(kinds)}",
             a=lambda xp, g, a, b: xp.where((a == 0) & (b <= 0), 0.0, xp.xlogy(g, b)),
             b=lambda g, a, b: g * a / b)
def xlogy(xp, a, b): ...


@elementwise(a=lambda xp, g, a, b: g / (1 + xp.exp(b - a)),
             b=lambda xp, g, a, b: g / (1 + xp.exp(a - b)))
def logaddexp(xp, a, b): ...


@elementwise(a=lambda xp, g, a, b: g / (1 + xp.exp2(b - a)),
             b=lambda xp, g, a, b: g / (1 + xp.exp2(a - b)))
def logaddexp2(xp, a, b): ...


@elementwise(public="foreach",
             node=lambda kinds, statics: "LerpBackward1" if kinds[2] == "t" else "LerpBackward0",
             start=lambda g, weight: g * (1 - weight),
             end=lambda g, weight: g * weight,
             weight=lambda g, start, end: g * (end - start))
def lerp(xp, start, end, weight):
    """Interpolate from the nearer end, so that both ends are exact."""
    step = end - start
    return xp.where(xp.abs(weight) < 0.5, start + step * weight, end - step * (1 - weight))


@elementwise(saved={"a": "tensor1", "b": "tensor2"},
             x=lambda g: g,
             a=lambda g, b, value: g * (b * value),
             b=lambda g, a, value: g * (a * value))
def addcmul(xp, x, a, b, *, value):
    return xp.add(x, xp.mul(xp.mul(a, value), b))


@elementwise(saved={"a": "tensor1", "b": "tensor2"},
             x=lambda g: g,
             a=lambda g, b, value: g * (value / b),
             b=lambda g, a, b, value: -g * (value * a / (b * b)))
def addcdiv(xp, x, a, b, *, value):
    return xp.add(x, xp.div(xp.mul(a, value), b))
