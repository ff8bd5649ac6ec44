"""The row door: everything that has a say in an application of a row passes here.

While nobody is out of the ordinary nothing of this is in the way: ops look at `special.on` alone. Else `record`, `perform` and
the engine ask here. *Listeners* hear of every row, write, node and leaf in all threads: the profiler, and the logs of
`checkpoint(debug=True)`. *Levels* are the transforms at work in this thread (see levels.py), one of which may take a row over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from whygrad.core.levels import concerned, with_levels
from whygrad.core.modes import modes, refresh, special
from whygrad.core.tensor import Tensor
from whygrad.ops.table import Row


class Listener(Protocol):
    def begin(self, name: str, inputs: tuple[Any, ...]) -> Any:
        """An op begins. What is returned is given to `end`."""

    def end(self, token: Any, result: Any) -> None:
        """It has ended; `result` is None if it raised."""


_changing = threading.Lock()


def start(listener: Listener) -> None:
    with _changing:
        special.listeners = (*special.listeners, listener)
    refresh()


def stop(listener: Listener) -> None:
    with _changing:
        left = list(special.listeners)
        left.remove(listener)
        special.listeners = tuple(left)
    refresh()


def tell(name: str, inputs: tuple[Any, ...], run: Callable[..., Any], *args: Any) -> Any:
    """Run something, and tell the listeners when it begins and ends."""
    tokens = [(listener, listener.begin(name, inputs)) for listener in special.listeners]
    result = None
    try:
        result = run(*args)
        return result
    finally:
        for listener, token in tokens:
            listener.end(token, result)


def aten_name(row: Row) -> str:
    """What torch calls the op: its node tells (SumBackward0), unless it has several names."""
    name = row.node.partition("Backward")[0] if isinstance(row.node, str) else ""
    words = "".join([f"_{c.lower()}" if c.isupper() else c for c in name]).lstrip("_")
    return f"aten::{words or row.name}"


def under_levels(row: Row, inputs: tuple[Any, ...], statics: dict[str, Any], otherwise: Callable[..., Any]) -> Any:
    """Apply a row under the levels that are at work; `otherwise` if none of them is concerned."""
    levels = modes.levels
    place = concerned(inputs)
    if place is None:
        return with_levels((), otherwise, *inputs, **statics)
    return with_levels(levels[:place], levels[place].run, row, inputs, statics)


def write_under_levels(row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any],
                       otherwise: Callable[[], Any]) -> Tensor:
    """The same in place."""
    levels = modes.levels
    place = concerned((target, *inputs))
    if place is None:
        with_levels((), otherwise)
    else:
        with_levels(levels[:place], levels[place].write, row, target, position, inputs, statics)
    return target
