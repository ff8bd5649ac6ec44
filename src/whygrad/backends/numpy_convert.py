"""ops/convert.py on NumPy arrays."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.memory_order import copy_of
from whygrad.base.platforms import IS_WEBASSEMBLY

# Conversions (pairs of NumPy's type characters) that never warn.
HARMLESS = {*itertools.product("?bBhHiIlLqQ", "?bBhHiIlLqQfd"), *itertools.product("fd", "?d")}


def cast_values(array: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    """Convert as C and torch do: without warnings for NaN to integer or a dropped imaginary part."""
    if (array.dtype.char, wanted.char) in HARMLESS and array.flags.c_contiguous:
        return array.astype(wanted)
    return _cast_quietly(array, wanted)


@quiet
def _cast_quietly(array: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    if array.dtype.kind == "c" and wanted.kind != "c":
        array = array != 0 if wanted.kind == "b" else array.real
    if IS_WEBASSEMBLY and array.dtype.kind == "f" and wanted.kind in "iu":
        array = _integers(array, wanted)
    if wanted.itemsize == 2 and array.dtype == np.float64:
        array = array.astype(np.float32)  # as torch does, which rounds twice
    return copy_of(array, wanted)


def _integers(array: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    """As an x86 processor converts: numbers out of range give the lowest integer. WebAssembly saturates."""
    lowest = np.iinfo(np.int64 if wanted.itemsize == 8 or wanted == np.uint32 else np.int32).min
    inside = (array >= lowest) & (array < -float(lowest))
    return np.where(inside, np.where(inside, array, 0).astype(np.int64), lowest)


def to_copy(x: Any, *, dtype: np.dtype[Any], origin: np.dtype[Any]) -> Any:
    return cast_values(np.asarray(x), dtype)


def complex(real: Any, imag: Any, *, part: np.dtype[Any], whole: np.dtype[Any]) -> Any:
    """A complex array from its parts. Not by `real + 1j * imag`, which spoils infinities and signs of zero."""
    out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), whole)
    out.real, out.imag = real, imag
    return out


def angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.arctan2(x.imag, x.real)
    result = np.where(x < 0, np.asarray(math.pi, x.dtype), np.asarray(0, x.dtype))
    return np.where(x != x, x, result)


angle_complex = angle


def cast_array(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`astype` without NumPy's warning about a dropped imaginary part."""
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    return array.astype(dtype, copy=False)
