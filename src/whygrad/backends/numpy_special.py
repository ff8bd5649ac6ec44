"""The gamma function's family, the inverse error function and Bessel functions, which NumPy lacks.

Everything is computed in double precision on whole arrays: by recurrences that shift the argument to where an asymptotic
series (Bernoulli numbers) is accurate, by reflection for negative arguments, and by power series near zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_erf import erf, erfc

Array = Any

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)  # B2, B4, ...
FAR = 10.0  # beyond it, the asymptotic series below are accurate to double precision
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def in_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute in float64 without warnings, and convert the result to the dtype of the arguments."""

    def wrapped(*arrays: Array, **statics: Any) -> Array:
        dtype = next(x.dtype for x in arrays if hasattr(x, "dtype"))  # the others are Python numbers
        result = function(*[np.asarray(x, np.float64) for x in arrays], **statics)
        return np.asarray(result).astype(dtype, copy=False)

    wrapped.__name__ = function.__name__
    return quiet(wrapped)


def stepwise_in_half(function: Callable[..., Array]) -> Callable[..., Array]:
    """Like `in_double`, but float16 and bfloat16 are rounded after each step, as by torch."""
    wider = in_double(function)

    def wrapped(*arrays: Array) -> Array:
        dtype = next(x.dtype for x in arrays if hasattr(x, "dtype"))
        if dtype.itemsize != 2:
            return wider(*arrays)
        return function(*[np.asarray(x, dtype) for x in arrays]).astype(dtype, copy=False)

    wrapped.__name__ = function.__name__
    return quiet(wrapped)


def polynomial(x: Array, lowest_first: Sequence[float]) -> Array:
    result = np.full_like(x, lowest_first[-1])
    for coefficient in lowest_first[-2::-1]:
        result *= x
        result += coefficient
    return result


def hurwitz_zeta(s: Array, q: Array) -> Array:
    """The sum of (q + k)**-s over k = 0, 1, ...: term by term until q + k is large, then the Euler-Maclaurin formula."""
    s, q = np.broadcast_arrays(s, q)
    a = q.copy()
    total = np.zeros_like(a)
    near = a < FAR + s
    while near.any():
        term = np.where(near, a ** -s, 0)
        total += term
        a = a + near
        # For a large s the terms soon become negligible.
        near &= (a < FAR + s) & ((a <= 1) | (np.abs(term) > 1e-40 * np.abs(total)))
    complete = (a < FAR + s) & (total != 0)
    power = np.where(complete, 0, a ** -s)
    total += power * (a / (s - 1) + 0.5)
    rising, factorial = s, 2.0  # s (s + 1) ... (s + 2 j - 2), and (2 j)!
    for j, number in enumerate(BERNOULLI, 1):
        power = power / a if j == 1 else power / (a * a)
        total += np.where(complete, 0, number / factorial * rising * power)
        rising = rising * (s + (2 * j - 1)) * (s + 2 * j)
        factorial *= (2 * j + 1) * (2 * j + 2)
    return total


@in_double
def zeta(x: Array, q: Array) -> Array:
    pole = (q <= 0) & (q == np.floor(q))
    value = hurwitz_zeta(x, np.where(np.isfinite(q) & ~pole, q, 1.0))
    value = np.where(np.isinf(q), np.where(q > 0, 0.0, np.nan), value)
    value = np.where(pole, np.inf, np.where((q < 0) & (x != np.floor(x)), np.nan, value))
    return np.where((x < 1) | np.isnan(q), np.nan, np.where(x == 1, np.inf, value))


# lgamma(2 + z) = (1 - Euler's constant) z + sum of (-z)**k (zeta(k) - 1) / k; 27 terms suffice for |z| <= 1/2.
_ORDERS = np.arange(2, 29)
NEAR_TWO = (0.0, 1 - 0.57721566490153286061,
            *((-1.0) ** _ORDERS * hurwitz_zeta(_ORDERS.astype(float), np.array(2.0)) / _ORDERS))
STIRLING = [number / (2 * k * (2 * k - 1)) for k, number in enumerate(BERNOULLI, 1)]


def _lgamma_of_positive(x: Array) -> Array:
    near = x < 2.5
    if near.all():
        return _lgamma_near_two(x)
    result = np.empty_like(x)
    result[near] = _lgamma_near_two(x[near])
    far = ~near
    result[far] = _lgamma_far(x[far])
    return result


