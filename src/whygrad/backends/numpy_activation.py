"""Activation functions on NumPy arrays, with fewer passes over memory than their definitions need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends import numpy_erf
from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_choice import clip, where

SQRT_HALF = math.sqrt(0.5)
SQRT_TWO_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715

# 0-dim arrays, because NumPy's ufuncs are faster with them than with Python numbers.
ZERO = {np.dtype(d): np.zeros((), d) for d in ("f2", "f4", "f8", "i8", "i4", "i2", "i1", "u1")}
ONE = {np.dtype(d): np.ones((), d) for d in ("f2", "f4", "f8")}
INFINITY = {np.dtype(d): np.full((), np.inf, d) for d in ("f4", "f8")}


def relu(x: Any) -> Any:
    dtype = x.dtype
    return clip(x, ZERO[dtype], INFINITY[dtype]) if dtype in INFINITY else np.maximum(x, 0)


def threshold_backward(grad: Any, x: Any, *, threshold: Any) -> Any:
    return where(np.less_equal(x, ZERO.get(x.dtype, 0) if threshold == 0 else threshold), 0.0, grad)


def leaky_relu(x: Any, *, slope: float) -> Any:
    if 0 < slope < 1:
        return np.maximum(x, x * slope)
    return np.where(x > 0, x, x * slope)


def _one_plus_exp_of_minus(x: Any) -> Any:
    result = np.asarray(np.negative(x))
    np.exp(result, out=result)
    result += ONE.get(result.dtype, 1)
    return result


@quiet
def sigmoid(x: Any) -> Any:
    result = _one_plus_exp_of_minus(x)
    return np.reciprocal(result, out=result)


@quiet
def silu(x: Any) -> Any:
    result = _one_plus_exp_of_minus(x)
    return np.divide(x, result, out=result)


@quiet
def silu_backward(grad: Any, x: Any) -> Any:
    s = _one_plus_exp_of_minus(x)
    np.reciprocal(s, out=s)
    result = np.asarray(1 - s)
    result *= x
    result += 1
    result *= s
    result *= grad
    return result


@quiet
def gelu(x: Any, *, approximate: str) -> Any:
    result = _twice_the_probability(x, approximate)
    result *= x
    result *= 0.5
    return result


def _twice_the_probability(x: Any, approximate: str) -> Any:
    if approximate == "none":
        result = np.asarray(numpy_erf.erf(x * SQRT_HALF))
    else:
        result = np.asarray(x * x)
        result *= x
        result *= CUBIC
        result += x
        result *= SQRT_TWO_OVER_PI
        np.tanh(result, out=result)
    result += 1
    return result


@quiet
def gelu_backward(grad: Any, x: Any, *, approximate: str) -> Any:
    result = _twice_the_probability(x, approximate)
    if approximate == "none":
        density = np.asarray(x * x)
        density *= -0.5
        np.exp(density, out=density)
        density *= SQRT_TWO_OVER_PI / 2
    else:
        # 1 - tanh(u)**2 is (2 - p) * p, with p = 1 + tanh(u); then the derivative of u.
        density = np.asarray(2 - result)
        density *= result
        density *= 0.5
        inner = np.asarray(x * x)
        inner *= 3 * CUBIC
        inner += 1
        inner *= SQRT_TWO_OVER_PI
        density *= inner
    density *= x
    result *= 0.5
    result += density
    result *= grad
    return result
