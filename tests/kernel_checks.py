"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.backends import FAMILIES, TABLE, raw
from whygrad.kernels.pool import pool


class NotDone(AssertionError):
    """A kernel has left a call to NumPy."""


def refuse(*args: Any, **statics: Any) -> Any:
    """In the place of NumPy's function: the kernel must do it."""
    raise NotDone("not done by a kernel")


def with_threads(count: int, function: Callable[[], Any]) -> Any:
    before = pool().threads()
    pool().set_threads(count)
    try:
        return function()
    finally:
        pool().set_threads(before)


def numpy_function(name: str) -> Callable[..., Any]:
    """What a kernel stands for: the backend's function, or else the row's definition."""
    for family in FAMILIES:
        found: Callable[..., Any] | None = getattr(family, name, None)
        if found is not None:
            return found
    return lambda *args, **statics: TABLE[name].forward(raw, *args, **statics)


def parts(result: Any) -> Any:
    """All results of a kernel."""
    return result if isinstance(result, (tuple, list)) else (result,)
