"""NumPy's part in sequences of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

_whygrad_internal_ = True


def _present(shape: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """For each of the padded steps, which sequences are that long; they lie in order of their length."""
    lasting = np.zeros(shape[0], np.int64)
    lasting[:len(sizes)] = sizes[:shape[0]]
    return np.arange(shape[1]) < lasting[:, None]


def pack_padded_sequence(x: Any, *, sizes: tuple[int, ...]) -> Any:
    return x[_present(x.shape, sizes)]


def pad_packed_sequence(x: Any, *, shape: tuple[int, ...], sizes: tuple[int, ...], value: float) -> Any:
    result = np.full(shape, value, x.dtype)
    result[_present(shape, sizes)] = x
    return result
