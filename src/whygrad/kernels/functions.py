"""exp, log and their relatives for float32 vectors, to one or two units in the last place.

NaN and infinities go through as IEEE wants, denormal results are kept. The coefficients are minimax fits on the
intervals named; FMA makes the reductions exact enough.
"""

from __future__ import annotations

import math

from whygrad.kernels.values import F32, I32, Function, Value

_whygrad_internal_ = True

LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4  # their sum is ln 2; the first has few bits, so n * LN2_HIGH is exact

# (exp(r) - 1 - r) / r**2 for |r| <= ln(2) / 2
EXP = [1.991992200853e-04, 1.394721192527e-03, 8.333261580531e-03, 4.166625400280e-02, 1.666666687251e-01, 5.000000082640e-01]
# (log(1 + t) - t + t**2 / 2) / t**3 for sqrt(1/2) <= 1 + t <= sqrt(2)
LOG = [0.067465993333, -0.11679653773, 0.118903234502, -0.12405135526, 0.142192244206, -0.166680068779, 0.200021335858,
       -0.250000096372, 0.333333124151]
# (tanh(x) / x - 1) / x**2 in powers of x**2 for |x| <= 0.625
TANH = [-0.00571704511, 0.02065058737, -0.053743498116, 0.133314912877, -0.333332839253]
# erf(x) / x - 1 in powers of x**2 for |x| <= 0.9277
ERF_NEAR = [-0.00059872355, 0.004992981929, -0.026766905281, 0.112818386839, -0.376124976154, 0.128379150507]
# (log(1 - erf(t)) + t) / t for 0.92 <= t <= 4
ERF_FAR = [-1.123126136556e-05, 3.228034368089e-04, -3.642457433537e-03, 2.376205978629e-02, -1.062368742815e-01,
           -6.351513183021e-01, -1.286484898132e-01]
ERF_SPLIT = 0.9277


def exp(f: Function, x: Value) -> Value:
    bounded = f.choose(x < -104.0, -104.0, f.choose(x > 89.0, 89.0, x))
    n = f.intrinsic("rint", bounded * (1 / math.log(2)))
    r = f.fma(n, -LN2_LOW, f.fma(n, -LN2_HIGH, bounded))
    grown = f.fma(f.polynomial(r, EXP), r * r, r) + 1.0
    power = n.to(I32)
    half = power >> 1
    # In two steps: 2**128 is no float32, and a denormal result must be rounded once.
    return grown * _power_of_two(half) * _power_of_two(power - half)


def _power_of_two(n: Value) -> Value:
    return ((n + 127) << 23).bits_as(F32)


def log(f: Function, x: Value) -> Value:
    tiny = x < 1.17549435e-38
    normal = f.choose(tiny, x * 2.0 ** 23, x)
    bits = normal.bits_as(I32)
    # The exponent for which the mantissa lies between sqrt(1/2) and sqrt(2).
    exponent = (bits - 0x3F3504F3) >> 23
    t = (bits - (exponent << 23)).bits_as(F32) - 1.0
    e = exponent.to(F32) - f.choose(tiny, t.like(23.0), t.like(0.0))
    rest = f.fma(f.polynomial(t, LOG) * t, t * t, e * LN2_LOW)
    result = f.fma(e, LN2_HIGH, f.fma(t * t, -0.5, rest) + t)
    result = f.choose(x.equals(math.inf), math.inf, f.choose(x.equals(0.0), -math.inf, result))
    return f.choose(x >= 0.0, result, x.like(math.nan))


def tanh(f: Function, x: Value) -> Value:
    size = f.intrinsic("fabs", x)
    square = x * x
    near = f.intrinsic("copysign", f.fma(f.polynomial(square, TANH) * square, x, x), x)
    # Exactly 1 from 9.02 on.
    far = f.intrinsic("copysign", 1.0 - 2.0 / (exp(f, size + size) + 1.0), x)
    return f.choose(size < 0.625, near, far)


def sigmoid(f: Function, x: Value) -> Value:
    return 1.0 / (exp(f, -x) + 1.0)


def erf(f: Function, x: Value) -> Value:
    size = f.intrinsic("fabs", x)
    near = f.fma(f.polynomial(x * x, ERF_NEAR), x, x)
    bounded = f.choose(size > 4.0, 4.0, size)
    far = f.intrinsic("copysign", 1.0 - exp(f, f.fma(f.polynomial(bounded, ERF_FAR), bounded, -bounded)), x)
    return f.choose(size > ERF_SPLIT, far, near)
