"""Arithmetic, comparing and choosing, other dtypes, overwriting."""

from __future__ import annotations

import math

import numpy as np
from row_checks import Constant

from row_samples.making import ANY, NAN_IN_TORCH, POSITIVE, Samples, binary, case, imaginary, mask, real, some, whole

SAMPLES: dict[str, Samples] = {}
FLOAT, COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)

# arithmetic

ROUNDED = some(5.3, -7.7, 2.9, -0.4), some(2.0, 2.5, -2.0, -1.5)
SAMPLES |= {
    "add": binary(numbers="right left complex"),
    "sub": binary(numbers="right left complex"),
    "mul": binary(numbers="right left complex"),
    "div": [*binary(b=POSITIVE, numbers="right left complex"), case(real(3), real(3, low=-3, high=-1))],
    "add_scaled": binary(numbers="complex", alpha=2.5),
    "sub_scaled": binary(numbers="complex", alpha=-3),
    "rsub": [*binary(numbers="right complex"), *binary(alpha=2.5)],
    "div_rounded": [case(*ROUNDED, mode=mode) for mode in ("floor", "trunc")] + [case(ROUNDED[0], 1.5, mode="floor")],
    "floor_divide": [case(*ROUNDED, fails=RuntimeError), case(ROUNDED[0], 1.5, fails=RuntimeError),
                     case(1.5, ROUNDED[1], fails=RuntimeError)],
    "floor_divide_inplace": [case(*ROUNDED, fails=RuntimeError)],
    "remainder": [case(*ROUNDED), case(ROUNDED[0], 1.5), case(ROUNDED[0].reshape(2, 2), some(2.0))],
    "remainder_of_number": [case(7.3, ROUNDED[1], fails=RuntimeError)],
    "fmod": [case(*ROUNDED), case(ROUNDED[0], 1.5), case(ROUNDED[0].reshape(2, 2), some(2.0))],
    "pow_number": [
        *(case(real(2, 3), exponent=n) for n in (0, 1, 2, 3, 4, -1, -2, -3)), case(imaginary(3), exponent=2),
        *(case(real(2, 3, low=0.3), exponent=p) for p in (0.5, -0.5, 2.5, 1.0)),
        case(imaginary(3), exponent=1.5 - 0.5j),
        case(some(0.0, 2.0), exponent=2), case(some(0.0, 2.0), exponent=0), case(some(0.0), exponent=0.5, kink=True)],
    "pow": [*binary(POSITIVE, ANY, "complex"), case(real(3), Constant(some(2, 3, -1))),
            case(Constant(some(0, 2, 0)), some(1.5, 2.0, 0.5), **NAN_IN_TORCH),
            case(some(0.0, 0.0), some(0.0, 2.0), kink=True)],
    "pow_of_number": [case(real(2, 3), base=2.5), case(imaginary(3), base=2 - 1j),
                      case(some(1.0, 2.5), base=0.0, **NAN_IN_TORCH)],
    "atan2": [*binary(), case(some(0.0, 1.0), some(0.0, -1.0), kink=True)],
    "hypot": binary(),
    "copysign": [*binary(numbers="right"), case(some(0.0, 2.0), some(-1.0, -2.0), kink=True)],
    "xlogy": [*binary(ANY, POSITIVE, "right left"), case(some(0.0, 1.0), some(2.0, 0.5))],
    "logaddexp": binary(numbers="complex"),
    "logaddexp2": binary(),
    "lerp": [case(real(2, 3), real(3, seed=1), real(2, 1, seed=2)), case(real(2, 3), real(2, 3, seed=1), 0.3),
             case(real(2), real(2, seed=1), 0.8), case(real(), real(seed=1), real(seed=2)),
             case(imaginary(2), imaginary(2, seed=1), imaginary(2, seed=2))],
    "addcmul": [case(real(2, 3), real(3, seed=1), real(2, 1, seed=2), value=0.5),
                case(real(), real(2), real(2, seed=1), value=-2)],
    "addcdiv": [case(real(2, 3), real(3, seed=1), real(2, 1, low=1, seed=2), value=0.5),
                case(real(), real(2), real(2, low=1), value=-2)],
}

# choosing and comparing

TIES = some(1.0, 2.0, -1.0), some(1.0, 1.5, 3.0)
WITH_NAN = some(math.nan, 1.0, math.nan), some(1.0, math.nan, math.nan)
BITS = whole(5, -3, 12), whole(3, 6, 1)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    SAMPLES[_name] = [*binary(numbers="right left"), case(*TIES), case(*BITS)]
    SAMPLES[f"{_name}_inplace"] = [case(*TIES, kink=True), case(real(2, 3), real(3, seed=1)), case(real(2), 1.5)]
