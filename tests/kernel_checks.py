"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels.pool import pool


def refuse(*args: Any, **statics: Any) -> Any:
    """In the place of NumPy's function: the kernel must do it."""
    raise AssertionError("not done by a kernel")


def with_threads(count: int, function: Callable[[], Any]) -> Any:
    before = pool().threads()
    pool().set_threads(count)
    try:
        return function()
    finally:
        pool().set_threads(before)
