"""What the audit looks at in arrays: norms, samples that recognize equal values, whether all numbers are finite."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import numpy as np

from whygrad.why.engine import array_of, is_tensor

# Elements by which an array is recognized.
SAMPLE_SIZE = 64


def sample(t: Any) -> np.ndarray:
    """A few elements of an array, evenly spread: equal arrays have equal samples."""
    flat = array_of(t).reshape(-1)
    step = max(1, -(-flat.size // SAMPLE_SIZE))
    return flat[::step].copy()


def checksum(t: Any) -> int:
    """Of all values of an array: evenly spread ones may all be those of one column, or of the background."""
    return crc32(np.ascontiguousarray(array_of(t)).reshape(-1).view(np.uint8).data)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two samples are equal; not-a-number equals itself."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def norm(t: Any) -> float:
    """The Euclidean norm, in double precision where squares would overflow or vanish."""
    array = array_of(t)
    if array.dtype.kind not in "fc":
        array = array.astype(np.float64)
    total = float(np.vdot(array, array).real)  # BLAS sets no flags: nothing warns of an overflow
    if not 1e-30 < total < 1e30:
        wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        total = float(np.vdot(wide, wide).real)
    return math.sqrt(total)


def is_finite(t: Any) -> bool:
    array = array_of(t)
    if array.dtype.kind not in "fc":
        return True
    with np.errstate(all="ignore"):  # a sum is fast, and finite only then; a few finite sums overflow
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def is_float(t: Any) -> bool:
    return is_tensor(t) and array_of(t).dtype.kind in "fc"
