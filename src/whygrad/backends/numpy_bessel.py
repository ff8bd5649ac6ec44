"""Bessel and Airy functions on arrays, computed in float64 from their integrals and series.

Integrals over a period, or over the real line if the integrand decays, use the trapezoidal rule: its error falls
exponentially with the number of points.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.numpy_special import i0, i1, in_double

Array = Any
Function = Callable[[Array], Array]

EULER = 0.5772156649015329

# Below FAR the integral over a period is used, above it the expansion in 1/x.
FAR = 25.0
ANGLES = np.pi * (np.arange(64) + 0.5) / 128  # midpoints of the steps of a quarter period
SINES = np.sin(ANGLES)


def _coefficients(parity: int, weight: Callable[[Array], Array]) -> Array:
    """Weights w with sum_j w_j f(x sin t_j) = sum_k weight(k) J_{2k + parity}(x), where f is cos (parity 0) or sin."""
    k = np.arange(1, 33)
    harmonics = (np.cos if parity == 0 else np.sin)((2 * k + parity)[:, None] * ANGLES)
    return (weight(k)[:, None] * harmonics).sum(0) / len(ANGLES)


_Y0 = _coefficients(0, lambda k: (-1.0) ** k / k)
_Y1 = _coefficients(1, lambda k: (-1.0) ** k * (2 * k + 1) / (k * (k + 1)))


def _near(order: int, x: Array) -> tuple[Array, Array]:
    """J and Y of positive x below FAR."""
    angles = np.multiply.outer(x, SINES)
    even, log = np.cos(angles), np.log(x / 2) + EULER
    j0 = even.mean(-1)
    if order == 0:
        return j0, 2 / np.pi * (log * j0 - 2 * (even @ _Y0))
    odd = np.sin(angles)
    j1 = odd @ SINES / len(SINES)
    return j1, 2 / np.pi * ((log - 1) * j1 - j0 / x - odd @ _Y1)


def _far(order: int, x: Array) -> tuple[Array, Array]:
    """J and Y of x above FAR by Hankel's expansion."""
    p, q, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 24):
        term = term * (4 * order ** 2 - (2 * k - 1) ** 2) / (8 * k * x)
        if k % 2:
            q += term * (-1) ** (k // 2)
        else:
            p += term * (-1) ** (k // 2)
    # sin and cos of x - (2 order + 1) pi/4 by addition theorems: the subtraction would lose digits of a large x.
    s, c = np.sin(x), np.cos(x)
    sine, cosine = ((s - c), (s + c)) if order == 0 else (-(s + c), (s - c))
    scale = 1 / np.sqrt(np.pi * x)
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


def _first_and_second(order: int) -> tuple[Function, Function]:
    def both(x: Array) -> tuple[Array, Array]:
        size = np.abs(x)
        j, y = np.full_like(size, math.nan), np.full_like(size, math.nan)
        near, far = size < FAR, (size >= FAR) & np.isfinite(size)
        for chosen, method in ((near, _near), (far, _far)):
            if chosen.any():
                j[chosen], y[chosen] = method(order, size[chosen])
        return j, y

    def first(x: Array) -> Array:
        j = both(x)[0]
        return np.where(x < 0, -j, j) if order else j

    def second(x: Array) -> Array:
        y = np.where(x == 0, -math.inf, both(x)[1])
        return np.where(x < 0, math.nan, y)

    return in_double(first), in_double(second)


bessel_j0, bessel_y0 = _first_and_second(0)
bessel_j1, bessel_y1 = _first_and_second(1)

modified_bessel_i0, modified_bessel_i1 = i0, i1

STEPS = np.arange(1, 49) / 48


def _scaled_k(order: float, x: Array) -> Array:
    """exp(x) K(x) for x >= 1: the integral of exp(x - x cosh t) cosh(order t), cut off where it falls to exp(-40)."""
    end = 2 * np.arcsinh(np.sqrt(20 / x))
    t = np.multiply.outer(end, STEPS)
    heights = np.exp(-2 * x[:, None] * np.sinh(t / 2) ** 2) * np.cosh(order * t)
    return end / len(STEPS) * (0.5 + heights.sum(-1))


def _k_near_zero(order: int, x: Array) -> Array:
    """K(x) for small x: the power series with its logarithmic term."""
    quarter, log = x * x / 4, np.log(x / 2)
    total, term, harmonic = np.zeros_like(x), np.ones_like(x), 0.0
    for k in range(20):
        if order == 0:
            total += term * (harmonic - EULER - log)
            term = term * quarter / (k + 1) ** 2
        else:
            total += term * (log + EULER - harmonic - 0.5 / (k + 1))
            term = term * quarter / ((k + 1) * (k + 2))
        harmonic += 1 / (k + 1)
    return total if order == 0 else 1 / x + x / 2 * total


def _modified_second(order: int, scaled: bool) -> Function:
    def k(x: Array) -> Array:
        result = np.full_like(x, math.nan)
        small, large = (x > 0) & (x < 1), x >= 1
        if small.any():
            result[small] = _k_near_zero(order, x[small]) * (np.exp(x[small]) if scaled else 1)
        if large.any():
            result[large] = _scaled_k(order, x[large]) * (1 if scaled else np.exp(-x[large]))
        result[x == 0] = math.inf
        result[x == math.inf] = 0
        return result

    return in_double(k)


modified_bessel_k0, modified_bessel_k1 = _modified_second(0, False), _modified_second(1, False)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _modified_second(0, True), _modified_second(1, True)


@in_double
def spherical_bessel_j0(x: Array) -> Array:
    return np.where(np.isinf(x), 0.0, np.where(np.abs(x) < 1e-4, 1 - x * x / 6, np.sin(x) / np.where(x == 0, 1.0, x)))


@functools.cache
def _airy_path() -> tuple[Array, Array]:
    """Points and weights of Gauss-Legendre quadrature from 0 to 7."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    points = 3.5 * (nodes + 1)
    return points, 3.5 * weights * np.exp(-points ** 3 / 3)


def _airy_middle(x: Array) -> Array:
    """Ai(x) of moderate x: the integral of cos(t**3 / 3 + x t) / pi along its path of steepest descent."""
    points, weights = _airy_path()
    waves = np.exp(np.multiply.outer(x, points * complex(-0.5, math.sqrt(0.75))))
    return (complex(math.sqrt(0.75), 0.5) * (waves @ weights)).real / np.pi


def _airy_far(x: Array) -> Array:
    """Ai(x) of large positive x, by the Bessel function K of order 1/3."""
    zeta = 2 / 3 * x ** 1.5
    return np.sqrt(x / 3) / np.pi * _scaled_k(1 / 3, zeta) * np.exp(-zeta)


def _airy_waves(x: Array) -> Array:
    """Ai(x) of large negative x, by its asymptotic expansion in 1/zeta."""
    zeta = 2 / 3 * (-x) ** 1.5
    even, odd, term = np.ones_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 24):
        term = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)) / zeta
        if k % 2:
            odd += term * (-1) ** (k // 2)
        else:
            even += term * (-1) ** (k // 2)
    phase = zeta + np.pi / 4
    return (np.sin(phase) * even - np.cos(phase) * odd) / (np.sqrt(np.pi) * (-x) ** 0.25)


@in_double
def airy_ai(x: Array) -> Array:
    result = np.full_like(x, math.nan)
    for chosen, method in ((x < -9, _airy_waves), ((x >= -9) & (x <= 2), _airy_middle), (x > 2, _airy_far)):
        chosen &= np.isfinite(x)
        if chosen.any():
            result[chosen] = method(x[chosen])
    return result
