"""Singular values and eigenvalues by numpy.linalg, with torch's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends import linalg_errors
from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_factor import LinAlgError

Array = Any


def no_phase(x: Array, y: Array | None, *, message: str) -> Array:
    other = np.zeros_like(x.imag) if y is None else -y.imag
    if not np.allclose(x.imag, other, rtol=1e-2, atol=1e-2):
        raise RuntimeError(message)
    return x


def converging(function: Callable[..., Any]) -> Callable[..., Any]:
    """Raise torch's error, which names the matrix that failed: numpy.linalg raises for the batch as a whole."""
    name = function.__name__.replace("vals", "")

    @quiet
    def computed(a: Array, **options: Any) -> Any:
        try:
            return function(a, **options)
        except np.linalg.LinAlgError:
            raise LinAlgError(_failure(f"linalg.{name}", a)) from None

    computed.__name__ = computed.__qualname__ = function.__name__
    return computed


def _failure(name: str, a: Array) -> str:
    finite = np.isfinite(a).all(axis=(-1, -2))
    where = f"(Batch element {int(np.flatnonzero(~finite)[0])}): " if a.ndim > 2 and not finite.all() else ""
    if name == "linalg.svd" and not finite.all():
        return f"{name}: {where}The algorithm failed to converge because the input matrix contained non-finite values."
    return (f"{name}: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            f"repeated {'singular values' if name == 'linalg.svd' else 'eigenvalues'} (error code: 1).")


def _svd(a: Array, **options: Any) -> tuple[Array, ...]:
    """np.linalg.svd, which would not return from a matrix with infinities: as in torch, those give NaNs; NaNs are an error."""
    finite = np.isfinite(a).all(axis=(-1, -2))
    if finite.all():
        found = linalg_errors.svd(a, **options)
        return found if isinstance(found, tuple) else (found,)
    if np.isnan(a).any():
        raise np.linalg.LinAlgError
    results = _svd(np.where(finite[..., None, None], a, 0), **options)
    return tuple([np.where(finite.reshape(*finite.shape, *(1,) * (x.ndim - finite.ndim)), x, np.nan).astype(x.dtype)
                  for x in results])


@converging
def svd(a: Array, *, full: bool) -> tuple[Array, Array, Array]:
    u, s, vh = _svd(a, full_matrices=full)
    return u, s, vh


@converging
def svdvals(a: Array) -> Array:
    return _svd(a, compute_uv=False)[0]


@converging
def eigh(a: Array, *, lower: bool) -> tuple[Array, Array]:
    values, vectors = linalg_errors.eigh(a, "L" if lower else "U")
    return values, vectors


@converging
def eigvalsh(a: Array, *, lower: bool) -> Array:
    return linalg_errors.eigvalsh(a, "L" if lower else "U")


@converging
def eig(a: Array, *, real: bool) -> tuple[Array, Array]:
    values, vectors = linalg_errors.eig(a.real if real else a)
    return values.astype(a.dtype, copy=False), vectors.astype(a.dtype, copy=False)


@converging
def eigvals(a: Array, *, real: bool) -> Array:
    return linalg_errors.eigvals(a.real if real else a).astype(a.dtype, copy=False)
