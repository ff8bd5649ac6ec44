"""Factors with orthonormal columns for NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet

Array = Any


@quiet
def qr(a: Array, *, mode: Any) -> tuple[Array, Array]:
    if mode == "r":
        return np.zeros((0,), a.dtype), np.linalg.qr(a, "r")
    q, r = np.linalg.qr(a, mode)
    return q, r


@quiet
def geqrf(a: Array) -> tuple[Array, Array]:
    *batch, rows, columns = a.shape
    h = np.zeros(a.shape, a.dtype)
    tau = np.zeros((*batch, min(rows, columns)), a.dtype)
    for place in np.ndindex(*batch):
        columns_first, tau[place] = np.linalg.qr(a[place], "raw")
        h[place] = columns_first.T
    return h, tau


@quiet
def householder_product(a: Array, tau: Array) -> Array:
    rows, columns = a.shape[-2:]
    vectors = np.tril(a, -1) + np.eye(rows, columns, dtype=a.dtype)
    out = np.zeros(a.shape, a.dtype) + np.eye(rows, columns, dtype=a.dtype)
    for i in reversed(range(tau.shape[-1])):
        vector = vectors[..., :, i:i + 1]
        out -= (vector * tau[..., i, None, None]) @ (vector.conj().swapaxes(-1, -2) @ out)
    return out
