"""Running NumPy without its floating-point warnings: like torch, inf and nan are answers, not events.

NumPy's own switch is global for the caller as well, and its context manager costs more than the arithmetic on a small
array. Setting the variable behind it costs a fifth of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_whygrad_internal_ = True

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined]

    _silent = _make_extobj(all="ignore")

    def silence() -> Any:
        """Switch warnings off; give the token back to `restore`."""
        return _extobj_contextvar.set(_silent)

    restore = _extobj_contextvar.reset
except ImportError:  # an older or newer NumPy: the official way

    def silence() -> Any:
        return np.seterr(all="ignore")

    def restore(token: Any) -> None:
        np.seterr(**token)


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without floating-point warnings: for ops that meet 0, inf or nan in ordinary use."""

    def quietly(*args: Any, **kwargs: Any) -> Any:
        token = silence()
        try:
            return function(*args, **kwargs)
        finally:
            restore(token)

    quietly.__name__ = quietly.__qualname__ = function.__name__
    return quietly
