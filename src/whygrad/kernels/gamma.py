"""The logarithm of the gamma function and its first two derivatives, for float32 vectors.

They are computed in float64, so that nothing is lost where terms cancel: a recurrence carries the argument to where Stirling's
series holds, a reflection takes it there from below 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from whygrad.kernels.values import F32, F64, I64, Function, Value

# The primitives of machine.py that are written here.
__all__ = ["digamma", "lgamma", "trigamma"]

# Steps of the recurrence: from there on few terms of the series are exact enough.
STEPS = 8
# Its coefficients, highest first: B(2k) / (2k (2k - 1)), B(2k) / 2k and B(2k)
BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]
LGAMMA = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)][::-1]
DIGAMMA = [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)][::-1]
TRIGAMMA = BERNOULLI[::-1]
# sin(pi r) / r and cos(pi r) in powers of r**2 for |r| <= 1/2, highest first
SINE = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10)][::-1]
COSINE = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(11)][::-1]
# log(m) = 2 s + ..., where s = (m - 1) / (m + 1): 2 / (2k + 1), highest first
LOGARITHM = [2 / (2 * k + 1) for k in range(11)][::-1]


def _log(f: Function, x: Value) -> Value:
    """Of positive normal numbers, and infinity."""
    bits = x.bits_as(I64)
    exponent = (bits - 0x3FE6A09E667F3BCD) >> 52  # for which the mantissa lies between sqrt(1/2) and sqrt(2)
    mantissa = (bits - (exponent << 52)).bits_as(F64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    result = f.fma(exponent.to(F64), math.log(2), s * f.polynomial(s * s, LOGARITHM))
    return f.choose(x.equals(math.inf), x, result)


def _moved(f: Function, x: Value) -> tuple[Value, Value, Value, Value]:
    """(whether it was reflected, the argument after that, its distance from the next integer, the same after the recurrence)."""
    reflected = x < 0.5
    z = f.choose(reflected, 1.0 - x, x)
    part = x - f.intrinsic("rint", x)
    return reflected, z, part, f.choose(z < STEPS, z + float(STEPS), z)


def _terms(f: Function, z: Value, term: Callable[[Value], Value]) -> Value:
    """The sum of `term(z + k)` over the steps of the recurrence, if there are any."""
    total = term(z)
    for k in range(1, STEPS):
        total = total + term(z + float(k))
    return f.choose(z < STEPS, total, 0.0)


def lgamma(f: Function, x: Value) -> Value:
    wide = x.to(F64)
    reflected, z, part, y = _moved(f, wide)
    product = z
    for k in range(1, STEPS):
        product = product * (z + float(k))
    product = f.choose(z < STEPS, product, 1.0)
    inverse = 1.0 / y
    series = f.polynomial(inverse * inverse, LGAMMA) * inverse + 0.5 * math.log(2 * math.pi)
    large = f.fma(y - 0.5, _log(f, y), series - y)
    sine = f.intrinsic("fabs", part * f.polynomial(part * part, SINE))
    logarithm = _log(f, f.choose(reflected, product * math.pi / sine, product))
    result = f.choose(reflected, logarithm - large, large - logarithm).to(F32)
    result = f.choose(x.equals(1.0) | x.equals(2.0), 0.0, result)
    return f.choose(f.intrinsic("fabs", x).equals(math.inf), math.inf, f.choose(x.differs(x), x, result))


def digamma(f: Function, x: Value) -> Value:
    wide = x.to(F64)
    reflected, z, part, y = _moved(f, wide)
    inverse = 1.0 / y
    square = inverse * inverse
    value = _log(f, y) - 0.5 * inverse - f.polynomial(square, DIGAMMA) * square - _terms(f, z, lambda a: 1.0 / a)
    cotangent = f.polynomial(part * part, COSINE) * math.pi / (part * f.polynomial(part * part, SINE))
    result = f.choose(reflected, value - cotangent, value).to(F32)
    pole = f.choose(x.equals(0.0), f.intrinsic("copysign", x.like(math.inf), -x), math.nan)
    result = f.choose((x <= 0.0) & part.equals(0.0), pole, result)
    return f.choose(x.equals(math.inf), x, result)


def trigamma(f: Function, x: Value) -> Value:
    wide = x.to(F64)
    reflected, z, part, y = _moved(f, wide)
    inverse = 1.0 / y
    square = inverse * inverse
    series = f.polynomial(square, TRIGAMMA) * square * inverse + 0.5 * square + inverse
    value = series + _terms(f, z, lambda a: 1.0 / (a * a))
    ratio = math.pi / (part * f.polynomial(part * part, SINE))
    return f.choose(reflected, ratio * ratio - value, value).to(F32)
