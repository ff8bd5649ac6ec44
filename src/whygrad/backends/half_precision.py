"""float16 and bfloat16: computed in float32 and rounded once, as torch does.

NumPy knows bfloat16 through ml_dtypes, and takes a Python number beside it for float32; float16 it rounds after every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def is_bfloat16(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "V" and x.dtype.itemsize == 2


def is_half(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def rounds_once(function: Callable[..., Any]) -> bool:
    """NumPy's own functions of elements compute float16 and bfloat16 in float32, and round their result."""
    return isinstance(getattr(function, "__wrapped__", function), np.ufunc)


def in_float32(function: Callable[..., Any], is_half: Callable[[Any], bool] = is_half) -> Callable[..., Any]:
    """Computed in float32, and rounded once at the end."""

    def widened(*arrays: Any, **statics: Any) -> Any:
        for x in arrays:
            if getattr(x, "itemsize", 0) == 2 and is_half(x):
                break
        else:
            return function(*arrays, **statics)
        out = function(*[x.astype(np.float32) if is_half(x) else x for x in arrays], **statics)
        return tuple([rounded(y, x.dtype) for y in out]) if isinstance(out, tuple) else rounded(out, x.dtype)

    return widened


def rounded_gradient(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule whose result is rounded to bfloat16 if that is the only floating dtype among its arguments."""

    def rounding(*args: Any) -> Any:
        out = rule(*args)
        for x in args:
            if type(x) is np.ndarray and x.dtype.kind in "fc":
                return out
        floats = [x.dtype for arg in args for x in (arg if isinstance(arg, (tuple, list)) else (arg,))
                  if isinstance(x, np.ndarray) and x.dtype.kind in "fcV"]
        if not floats or not all(dtype.kind == "V" for dtype in floats):
            return out
        return type(out)([rounded(x, floats[0]) for x in out]) if isinstance(out, (tuple, list)) else rounded(out, floats[0])

    return rounding


def rounded(x: Any, dtype: np.dtype) -> Any:
    return x.astype(dtype) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f" else x
