"""exp, log and their relatives for float32 vectors, to one or two units in the last place.

NaN and infinities go through as IEEE wants, denormal results are kept. The coefficients are minimax fits on the
intervals named; FMA makes the reductions exact enough.
"""

from __future__ import annotations

import math

from whygrad.kernels.values import F16, F32, F64, I16, I32, Function, Value

# The primitives of machine.py that are written here.
__all__ = ["cos", "erf", "erfc", "erfinv", "exp", "expm1", "gelu_slope", "hypot", "log", "log1p", "normal_cdf", "sigmoid", "sin",
           "tanh"]

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
# Phi(-t) * exp(t**2 / 2) for t >= 0, in powers of u = 1 / (1 + NORMAL_STEP * t); no constant term. Exactly 1/2 at 0.
NORMAL = [0.022870939225, -0.083941020072, 0.071355558932, 0.01860470511, 0.055100049824, 0.091174602509, 0.101190820336,
          0.111954495311, 0.111689850688]
NORMAL_STEP = 0.28
# erfc(x) * exp(x**2) / u for 0 <= x <= 11, in powers of u = 1 / (1 + ERFC_STEP * x)
ERFC = [-0.12955590791, 0.48573645852, -0.51266795363, 0.54821051116, -0.095027461966, 0.21510667765, 0.14828646937,
        0.17072377028, 0.16918741689]
ERFC_STEP = 0.3
# erfinv(x) / x for w = -log(1 - x**2): in powers of w - 2.5 for w <= 5, and of sqrt(w) - 3 beyond
ERFINV_NEAR = [-8.79105648067e-09, 2.32326442904e-08, 4.66170664096e-07, -3.4627047588e-06, -4.96334785524e-06, 0.000218344439429,
               -0.00125274187845, -0.00417738678109, 0.246640286153, 1.50140935928]
ERFINV_FAR = [-0.0001654313899, 8.611053593e-05, 0.001300228837, -0.003660139997, 0.005761797498, -0.007625303739,
              0.009435622682, 1.001674183, 2.83297699]
# (sin(r) / r - 1) / r**2 and (cos(r) - 1 + r**2 / 2) / r**4 in powers of r**2 for |r| <= pi/4
SIN = [2.716603057e-06, -0.0001983915051, 0.008333328794, -0.1666666664]
COS = [-2.719141851e-07, 2.479928248e-05, -0.001388888281, 0.04166666661]
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)  # in two float64 numbers


def exp(f: Function, x: Value, positive: bool = False) -> Value:
    """`positive`: x is never less than 0."""
    r, n = _reduced(f, x, None if positive else -104.0)
    return _scaled(f, f.fma(f.polynomial(r, EXP), r * r, r) + 1.0, n)


def expm1(f: Function, x: Value) -> Value:
    r, n = _reduced(f, x, -20.0)
    grown = f.fma(f.polynomial(r, EXP), r * r, r)
    half = _power_of_two(n.to(I32) - 1)  # 2**128 is no float32
    result = f.fma(grown, half, half - 0.5) * 2.0
    return f.choose(x.equals(0.0), x, f.choose(n.equals(0.0), grown, result))


def _reduced(f: Function, x: Value, lowest: float | None) -> tuple[Value, Value]:
    """(r, n) with x = r + n * ln 2, of numbers so large that exp overflows the bound, NaN stays in r."""
    bounded = f.choose(x > 89.0, 89.0, x)
    if lowest is not None:
        bounded = f.choose(x < lowest, lowest, bounded)
    n = f.intrinsic("rint", bounded * (1 / math.log(2)))
    return f.fma(n, -LN2_LOW, f.fma(n, -LN2_HIGH, bounded)), n


def _scaled(f: Function, x: Value, n: Value) -> Value:
    """x * 2**n, rounded once, for n from -150 to 129."""
    if x.lanes == 16 and x.kind.element == F32:  # AVX-512 has it as an instruction
        every, nearest = f.constant(-1, I16), f.constant(4, I32)
        return f.call("llvm.x86.avx512.mask.scalef.ps.512", x.kind, x, n, x, every, nearest)
    power = n.to(I32)
    half = power >> 1
    # In two steps: 2**128 is no float32, and a denormal result must be rounded once.
    return x * _power_of_two(half) * _power_of_two(power - half)


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


def log1p(f: Function, x: Value) -> Value:
    """log(1 + x), and what was lost when 1 was added."""
    grown = x + 1.0
    lost = f.choose(grown.equals(0.0), 0.0, (x - (grown - 1.0)) / grown)
    return f.choose(x.equals(0.0) | x.equals(math.inf), x, log(f, grown) + lost)


def hypot(f: Function, a: Value, b: Value) -> Value:
    """In float64 no square is too large or too small. Infinite if either is, even beside a NaN."""
    x, y = a.to(F64), b.to(F64)
    far = f.intrinsic("fabs", a).equals(math.inf) | f.intrinsic("fabs", b).equals(math.inf)
    return f.choose(far, math.inf, f.intrinsic("sqrt", f.fma(x, x, y * y)).to(F32))


def tanh(f: Function, x: Value) -> Value:
    size = f.intrinsic("fabs", x)
    square = x * x
    near = f.fma(f.polynomial(square, TANH) * square, x, x)
    # Exactly 1 from 9.02 on.
    far = 1.0 - 2.0 / (exp(f, size + size, positive=True) + 1.0)
    return f.intrinsic("copysign", f.choose(size < 0.625, near, far), x)


