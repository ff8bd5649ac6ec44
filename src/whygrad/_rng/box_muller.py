"""Normals from pairs of uniform numbers, in single precision with torch's own logarithm, sine and cosine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whygrad._rng.arrays import Array
from whygrad.base import cephes


def box_muller_double(blocks: Array) -> Array:
    radius, angle = np.sqrt(-2.0 * np.log(1.0 - blocks[:, 0])), 2.0 * math.pi * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def box_muller_single(blocks: Array) -> Array:
    radius = np.sqrt(np.float32(-2) * log_single(np.float32(1) - blocks[:, 0]))
    sine, cosine = sincos_single(np.float32(2 * math.pi) * blocks[:, 1])
    return np.stack([radius * cosine, radius * sine], 1)


# The single precision logarithm, sine and cosine below are Cephes' (Stephen Moshier), in the order of steps
# that torch's vector code has. NumPy's own are as accurate, but one normal in seven would differ in the last bit.


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Horner's scheme in float32 with fused steps. A product of two float32 is exact in float64."""
    wide = x.astype(np.float64)
    step, y = np.empty_like(wide), np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        step[...] = y
        step *= wide
        step += c
        y[...] = step
    return y


LOGARITHM, COSINE, SINE = (np.array(table, np.float32).tolist() for table in (cephes.LOGARITHM, cephes.COSINE, cephes.SINE))


def log_single(x: Array) -> Array:
    fraction, exponent = np.frexp(x)
    low = fraction < np.float32(math.sqrt(0.5))
    e = (exponent - low).astype(np.float32)
    x = np.where(low, fraction + fraction, fraction) - np.float32(1)
    square = x * x
    y = (_polynomial(x, LOGARITHM) * x).astype(np.float64) * square
    y = (y + e * np.float32(-2.12194440e-4)).astype(np.float32)  # the low part of log 2, then the high one
    result: Array = x + (y - square * np.float32(0.5)) + e * np.float32(0.693359375)
    return result


def sincos_single(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of x >= 0 in single precision."""
    octant = (x * np.float32(4 / math.pi)).astype(np.int32) + 1 & ~1
    y = octant.astype(np.float32)
    x = x + y * np.float32(-0.78515625) + y * np.float32(-2.4187564849853515625e-4)
    x = (y.astype(np.float64) * float(np.float32(-3.77489497744594108e-8)) + x).astype(np.float32)
    square = x * x
    wide = square.astype(np.float64)
    near_one = (_polynomial(square, COSINE) * square * wide - wide * 0.5).astype(np.float32) + np.float32(1)
    near_zero = ((_polynomial(square, SINE) * square).astype(np.float64) * x + x).astype(np.float32)
    upright = octant & 2 == 0
    sine, cosine = np.where(upright, near_zero, near_one), np.where(upright, near_one, near_zero)
    sine.view(np.int32)[...] ^= (octant & 4) << 29  # moves the 4 to the sign bit
    cosine.view(np.int32)[...] ^= (octant + 2 & 4) << 29
    return sine, cosine
