"""Checking and normalising `dim` arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def normalize_dim(dim: Any, ndim: int) -> int:
    """A dim counted from the front. A 0-dim tensor may be addressed as if it had one dim."""
    if type(dim) is int and 0 <= dim < ndim:
        return dim
    if not isinstance(dim, int):
        dim = operator.index(dim)
    size = ndim or 1
    if not -size <= dim < size:
        if not -2**63 <= dim < 2**63:
            raise ValueError("Overflow when unpacking long long")
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return int(dim) % size


def normalize_dims(dim: int | Iterable[int] | None, ndim: int) -> tuple[int, ...] | None:
    """For reductions: None (all), or a tuple of dims counted from the front; an empty tuple means all, as in torch."""
    if dim is None:
        return None
    if isinstance(dim, int):
        return (normalize_dim(dim, ndim),) if ndim else _check_zero_dim(dim)
    dims = tuple([normalize_dim(d, ndim) for d in dim])
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return (dims if ndim else ()) or None


def _check_zero_dim(dim: int) -> tuple[int, ...]:
    normalize_dim(dim, 0)
    return ()


def named_axis(function: str, axis: Any, *others: Any) -> Any:
    """What was given under NumPy's name for `dim`, where that itself was left out; `others` are what else must be there."""
    missing = [name for name, value in zip(("dim", "index"), (axis, *others), strict=False) if value is ...]
    if missing:
        raise TypeError(f"{function}() missing {len(missing)} required positional arguments: "
                        + ", ".join(f'"{name}"' for name in missing))
    return axis
