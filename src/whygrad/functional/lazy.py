"""Rows that are compiled when they are first applied, so that importing the package stays quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.record import compiled
from whygrad.ops.table import TABLE


def lazily_compiled(name: str, kinds: str, namespace: dict[str, Any] | None = None,
                    variable: str = "", *, at_door: bool = False) -> Callable[..., Any]:
    """The function that applies a row to arguments of these kinds (see `compiled`).

    If it is kept as a global `variable` (`_name` if not given) of `namespace`, the first call puts the compiled
    function there, and no later call comes through here.
    """
    function: Callable[..., Any] | None = None

    def apply_row(*inputs: Any, **statics: Any) -> Any:
        nonlocal function
        if function is None:
            function = compiled(TABLE[name], kinds, at_door=at_door)
            if namespace is not None:
                namespace[variable or f"_{name}"] = function
        return function(*inputs, **statics)

    return apply_row
