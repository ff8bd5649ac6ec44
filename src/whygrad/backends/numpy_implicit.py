"""Implicit reparameterisation: derivatives of gamma and beta samples by their parameters, by quadrature.

At a fixed quantile, F(x; a) = const, a sample x has the derivative dx/da = -(dF/da) / f(x), and dF/da is the integral of
f(t) (log t - E log t) from 0 to x, or minus that from x on. On the side of x where log t does not cross its mean the
integrand has one sign and decays monotonically: nothing cancels, and one rule whose points cover many orders of magnitude
(double exponential: v = width exp(u - exp(-u)), equal steps in u) suits every parameter. Only for a < 1, where almost all of
f is far below the mean, the lower side is used a little beyond that point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.numpy_special import digamma, in_double

Array = Any

_STEP = 0.1
_U = np.arange(-3.6, 9.2, _STEP)
POINTS = np.exp(_U - np.exp(-_U))
WEIGHTS = _STEP * POINTS * (1 + np.exp(-_U))
CHUNK = 1 << 13  # samples per pass: each needs about a hundred points


def _integral(log_density: Any, excess: Any, width: Array, *arguments: Array) -> Array:
    """The integral over v > 0 of exp(log_density(v, ...)) * excess(v, ...), for each sample."""
    width, *flat = [x.ravel() for x in np.broadcast_arrays(width, *arguments)]
    total = np.empty_like(width)
    for at in range(0, total.size, CHUNK):
        part = slice(at, at + CHUNK)
        scale = width[part, None]
        v = scale * POINTS
        columns = [x[part, None] for x in flat]
        total[part] = (np.exp(log_density(v, *columns)) * excess(v, *columns) * scale) @ WEIGHTS
    return total


@in_double
def standard_gamma_grad(alpha: Array, x: Array) -> Array:
    """d x / d alpha for x from Gamma(alpha, 1)."""
    shape = x.shape
    a, x = alpha.ravel(), x.ravel()
    mean_log = digamma(a)
    log_x = np.log(x)
    below = log_x < mean_log + np.maximum(1 / a - 1, 0)
    out = np.empty_like(x)
    for side, chosen in ((_gamma_below, below), (_gamma_above, ~below)):
        if chosen.any():
            out[chosen] = side(a[chosen], x[chosen], log_x[chosen] - mean_log[chosen])
    return out.reshape(shape)


def _gamma_below(a: Array, x: Array, excess: Array) -> Array:
    """t = x exp(-v)"""
    return _integral(lambda v, a, x, e: -a * v - x * np.expm1(-v), lambda v, a, x, e: x * (v - e),
                     1 / (np.maximum(a - x, 0) + np.sqrt(x)), a, x, excess)


def _gamma_above(a: Array, x: Array, excess: Array) -> Array:
    """t = x + v"""
    return _integral(lambda v, a, x, e: (a - 1) * np.log1p(v / x) - v, lambda v, a, x, e: np.log1p(v / x) + e,
                     1 / (1 - (a - 1) / x + np.sqrt(np.abs(a - 1)) / x), a, x, excess)


@in_double
def dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """d x / d alpha / (1 - x) for x from Beta(alpha, total - alpha)."""
    shape = x.shape
    x, a, total = [v.ravel() for v in np.broadcast_arrays(x, alpha, total)]
    b = total - a
    mean_log = digamma(a) - digamma(total)
    log_x = np.log(x)
    below = log_x < np.maximum(mean_log, np.minimum(mean_log + np.maximum(1 / a - 1, 0), math.log(0.3)))
    out = np.empty_like(x)
    for side, chosen in ((_beta_below, below), (_beta_above, ~below)):
        if chosen.any():
            out[chosen] = side(a[chosen], b[chosen], x[chosen], log_x[chosen] - mean_log[chosen])
    return out.reshape(shape)


def _beta_below(a: Array, b: Array, x: Array, excess: Array) -> Array:
    """t = x exp(-v)"""
    odds = x / (1 - x)
    return _integral(lambda v, a, b, odds, e: -a * v + (b - 1) * np.log1p(-odds * np.expm1(-v)),
                     lambda v, a, b, odds, e: odds * (v - e),
                     1 / (np.maximum(a - (b - 1) * odds, 0) + np.sqrt(np.abs(b - 1) * odds * (1 + odds)) + 1e-30),
                     a, b, odds, excess)


def _beta_above(a: Array, b: Array, x: Array, excess: Array) -> Array:
    """1 - t = (1 - x) exp(-v)"""
    odds = (1 - x) / x
    return _integral(lambda v, a, b, odds, e: -b * v + (a - 1) * np.log1p(-odds * np.expm1(-v)),
                     lambda v, a, b, odds, e: e + np.log1p(-odds * np.expm1(-v)),
                     1 / (np.maximum(b - (a - 1) * odds, 0) + np.sqrt(np.abs(a - 1) * odds * (1 + odds)) + 1e-30),
                     a, b, odds, excess)
