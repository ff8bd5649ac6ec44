"""Poisson, binomial and gamma numbers, by rejection sampling.

The number of units per element is known only once it is accepted, and determines where the next element starts. So the
samplers go element by element, over units that are read ahead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad._rng.arrays import Array
from whygrad._rng.continuous import LARGE, Continuous
from whygrad._rng.words import Ahead

_SQUEEZE = float(np.float32(0.0331))


class Rejection(Continuous):
    def poisson(self, rates: Array) -> Array:
        """Double units: one per factor below a rate of 10, above it two per attempt."""
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return self._each(self._poisson, rates.dtype, rates)

    def binomial(self, counts: Array, p: Array) -> Array:
        """Double units: one per success if few are expected, else two per attempt."""
        return self._each(self._binomial, counts.dtype, counts, p)

    def standard_gamma(self, alpha: Array) -> Array:
        """Normals in pairs and double units, after Marsaglia and Tsang."""
        one, boosted = alpha.dtype.type(1), alpha < 1
        with np.errstate(all="ignore"):
            # torch's constants are in single precision, so 1/3 and 0.0331 are rounded
            d = (np.where(boosted, alpha + one, alpha) - alpha.dtype.type(np.float32(1 / 3))).astype(np.float64)
            exponent = np.where(boosted, one / alpha, 0).astype(np.float64)
            samples = self._each(self._gamma, alpha.dtype, d, 1.0 / np.sqrt(9.0 * d), exponent)
        np.maximum(samples, np.finfo(alpha.dtype).tiny, out=samples)
        return samples

    def dirichlet(self, alpha: Array) -> Array:
        """Gammas in float64, divided by their sum over the last axis."""
        gamma = self.standard_gamma(alpha.astype(np.float64))
        share: Array = (gamma / gamma.sum(-1, keepdims=True)).astype(alpha.dtype)
        info = np.finfo(alpha.dtype)
        return share.clip(info.tiny, 1 - info.epsneg)

    def _each(self, sample: Callable[..., float], dtype: np.dtype[Any], *arrays: Array) -> Array:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        elements = zip(*(np.broadcast_to(a, shape).flat for a in arrays), strict=True)
        if math.prod(shape) >= LARGE:
            self._ahead = Ahead(self._bits)
        try:
            samples = np.fromiter((sample(*element) for element in elements), np.float64)
        finally:
            if self._ahead is not None:
                self._ahead.give_back()
                self._ahead = None
        return samples.astype(dtype).reshape(shape)

    def _poisson(self, element: np.floating) -> float:
        rate = float(element)
        if rate < 10:
            floor, product, events = math.exp(-rate), 1.0, 0
            while rate > 0:
                product *= self._double()
                if product <= floor:
                    break
                events += 1
            return events
        # Hoermann's transformed rejection, 1993
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse_alpha, v_r = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
        while True:
            u = self._double() - 0.5
            v = self._double()
            us = 0.5 - abs(u)
            position = (2 * a / us + b) * u + rate + 0.43
            k = math.floor(position) if abs(position) < 2**63 else -2**63  # as C++ makes an int64 of it
            if us >= 0.07 and v <= v_r:
                return k
            if k < 0 or (us < 0.013 and v > us):
                continue
            if _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= (
                -rate + k * math.log(rate) - math.lgamma(k + 1)
            ):
                return k

    def _binomial(self, count: Any, p: Any) -> float:
        if count <= 0 or p <= 0:
            return 0.0
        if p >= 1:
            return float(count)
        if math.isnan(p):
            return math.nan
        if p > 0.5:
            return float(count) - self._binomial_below_half(count, type(p)(1.0 - float(p)))
        return self._binomial_below_half(count, p)

    def _binomial_below_half(self, count: Any, p: Any) -> float:
        one = type(p)(1)  # products of the inputs are rounded to their own type, the rest is double
        if count * p < 10:
            log_miss, position, successes = float(np.log1p(-p)), 0.0, 0
            while True:
                position += math.ceil(_log(self._double()) / log_miss)
                if position > count:
                    return successes
                successes += 1
        # Hoermann's BTRS, 1993
        deviation = float(np.sqrt(count * p * (one - p)))
        ratio, mode = float(p / (one - p)), math.floor((count + one) * p)
        centre, n, q = float(count * p) + 0.5, float(count), float(p)
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * q
        v_r, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
        while True:
            u = self._double() - 0.5
            v = self._double()
            us = 0.5 - abs(u)
            k = math.floor((2 * a / us + b) * u + centre)
            if k < 0 or k > n:
                continue
            if us >= 0.07 and v <= v_r:
                return k
            bound = (
                (mode + 0.5) * math.log((mode + 1) / (ratio * (n - mode + 1)))
                + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
                + (k + 0.5) * math.log(ratio * (n - k + 1) / (k + 1))
                + _stirling_tail(mode)
                + _stirling_tail(n - mode)
                - _stirling_tail(k)
                - _stirling_tail(n - k)
            )
            if _log(v * alpha / (a / (us * us) + b)) <= bound:
                return k

    def _gamma(self, d: float, c: float, exponent: float) -> float:
        """`exponent` is 1/alpha where alpha is below 1 (and was increased by 1), infinite where alpha is 0."""
        if exponent == math.inf:
            return 0.0
        scale = (1 - self._double()) ** exponent if exponent else 1.0
        while True:
            x = self._normal()
            y = 1.0 + c * x
            if y <= 0:
                continue
            v = y * y * y
            u = 1 - self._double()
            if u < 1.0 - _SQUEEZE * x**4 or math.log(u) < 0.5 * x * x + d * (
                1.0 - v + math.log(v)
            ):
                return scale * d * v


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: float) -> float:
    """log(k!) minus Stirling's approximation."""
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