for _name in ("logical_and", "logical_or", "logical_xor"):
    SAMPLES[_name] = [case(some(0.0, 1.0, 2.0), some(0.0, 0.0, 3.0)), case(mask(1, 0), mask(1, 1)), case(*BITS)]
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    SAMPLES[_name] = [case(*BITS), case(mask(1, 0), mask(1, 1)), case(BITS[0], 6), case(6, BITS[0])]
for _name in ("maximum", "minimum", "fmax", "fmin"):
    SAMPLES[_name] = [*binary(), case(*TIES, kink=True), case(*WITH_NAN, kink=True)]
SAMPLES |= {
    "bitwise_left_shift": [case(*BITS), case(BITS[0], whole(2, 70, -1)), case(BITS[0], 2), case(2, BITS[1])],
    "bitwise_right_shift": [case(*BITS), case(BITS[0], whole(2, 70, -1)), case(BITS[0], 2), case(2, BITS[1])],
    "logical_not": [case(some(0.0, 2.0)), case(mask(1, 0))],
    "bitwise_not": [case(BITS[0]), case(mask(1, 0))],
    "power_of_zero": [case(some(0.0, 0.0, 2.0), some(1.0, -1.0, 1.0)), case(0.0, some(1.0, -1.0))],
    "where": [case(mask([1, 0, 1], [0, 1, 0]), real(2, 3), real(2, 3, seed=1)),
              case(mask([1], [0]), real(3), real(seed=1)), case(mask(1, 0), 1.5, real(2)),
              case(mask(1, 0), real(2), 0.0),
              case(mask(1, 0, 1, 0).repeat(600), Constant(real(2400)), Constant(real(2400, seed=1)))],
    "clamp": [case(real(2, 3), -0.5, 0.7), case(real(2, 3), None, 0.7), case(real(2, 3), -0.5, None),
              case(real(2, 3), real(3, low=-1, high=0), real(2, 1, low=0, high=1)), case(real(2, 3), real(3), None),
              case(real(2, 3), None, real(3)), case(real(3), 0.5, -0.5), case(real(3), real(3, seed=1), -0.5),
              case(some(-1.0, 0.0, 1.0), -1.0, 1.0, kink=True)],
    "clamp_min": [*binary(numbers="right"), case(*TIES, kink=True)],
    "clamp_max": [*binary(numbers="right"), case(*TIES, kink=True)],
}

# other dtypes, overwriting, random numbers

VALUES = real(2, 3, seed=9)
SAMPLES |= {
    "to_copy": [case(real(2, 3), dtype=FLOAT, origin=FLOAT), case(real(2), dtype=COMPLEX, origin=FLOAT),
                case(imaginary(2), dtype=FLOAT, origin=COMPLEX),
                case(real(2), dtype=np.dtype(np.float32), origin=FLOAT, kink=True)],
    "to_whole": [case(real(2, 3), dtype=np.dtype(np.int64), origin=FLOAT),
                 case(imaginary(2), dtype=np.dtype(bool), origin=COMPLEX)],
    "complex": [case(real(2, 3), real(3, seed=1), part=FLOAT, whole=COMPLEX),
                case(real(), real(seed=1), part=FLOAT, whole=COMPLEX)],
    "polar": [case(real(2, 3, low=0.5), real(3, seed=1), part=FLOAT, whole=COMPLEX)],
    "zeros_like": [case(real(2, 3)), case(real())],
    "copy": [case(real(2, 3), real(2, 3, seed=1))],
    "fill": [case(real(), real(seed=1))],
    "overwrite": [case(real(2, 3), values=VALUES, node="ZeroBackward0")],
    "sampled": [case(real(2, 3), values=VALUES, node="BernoulliBackward0")],
    "sampled_normal": [case(real(2, 3), real(3), values=VALUES), case(1.5, real(2, 3), values=VALUES),
                       case(real(2, 3), 1.5, values=VALUES)],
    "sampled_by_number": [case(real(2, 3), values=VALUES, name="poisson", fails=RuntimeError)],
    "sampled_by_two": [case(real(2, 3), real(3), values=VALUES, name="binomial", fails=RuntimeError)],
    "bernoulli_by_tensor": [case(real(2, 3), real(3), values=VALUES)],
}
