"""Fourier transforms by numpy.fft, which computes in the precision of its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

Array = Any
Axes = tuple[int, ...]

# NumPy's names for the normalisation depend on the direction.
FORWARD: dict[str, Any] = {"none": "backward", "root": "ortho", "n": "forward"}
INVERSE: dict[str, Any] = {"none": "forward", "root": "ortho", "n": "backward"}


def _by_stride(x: Array, axes: Iterable[int]) -> list[int]:
    return sorted(axes, key=lambda axis: -x.strides[axis])


def _others(ndim: int, axes: Axes) -> list[int]:
    """The axes that are not transformed, in the order in which std::partition leaves them in torch's code."""
    order, first, last = list(range(ndim)), 0, ndim
    while True:
        while first < last and order[first] not in axes:
            first += 1
        while first < last and order[last - 1] in axes:
            last -= 1
        if first == last:
            return order[:first]
        order[first], order[last - 1] = order[last - 1], order[first]


def _laid_out(transform: Callable[..., Array], x: Array, axes: Axes, **options: Any) -> Array:
    """The transform with torch's memory order: the transformed axes come last, the others before them by their strides."""
    order = [*_by_stride(x, _others(x.ndim, axes)), *axes]
    found = transform(x.transpose(order), axes=tuple(range(x.ndim - len(axes), x.ndim)), **options)
    return np.ascontiguousarray(found).transpose(np.argsort(order))


@quiet
def fft_c2c(x: Array, *, axes: Axes, norm: str, inverse: bool) -> Array:
    if not axes:
        return x.copy()
    transform, norms = (np.fft.ifftn, INVERSE) if inverse else (np.fft.fftn, FORWARD)
    return _laid_out(transform, x, tuple(_by_stride(x, axes)), norm=norms[norm])


@quiet
def fft_r2c(x: Array, *, axes: Axes, norm: str, onesided: bool) -> Array:
    axes = (*_by_stride(x, axes[:-1]), axes[-1])
    return _laid_out(np.fft.rfftn if onesided else np.fft.fftn, x, axes, norm=FORWARD[norm])


@quiet
def fft_c2r(x: Array, *, axes: Axes, norm: str, size: int) -> Array:
    if len(axes) > 1:
        x = fft_c2c(x, axes=axes[:-1], norm=norm, inverse=True)
    return _laid_out(np.fft.irfftn, x, axes[-1:], s=[size], norm=INVERSE[norm])


@quiet
def scale_inside(x: Array, *, axis: int, size: int, factor: float) -> Array:
    out = x.copy()
    inside = [slice(None)] * x.ndim
    inside[axis] = slice(1, (size + 1) // 2)
    out[tuple(inside)] *= factor
    return out
