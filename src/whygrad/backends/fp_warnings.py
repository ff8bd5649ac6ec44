"""Running NumPy without its floating-point warnings: like torch, inf and nan are answers, not events.

NumPy's own switch is global for the caller as well, and its context manager costs more than the arithmetic on a small
array. Setting the variable behind it costs a fifth of that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

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

    quietly.__wrapped__ = function  # type: ignore[attr-defined]
    quietly.__name__ = quietly.__qualname__ = getattr(function, "__name__", "quietly")
    if hasattr(function, "into"):  # the same in place
        quietly.into = quiet(function.into)  # type: ignore[attr-defined]
    return quietly


# What rows with `quiet=False` warn of is not shown, unless a program asks for all there is. (The backward pass is silenced as
# a whole.)
warnings.filterwarnings("ignore", ".* encountered in ", RuntimeWarning, r"whygrad\.")
