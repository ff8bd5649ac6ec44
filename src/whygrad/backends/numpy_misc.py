"""ops/misc.py and ops/inplace.py on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

gcd, lcm = np.gcd, np.lcm
nextafter = quiet(np.nextafter)


@quiet
def heaviside(a: Any, b: Any) -> Any:
    return np.where(a == 0, b, (a > 0).astype(a.dtype))


def frexp(x: Any) -> Any:
    mantissa, exponent = np.frexp(x)
    finite = np.isfinite(x)
    return mantissa, np.where(finite, exponent, 0).astype(np.int32)


@quiet
def isclose(a: Any, b: Any, *, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = a == b
    if equal_nan:
        close |= (a != a) & (b != b)
    if a.dtype.kind == "b":
        return close
    difference, allowed = np.abs(a - b), atol + np.abs(rtol * b)
    return close | (np.isfinite(difference) & (difference <= allowed))


def isin(x: Any, tests: Any, *, invert: bool) -> Any:
    return np.isin(x, tests, invert=invert)


def filled(x: Any, value: Any) -> Any:
    return np.full_like(x, value)


def hash_tensor(x: Any, *, axis: Any, keepdims: bool) -> Any:
    bits = x.astype(np.float64 if x.dtype.kind == "f" else np.int64).view(np.uint64)
    xor: Any = np.bitwise_xor.reduce
    return xor(bits, axis=axis, keepdims=keepdims)


zeros_like = np.zeros_like


def copy(x: Any, src: Any) -> Any:
    return src  # broadcast by the in-place write


def overwrite(x: Any, *, values: Any, node: str) -> Any:
    return values