def _lgamma_near_two(small: Array) -> Array:
    steps = (small < 1.5).astype(float) + (small < 0.5)  # of the recurrence, to the interval around 2
    z = small + (steps - 2)  # exact, unlike (small + steps) - 2
    result = polynomial(z, NEAR_TWO)
    result -= np.where(steps > 0, np.log1p(z), 0) + np.where(steps > 1, np.log(small), 0)
    return result


def _lgamma_far(x: Array) -> Array:
    close = x < FAR
    product = x.copy()
    for k in range(1, 8):
        product *= x + k
    far = np.where(close, x + 8, x)
    large = (far - 0.5) * np.log(far) - far + HALF_LOG_TWO_PI + polynomial(1 / (far * far), STIRLING) / far
    return np.where(np.isinf(x), x, np.where(close, large - np.log(product), large))


def _sine_of_pi(x: Array) -> Array:
    """sin(pi x) up to the sign, exact at the integers."""
    return np.sin(np.pi * np.abs(x - np.rint(x)))


@in_double
def lgamma(x: Array) -> Array:
    negative = x < 0
    size = np.where(negative, -x, x)
    value = _lgamma_of_positive(size)
    if negative.any():
        reflected = math.log(math.pi) - np.log(_sine_of_pi(size) * size) - value
        # Near 0 the product underflows, and there both are -log(size); what has no room for a fraction is a pole.
        value = np.where(negative & (size > 1e-150), np.where(np.isinf(value), np.inf, reflected), value)
    return value


@in_double
def digamma(x: Array) -> Array:
    negative = x < 0
    a = np.where(negative, 1 - x, x)
    value = np.zeros_like(a)
    if (a < FAR).any():
        for k in range(10):
            value -= 1 / (a + k)
        a = a + FAR
    value += np.log(a) - 0.5 / a - polynomial(1 / (a * a), DIGAMMA) / (a * a)
    value = np.where(np.isinf(x), x, value)
    if negative.any():
        whole = x == np.floor(x)
        part = x - np.round(x)
        value = np.where(negative, np.where(whole, np.nan, value - np.pi / np.tan(np.pi * part)), value)
    return np.where(x == 0, np.copysign(np.inf, -x), value)


DIGAMMA = [number / (2 * k) for k, number in enumerate(BERNOULLI, 1)]


def _trigamma_of_positive(a: Array) -> Array:
    value = np.zeros_like(a)
    if (a < FAR).any():
        for k in range(10):
            value += 1 / (a + k) ** 2
        a = a + FAR
    square = 1 / (a * a)
    return value + 1 / a + 0.5 * square + polynomial(square, BERNOULLI) * square / a


@in_double
def polygamma(x: Array, *, n: int) -> Array:
    if n == 0:
        return digamma(x)
    if n == 1:
        reflect = x < 0.5
        value = _trigamma_of_positive(np.where(reflect, 1 - x, x))
        return np.where(reflect, (np.pi / np.where(reflect, _sine_of_pi(x), 1)) ** 2 - value, value)
    return (-1) ** (n + 1) * math.factorial(n) * zeta(np.array(n + 1.0), x)


def _inverse_erf(size: Array, rest: Array, steps: int = 2) -> Array:
    """erfinv for 0 <= size <= 1, where rest = 1 - size: Winitzki's formula, then Halley's method on erf or erfc.

    The formula is accurate to two digits, and each step triples their number.
    """
    logarithm = np.log(rest * (1 + size))
    a = 2 / (np.pi * 0.147) + logarithm / 2
    guess = np.where(rest > 0, np.sqrt(np.maximum(np.sqrt(a * a - logarithm / 0.147) - a, 0)), 0)
    inner = size < 0.5
    outer = ~inner
    excess = np.empty_like(guess)
    for _ in range(steps):
        excess[inner] = erf(guess[inner]) - size[inner]
        excess[outer] = rest[outer] - erfc(guess[outer])
        step = excess * (math.sqrt(math.pi) / 2) * np.exp(guess * guess)
        guess = guess - step / (1 + guess * step)
    return np.where(rest == 0, np.inf, guess)


@quiet
def erfinv(x: Array) -> Array:
    wide = np.asarray(x, np.float64)
    size = np.minimum(np.abs(wide), 1)
    value = np.copysign(_inverse_erf(size, 1 - size, 2 if x.dtype == np.float64 else 1), wide)
    return np.where(np.abs(wide) <= 1, value, np.nan).astype(x.dtype, copy=False)


