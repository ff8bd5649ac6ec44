"""Pointwise rows on NumPy arrays. `quiet` marks functions for which 0, inf or nan are ordinary arguments."""

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


def copysign(a: Any, b: Any) -> Any:
    return np.copysign(a, b)  # wrapped, because it does not accept bfloat16: a plain ufunc would not be given float32


def logical_not(x: Any) -> Any:
    return np.logical_not(x) if x.dtype.kind == "b" else x == 0  # unlike logical_not, the comparison is vectorised


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


@quiet
def log1p(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.log1p(x)
    # Near zero 1 + x is rounded to 1; its absolute value squared less 1 is not.
    real, imag = x.real, x.imag
    near = np.log1p(real * (2 + real) + imag * imag) / 2 + 1j * np.arctan2(imag, real + 1)
    return np.where(np.abs(x) < 0.5, near, np.log1p(x)).astype(x.dtype, copy=False)[()]


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
    """-1, 0 or 1; 0 for NaN, as in torch."""
    if x.dtype.kind == "c":
        return np.sign(x)
    return x.copy() if x.dtype.kind == "b" else np.subtract(x > 0, x < 0, dtype=x.dtype)


sign = sgn


def _rounding(ufunc: Any) -> Any:
    """The rounding ufunc, applied to floats only: NumPy converts some integers to floats here."""
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
    """Raise torch's error for integer division by zero."""
    if dtype.kind in "iu" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")


def _are_plain(a: Any, b: Any) -> bool:
    """Whether `a` is an array of integers and `b` a nonzero Python integer."""
    return type(b) is int and b != 0 and type(a) is np.ndarray and a.dtype.kind in "iu"


def _whole_quotient(a: Any, b: Any, rounding: Any, limit: int = 2**28) -> Any:
    """(a, b, quotient rounded to an integer), all in float64; None where that is not exact or not faster.

    The float64 quotient of two float32 is exact enough below 2**28 not to be rounded up to an integer, and its product with the
    divisor fits the mantissa. NumPy's own functions take ten times as long, and round quotients above 2**21 differently.
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
    # torch truncates negative powers of integers.
    negative = b < 0
    if not negative.any():
        return np.power(a, b)
    fraction = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(negative, fraction, np.power(a, np.where(negative, 0, b))).astype(a.dtype)


# Exponents for which there is a faster function than pow.
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
    """Mask of the zeros with a real exponent >= 0, where the derivative by the exponent is 0."""
    real = (b.imag == 0) & (b.real >= 0) if b.dtype.kind == "c" else b >= 0
    return (a == 0) & real


@quiet
def xlogy(a: Any, b: Any) -> Any:
    dtype = a.dtype if isinstance(a, np.ndarray) else b.dtype
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    # float16 and bfloat16 are rounded after the logarithm and after the product, as by torch.
    return np.where(np.isnan(b), np.nan, np.where(a == 0, 0.0, a * np.log(b))).astype(dtype, copy=False)


@quiet
def logaddexp(a: Any, b: Any) -> Any:
    if a.dtype.kind != "c":
        if a.size < 1024:
            return np.logaddexp(a, b)
        distance = np.abs(a - b)
        distance[a == b] = 0  # inf - inf is NaN
        return np.maximum(a, b) + np.log1p(np.exp(-distance))
    larger, smaller = np.where(a.real >= b.real, a, b), np.where(a.real >= b.real, b, a)
    return larger + np.log1p(np.exp(smaller - larger))


@quiet
def lerp(start: Any, end: Any, weight: Any) -> Any:
    """Interpolate from the nearer end, so that both ends are exact."""
    step = end - start
    if not isinstance(weight, np.ndarray):
        return start + step * weight if np.abs(weight) < 0.5 else end - step * (1 - weight)
    return np.where(np.abs(weight) < 0.5, start + step * weight, end - step * (1 - weight))


def bitwise_left_shift(a: Any, b: Any) -> Any:
    return _shift(np.left_shift, a, b, 0)


def bitwise_right_shift(a: Any, b: Any) -> Any:
    return _shift(np.right_shift, a, b, -1)


def _shift(ufunc: Any, a: Any, b: Any, negative: int) -> Any:
    """Shifts by the width of the dtype or more leave only the sign, although the machine instruction wraps the count."""
    a, b = np.asarray(a, np.result_type(a, b)), np.asarray(b, np.result_type(a, b))
    bits = a.dtype.itemsize * 8
    outside = (b < 0) | (b >= bits)
    emptied = np.where(a < 0, negative, 0)
    return np.where(outside, emptied, ufunc(a, np.where(outside, 0, b))).astype(a.dtype)