def sigmoid(f: Function, x: Value) -> Value:
    return 1.0 / (exp(f, -x) + 1.0)


def erf(f: Function, x: Value) -> Value:
    size = f.intrinsic("fabs", x)
    near = f.fma(f.polynomial(x * x, ERF_NEAR), x, x)
    bounded = f.choose(size > 4.0, 4.0, size)
    far = f.intrinsic("copysign", 1.0 - exp(f, f.fma(f.polynomial(bounded, ERF_FAR), bounded, -bounded)), x)
    return f.choose(size > ERF_SPLIT, far, near)


def erfc(f: Function, x: Value) -> Value:
    """Accurate also where it is tiny: what the square's rounding lost is put back."""
    size = f.intrinsic("fabs", x)
    bounded = f.choose(size > 11.0, 11.0, size)
    square = bounded * bounded
    lost = f.fma(bounded, bounded, -square)
    bell = exp(f, -square)
    u = 1.0 / f.fma(bounded.to(F64), ERFC_STEP, 1.0)
    tail = f.polynomial(u, ERFC) * u * bell.to(F64) * (1.0 - lost.to(F64))
    return f.choose(x < 0.0, 2.0 - tail, tail).to(F32)


def erfinv(f: Function, x: Value) -> Value:
    w = -log(f, (1.0 - x) * (x + 1.0))
    factor = f.variable(f.polynomial((w - 2.5).to(F64), ERFINV_NEAR))
    with f.when(f.any(w > 5.0)):
        far = f.polynomial((f.intrinsic("sqrt", w) - 3.0).to(F64), ERFINV_FAR)
        factor.set(f.choose(w > 5.0, far, factor.get()))
    result = (factor.get() * x.to(F64)).to(F32)
    return f.choose(f.intrinsic("fabs", x).equals(1.0), x * math.inf, result)


def normal_cdf(f: Function, x: Value) -> Value:
    """The probability that a normal variable is below x. Small ones are accurate, too."""
    below = _normal_tail(f, x)[0]
    return f.choose(x > 0.0, 1.0 - below, below)


def gelu_slope(f: Function, x: Value) -> Value:
    """The derivative of x * normal_cdf(x)."""
    below, bell = _normal_tail(f, x)
    return f.fma(x * (1 / math.sqrt(2 * math.pi)), bell, f.choose(x > 0.0, 1.0 - below, below))


def _normal_tail(f: Function, x: Value) -> tuple[Value, Value]:
    """(Phi(-|x|), exp(-x**2 / 2))"""
    bell = exp(f, x * x * -0.5)
    u = 1.0 / f.fma(f.intrinsic("fabs", x), NORMAL_STEP, 1.0)
    return f.polynomial(u, NORMAL) * u * bell, bell


def sin(f: Function, x: Value) -> Value:
    return f.choose(x.equals(0.0), x, _wave(f, x, 0, "sin"))  # -0 is kept


def cos(f: Function, x: Value) -> Value:
    return _wave(f, x, 1, "cos")


def _wave(f: Function, x: Value, quarters: int, exactly: str) -> Value:
    """sin(x + quarters * pi / 2). Turns are taken off in float64; what has too many for that is left to C's own function."""
    wide = x.to(F64)
    n = f.intrinsic("rint", wide * (2 / math.pi))
    r = f.fma(n, -HALF_PI[1], f.fma(n, -HALF_PI[0], wide)).to(F32)
    turn = (n - f.intrinsic("floor", n * 0.25) * 4.0).to(I32) + quarters
    square = r * r
    by_sin = f.fma(f.polynomial(square, SIN) * square, r, r)
    by_cos = f.fma(f.polynomial(square, COS) * square, square, f.fma(square, -0.5, 1.0))
    size = f.choose((turn & 1).equals(0), by_sin, by_cos)
    result = f.variable(f.choose((turn & 2).equals(0), size, -size))
    many = f.intrinsic("fabs", x) > 2.0 ** 45
    with f.when(f.any(many)):
        exact = result.get()
        for lane in range(x.lanes):
            value = f.call(exactly, F64, x.lane(lane).to(F64)).to(F32)
            exact = f.with_lane(exact, lane, f.choose(many.lane(lane), value, exact.lane(lane)))
        result.set(exact)
    return result.get()


def load_half(f: Function, code: str, place: Value, where: Value, width: int) -> Value:
    """float16 or bfloat16 as float32, exactly."""
    if code == "f2":
        return f.load(F16, place, where, width).to(F32)
    return (f.load(I16, place, where, width).to(I32) << 16).bits_as(F32)


def as_float16_bits(f: Function, x: Value) -> Value:
    return x.to(F16)


def as_bfloat16_bits(f: Function, x: Value) -> Value:
    """The upper half, rounded to the nearest, of two equally near ones to the even one."""
    bits = x.bits_as(I32)
    odd = (bits >> 16) & 1
    return f.choose(x.differs(x), 0x7FC0, (bits + odd + 0x7FFF) >> 16).to(I16)


def as_float16(f: Function, x: Value) -> Value:
    return as_float16_bits(f, x).to(F32)


def as_bfloat16(f: Function, x: Value) -> Value:
    return (as_bfloat16_bits(f, x).to(I32) << 16).bits_as(F32)