@in_double
def ndtri(x: Array) -> Array:
    """The inverse of the standard normal distribution function."""
    tail = 2 * np.minimum(x, 1 - x)
    value = math.sqrt(2) * _inverse_erf(1 - tail, tail)
    return np.where((x >= 0) & (x <= 1), np.where(x < 0.5, -value, value), np.nan)


@in_double
def erfcx(x: Array) -> Array:
    """exp(x * x) erfc(x), by an asymptotic series where erfc underflows."""
    near = np.minimum(x, 10)
    far = 1 / np.maximum(x, 10) ** 2
    series = polynomial(far, ERFCX) / (math.sqrt(math.pi) * np.maximum(x, 10))
    return np.where(x < 10, np.exp(near * near) * erfc(near), series)


ERFCX = [(-0.5) ** k * math.prod(range(1, 2 * k, 2)) for k in range(12)]


@in_double
def log_ndtr(x: Array) -> Array:
    low = np.minimum(x, -1) / -math.sqrt(2)
    return np.where(x < -1, np.log(erfcx(low) / 2) - low * low, np.log1p(-erfc(np.maximum(x, -1) / math.sqrt(2)) / 2))


@stepwise_in_half
def xlog1py(x: Array, y: Array) -> Array:
    return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log1p(y))


@stepwise_in_half
def entr(x: Array) -> Array:
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0.0, np.where(np.isnan(x), x, -np.inf)))


def _bessel(order: int) -> Callable[[Array], Array]:
    """exp(-|x|) I_order(x): the power series up to 20, Hankel's asymptotic series beyond."""
    power = [0.25 ** k / (math.factorial(k) * math.factorial(k + order)) for k in range(70)]
    hankel = [1.0]
    for k in range(1, 25):
        hankel.append(-hankel[-1] * (4 * order ** 2 - (2 * k - 1) ** 2) / (8 * k))

    def scaled(x: Array) -> Array:
        size = np.abs(x)
        small, large = np.minimum(size, 20), np.maximum(size, 20)
        near = polynomial(small * small, power) * np.exp(-small)
        far = polynomial(1 / large, hankel) / (math.sqrt(2 * math.pi) * np.sqrt(large))
        return np.where(size <= 20, near * (x / 2) ** order, far * np.sign(x) ** order)

    return scaled


_scaled_0, _scaled_1 = _bessel(0), _bessel(1)
i0e, i1e = in_double(_scaled_0), in_double(_scaled_1)
i0 = in_double(lambda x: _scaled_0(x) * np.exp(np.abs(x)))
i1 = in_double(lambda x: _scaled_1(x) * np.exp(np.abs(x)))


@in_double
def gammainc(a: Array, x: Array) -> Array:
    return _incomplete_gamma(a, x, upper=False)


@in_double
def gammaincc(a: Array, x: Array) -> Array:
    return _incomplete_gamma(a, x, upper=True)


def _incomplete_gamma(a: Array, x: Array, upper: bool) -> Array:
    a, x = np.broadcast_arrays(a, x)
    ordinary = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    from_below = ordinary & (x < a + 1)
    from_above = ordinary & ~from_below
    result = np.full(a.shape, np.nan)
    edge = (a >= 0) & (x >= 0) & ~ordinary & ~((a == 0) & (x == 0)) & ~(np.isinf(a) & np.isinf(x))
    result[edge] = ((x == np.inf) | (a == 0))[edge] != upper
    for chosen, formula, is_upper in ((from_below, _lower_series, False), (from_above, _upper_fraction, True)):
        if chosen.any():
            value = formula(a[chosen], x[chosen])
            value *= np.exp(a[chosen] * np.log(x[chosen]) - x[chosen] - lgamma(a[chosen]))
            result[chosen] = value if upper == is_upper else 1 - value
    return result


def _lower_series(a: Array, x: Array) -> Array:
    term = 1 / a
    total, k = term.copy(), 1
    while (term > 1e-17 * total).any():
        term = term * (x / (a + k))
        total += term
        k += 1
    return total


def _upper_fraction(a: Array, x: Array) -> Array:
    """Legendre's continued fraction for the upper incomplete gamma function, by Lentz's method."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    h, k = d.copy(), 1
    change = np.full_like(x, 2.0)
    while (np.abs(change - 1) > 1e-15).any() and k < 100_000:
        b = b + 2
        factor = k * (a - k)
        d = 1 / (factor * d + b)
        c = b + factor / c
        change = c * d
        h *= change
        k += 1
    return h
