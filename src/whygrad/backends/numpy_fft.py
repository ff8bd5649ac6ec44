"""Fourier transforms for NumPy, which keeps single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.quiet import quiet

_whygrad_internal_ = True

Array = Any
Axes = tuple[int, ...]

# NumPy's words for what a sum is divided by depend on the direction.
FORWARD: dict[str, Any] = {"none": "backward", "root": "ortho", "n": "forward"}
INVERSE: dict[str, Any] = {"none": "forward", "root": "ortho", "n": "backward"}


@quiet
def fft_c2c(x: Array, *, axes: Axes, norm: str, inverse: bool) -> Array:
    if not axes:
        return x.copy()
    return np.fft.ifftn(x, axes=axes, norm=INVERSE[norm]) if inverse else np.fft.fftn(x, axes=axes, norm=FORWARD[norm])


@quiet
def fft_r2c(x: Array, *, axes: Axes, norm: str, onesided: bool) -> Array:
    return (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=axes, norm=FORWARD[norm])


@quiet
def fft_c2r(x: Array, *, axes: Axes, norm: str, size: int) -> Array:
    sizes = [*[x.shape[axis] for axis in axes[:-1]], size]
    return np.fft.irfftn(x, s=sizes, axes=axes, norm=INVERSE[norm])


def scale_inside(x: Array, *, axis: int, size: int, factor: float) -> Array:
    out = x.copy()
    inside = [slice(None)] * x.ndim
    inside[axis] = slice(1, (size + 1) // 2)
    out[tuple(inside)] *= factor
    return out
