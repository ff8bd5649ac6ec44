"""Pointwise words of the vocabulary on bare NumPy arrays. `quiet` stands where 0, inf or nan are ordinary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends import numpy_erf
from whygrad.backends.fp_warnings import quiet

add = np.add
sub = np.subtract
mul = np.multiply
div = quiet(np.true_divide)
neg = np.negative
hypot = quiet(np.hypot)
atan2 = np.arctan2
copysign = np.copysign
logaddexp2 = quiet(np.logaddexp2)

eq = np.equal
ne = np.not_equal
lt = np.less
le = np.less_equal
gt = np.greater
ge = np.greater_equal
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor


def logical_not(x: Any) -> Any:
    return np.logical_not(x) if x.dtype.kind == "b" else x == 0  # the comparison has vector instructions


bitwise_and = np.bitwise_and
bitwise_or = np.bitwise_or
bitwise_xor = np.bitwise_xor
bitwise_not = np.invert
isnan = np.isnan
isinf = np.isinf
isfinite = np.isfinite
maximum = np.maximum
minimum = np.minimum
fmax = np.fmax
fmin = np.fmin

abs = np.absolute
conj = np.conjugate
deg2rad = np.deg2rad
rad2deg = np.rad2deg
reciprocal = quiet(np.reciprocal)
sqrt = quiet(np.sqrt)
exp = quiet(np.exp)
expm1 = quiet(np.expm1)
log = quiet(np.log)
log2 = quiet(np.log2)
log10 = quiet(np.log10)
log1p = quiet(np.log1p)
sin = quiet(np.sin)
cos = quiet(np.cos)
tan = quiet(np.tan)
asin = quiet(np.arcsin)
acos = quiet(np.arccos)
atan = np.arctan
sinh = quiet(np.sinh)
cosh = quiet(np.cosh)
tanh = np.tanh
asinh = quiet(np.arcsinh)
acosh = quiet(np.arccosh)
atanh = quiet(np.arctanh)
erf = quiet(numpy_erf.erf)
erfc = quiet(numpy_erf.erfc)


@quiet
def rsqrt(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x))


@quiet
def exp2(x: Any) -> Any:
    return np.exp(x * math.log(2)) if x.dtype.kind == "c" else np.exp2(x)


def sgn(x: Any) -> Any:
    """-1, 0 or 1; like torch, 0 for NaN."""
    if x.dtype.kind == "c":
        return np.sign(x)
    return x.copy() if x.dtype.kind == "b" else np.subtract(x > 0, x < 0, dtype=x.dtype)


sign = sgn


def _rounding(ufunc: Any) -> Any:
    """NumPy turns some integers into floats here; they are round already."""
    return lambda x: x.copy() if x.dtype.kind in "iu" else ufunc(x)


floor = _rounding(np.floor)
ceil = _rounding(np.ceil)
round = _rounding(np.rint)
trunc = _rounding(np.trunc)


@quiet
def frac(x: Any) -> Any:
    return x - np.trunc(x)


@quiet
def sinc(x: Any) -> Any:
    return np.sinc(x).astype(x.dtype, copy=False)


def signbit(x: Any) -> Any:
    return np.signbit(x) if x.dtype.kind in "fV" else x < 0


def isposinf(x: Any) -> Any:
    return x == np.inf


def isneginf(x: Any) -> Any:
    return x == -np.inf


def isreal(x: Any) -> Any:
    return np.isreal(x)


@quiet
def round_decimals(x: Any, *, decimals: int) -> Any:
    scale = 10.0 ** (decimals if decimals >= 0 else -decimals)
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


@quiet
def nan_to_num(x: Any, *, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    return np.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


def _check_divisor(b: Any, dtype: Any) -> None:
    """An integer has nothing to give when divided by zero; torch raises."""
    if dtype.kind in "iu" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")


def _are_plain(a: Any, b: Any) -> bool:
    """Integers, and one number to divide them by."""
    return type(b) is int and b != 0 and type(a) is np.ndarray and a.dtype.kind in "iu"


def _whole_quotient(a: Any, b: Any, rounding: Any, limit: int = 2**28) -> Any:
    """Both in double precision, and the quotient rounded to a whole number; None unless that is exact, and worth it.

    The quotient of two float32 below 2**28 is exact enough in double precision not to reach a whole number by rounding, and its
    product with the divisor has no more digits than fit. NumPy's own way takes ten times as long, and rounds quotients above
    2**21 differently.
    """
    if np.result_type(a, b) != np.float32 or np.size(a) < 1024:
        return None
    wide, divisor = np.asarray(a, np.float64), np.asarray(b, np.float64)
    quotient = wide / divisor
    rounding(quotient, out=quotient)
    largest = np.abs(quotient).max()
    return (wide, divisor, quotient) if largest < limit else None


@quiet
def div_rounded(a: Any, b: Any, *, mode: str) -> Any:
    if mode == "floor" and _are_plain(a, b):
        return np.floor_divide(a, b)
    dtype = np.result_type(a, b)
    _check_divisor(b, dtype)
    if mode == "floor":
        wide = _whole_quotient(a, b, np.floor, 2**21)
        return np.floor_divide(a, b) if wide is None else wide[2].astype(dtype)
    if dtype.kind == "f":
        return np.trunc(np.true_divide(a, b))
    return np.floor_divide(a - np.fmod(a, b), b)


@quiet
def remainder(a: Any, b: Any) -> Any:
    if _are_plain(a, b):
        return np.remainder(a, b)
    _check_divisor(b, np.result_type(a, b))
    wide = _whole_quotient(a, b, np.floor)
    return np.remainder(a, b) if wide is None else np.copysign(wide[0] - wide[2] * wide[1], wide[1]).astype(np.float32)


@quiet
def fmod(a: Any, b: Any) -> Any:
    _check_divisor(b, np.result_type(a, b))
    wide = _whole_quotient(a, b, np.trunc)
    return np.fmod(a, b) if wide is None else np.copysign(wide[0] - wide[2] * wide[1], wide[0]).astype(np.float32)


@quiet
def pow(a: Any, b: Any) -> Any:
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    # A negative power of an integer is a fraction, of which torch keeps the integer part.
    negative = b < 0
    if not negative.any():
        return np.power(a, b)
    fraction = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(negative, fraction, np.power(a, np.where(negative, 0, b))).astype(a.dtype)


# The exponents that have something quicker than a logarithm.
_SHORTCUTS: dict[Any, Any] = {
    0: np.ones_like,
    1: np.copy,
    2: np.square,
    3: lambda x: x * x * x,
    0.5: np.sqrt,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / (x * x),
}


@quiet
def pow_number(a: Any, *, exponent: Any) -> Any:
    shortcut = _SHORTCUTS.get(exponent)
    return np.power(a, exponent) if shortcut is None else shortcut(a)


def pow_of_number(b: Any, *, base: Any) -> Any:
    return pow(np.asarray(base, b.dtype), b)


def power_of_zero(a: Any, b: Any) -> Any:
    """Where a power of zero is 0 or 1 and stays so when the exponent moves a little."""
    real = (b.imag == 0) & (b.real >= 0) if b.dtype.kind == "c" else b >= 0
    return (a == 0) & real


@quiet
def xlogy(a: Any, b: Any) -> Any:
    dtype = a.dtype if isinstance(a, np.ndarray) else b.dtype
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    return np.where(np.isnan(b), np.nan, np.where(a == 0, 0.0, a * np.log(b)))


@quiet
def logaddexp(a: Any, b: Any) -> Any:
    if a.dtype.kind != "c":
        if a.size < 1024:
            return np.logaddexp(a, b)
        distance = np.abs(a - b)
        distance[a == b] = 0  # of two infinities as well
        return np.maximum(a, b) + np.log1p(np.exp(-distance))
    larger, smaller = np.where(a.real >= b.real, a, b), np.where(a.real >= b.real, b, a)
    return larger + np.log1p(np.exp(smaller - larger))


@quiet
def lerp(start: Any, end: Any, weight: Any) -> Any:
    """From the nearer side, so that both ends are met exactly."""
    step = end - start
    if not isinstance(weight, np.ndarray):
        return start + step * weight if np.abs(weight) < 0.5 else end - step * (1 - weight)
    return np.where(np.abs(weight) < 0.5, start + step * weight, end - step * (1 - weight))


def bitwise_left_shift(a: Any, b: Any) -> Any:
    return _shift(np.left_shift, a, b, 0)


def bitwise_right_shift(a: Any, b: Any) -> Any:
    return _shift(np.right_shift, a, b, -1)


def _shift(ufunc: Any, a: Any, b: Any, negative: int) -> Any:
    """Shifting out of the type leaves nothing but the sign, also where the machine's instruction would wrap round."""
    a, b = np.asarray(a, np.result_type(a, b)), np.asarray(b, np.result_type(a, b))
    bits = a.dtype.itemsize * 8
    outside = (b < 0) | (b >= bits)
    emptied = np.where(a < 0, negative, 0)
    return np.where(outside, emptied, ufunc(a, np.where(outside, 0, b))).astype(a.dtype)
