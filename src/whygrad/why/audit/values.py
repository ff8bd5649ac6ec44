"""What the audit looks at in arrays: norms, samples that recognize equal values, whether all numbers are finite."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import numpy as np

from whygrad.why import engine
from whygrad.why.engine import array_of, is_tensor, kind_of
from whygrad.why.gradient_flow import known_squares

# Elements by which an array is recognized.
SAMPLE_SIZE = 64
# Bytes from which on a checksum is that of a sum and of some elements.
LARGE = 1 << 15


def sample(t: Any) -> np.ndarray:
    """A few elements of an array, evenly spread: equal arrays have equal samples."""
    flat = array_of(t).reshape(-1)
    return flat[::engine.step_for(flat.size, SAMPLE_SIZE)].copy()


def checksum(t: Any) -> int:
    """Of all values of an array: evenly spread ones may all be those of one column, or of the background. Of a large one their
    sum stands for all, and some of them for their order: ten times as fast."""
    values = np.ascontiguousarray(array_of(t)).reshape(-1).view(np.uint8)
    if values.size < LARGE:
        return crc32(values.data)
    words = values[:values.size // 8 * 8].view(np.uint64)
    return crc32(words[::engine.step_for(words.size, 1024)].tobytes(), int(words.sum()) & 0xFFFF_FFFF)


def samples(tensors: list[Any], size: int = SAMPLE_SIZE) -> list[np.ndarray]:
    return engine.samples_of(tensors, size) if tensors else []


def norms(tensors: list[Any]) -> list[float]:
    return [norm(t) if size is None else size for t, size in zip(tensors, engine.norms_of(tensors), strict=True)]


def distances(tensors: list[Any], copies: list[Any]) -> list[float]:
    """How far each tensor is from a copy of it that was taken earlier."""
    found = engine.distances_of(tensors, copies)
    return [norm(array_of(t) - array_of(copy)) if distance is None else distance
            for t, copy, distance in zip(tensors, copies, found, strict=True)]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two samples are equal; not-a-number equals itself."""
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def norm(t: Any) -> float:
    """The Euclidean norm, in double precision where squares would overflow or vanish."""
    known = known_squares.get(id(t), 0.0) if known_squares else 0.0
    if 1e-30 < known < 1e30:
        return math.sqrt(known)
    array = array_of(t)
    if array.dtype.char in "fd" and 1e-30 < (square := _square(array)) < 1e30:
        return math.sqrt(square)
    if array.dtype.kind not in "fc":
        array = array.astype(np.float64)
    total = _square(array)
    if not 1e-30 < total < 1e30:
        total = _square(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return math.sqrt(total) if total >= 0 else math.nan


def _square(array: np.ndarray) -> float:
    flat = array.ravel("K")  # a transposed array is not copied
    return float(np.vdot(flat, flat).real)  # BLAS sets no flags: nothing warns of an overflow


def is_finite(t: Any) -> bool:
    known = engine.is_known_finite(t) if is_tensor(t) else None
    if known is not None:
        return known
    array = array_of(t)
    if array.dtype.kind not in "fc":
        return True
    with np.errstate(all="ignore"):  # a sum is fast, and finite only then; a few finite sums overflow
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def is_float(t: Any) -> bool:
    return is_tensor(t) and kind_of(t) in "fc"
