"""The width of indices: torch's are int64 everywhere, NumPy's as wide as an address, which is 32 bits in WebAssembly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

IS_INT64 = np.dtype(np.intp).itemsize == 8


def gives_indices(*outputs: int) -> Callable[[F], F]:
    """Decorate a function whose outputs with these numbers are indices (none: its only output is): they become int64."""

    def decorate(function: F) -> F:
        if IS_INT64:
            return function

        @functools.wraps(function)
        def widened(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            if not outputs:
                return int64(found)
            return type(found)([int64(x) if i in outputs else x for i, x in enumerate(found)])

        return widened  # type: ignore[return-value]

    return decorate


def int64(x: Any) -> Any:
    """An array of indices that NumPy has made, as torch has them."""
    return x if IS_INT64 else np.asarray(x).astype(np.int64, copy=False)


def intp(x: Any) -> Any:
    """An array of counts or indices as np.repeat and np.bincount take them: they refuse to narrow int64."""
    return x if IS_INT64 else x.astype(np.intp, copy=False)
