"""Selection between elements on NumPy arrays, without a branch for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    # The ufunc behind np.clip. Unlike np.maximum it is vectorised for constant bounds, and it avoids np.clip's wrapper.
    from numpy._core.umath import clip  # type: ignore[attr-defined]
except ImportError:
    clip = np.clip

# Integer dtypes of the same size, for selection by bit masks, which is faster for more than _MIN_SIZE elements.
_BITS = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
_MIN_SIZE = 1 << 11


def where(condition: Any, a: Any, b: Any) -> Any:
    """np.where; for large arrays without its branch for each element, which an irregular condition mispredicts."""
    array = a if isinstance(a, np.ndarray) and a.ndim else b
    if (not isinstance(array, np.ndarray) or array.size <= _MIN_SIZE or array.dtype not in _BITS
            or condition.shape != array.shape or not (_fits(a, array) and _fits(b, array))):
        return np.where(condition, a, b)
    dtype = array.dtype
    if type(b) is float and b == 0:
        return np.multiply(a.view(_BITS[dtype]), condition).view(dtype)
    if type(a) is float and a == 0:
        return np.multiply(b.view(_BITS[dtype]), ~condition).view(dtype)
    a_bits, b_bits = (np.asarray(x, dtype).view(_BITS[dtype]) for x in (a, b))
    result = np.bitwise_xor(a_bits, b_bits)
    result = np.multiply(result, condition, out=result if result.shape == condition.shape else None)
    result ^= b_bits
    return result.view(dtype)


def _fits(x: Any, array: np.ndarray) -> bool:
    return not isinstance(x, (np.ndarray, np.generic)) or (x.dtype is array.dtype and x.shape in ((), array.shape))


def clamp(x: Any, low: Any, high: Any) -> Any:
    if low is not None and high is not None:
        return clip(x, low, high)
    return np.maximum(x, low) if high is None else np.minimum(x, high)
