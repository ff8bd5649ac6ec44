"""Being told of every op and every node of a backward: for the profiler, and for the logs of `checkpoint(debug=True)`.

While nobody listens, nothing of this is in the way. To listen swaps the code of the compiled rows (see core/record.py) for a few
lines that tell the listeners and then run the original, and puts such lines around three functions of the in-place path
and of the engine; to stop swaps it all back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

from whygrad.core import engine
from whygrad.core import record as _apply
from whygrad.core import write as _inplace
from whygrad.core.modes import special


class Listener(Protocol):
    def begin(self, name: str, inputs: tuple[Any, ...]) -> Any:
        """An op begins. What is returned is given to `end`."""

    def end(self, token: Any, result: Any) -> None:
        """It has ended; `result` is None if it raised."""


_listeners: list[Listener] = []
_swapping = threading.Lock()
_perform, _run_node, _finish_leaf = _inplace.perform, engine._run_watched, engine._finish_leaf


def start(listener: Listener) -> None:
    with _swapping:
        _listeners.append(listener)
        if len(_listeners) > 1:
            return
        for function in list(_apply.applying):
            _open(function)
        _apply.on_compiled = _open
        _inplace.perform = _told_perform
        engine._run_watched, engine._finish_leaf = _told_node, _told_leaf  # type: ignore[assignment]
        special.listening = True


def stop(listener: Listener) -> None:
    with _swapping:
        _listeners.remove(listener)
        if _listeners:
            return
        _apply.on_compiled = None
        for function in list(_apply.applying):
            function.__code__ = function.__globals__["_listened"].__code__  # type: ignore[attr-defined]
        _inplace.perform, engine._run_watched, engine._finish_leaf = _perform, _run_node, _finish_leaf
        special.listening = False


def tell(name: str, inputs: tuple[Any, ...], run: Callable[[], Any]) -> Any:
    """Run something, and tell the listeners when it begins and ends."""
    tokens = [(listener, listener.begin(name, inputs)) for listener in _listeners]
    result = None
    try:
        result = run()
        return result
    finally:
        for listener, token in tokens:
            listener.end(token, result)


def _told(*args, **kwargs):  # type: ignore[no-untyped-def]
    # Runs with the globals of a compiled row: see `_open`.
    return _tell(_aten, args, lambda: _listened(*args, **kwargs))  # type: ignore[name-defined]  # noqa: F821


def aten_name(row: Any) -> str:
    """What torch calls the op: its node tells (SumBackward0), unless it has several names."""
    name = row.node.partition("Backward")[0] if isinstance(row.node, str) else ""
    words = "".join([f"_{c.lower()}" if c.isupper() else c for c in name]).lstrip("_")
    return f"aten::{words or row.name}"


def _open(function: Callable[..., Any]) -> None:
    scope = function.__globals__  # type: ignore[attr-defined]
    original = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)  # type: ignore[attr-defined]
    original.__kwdefaults__ = function.__kwdefaults__  # type: ignore[attr-defined]
    scope["_listened"], scope["_tell"], scope["_aten"] = original, tell, aten_name(scope["layout"].row)
    function.__code__ = _told.__code__  # type: ignore[attr-defined]


def _told_perform(layout: Any, target: Any, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    return tell(f"{aten_name(layout.row)}_", inputs, lambda: _perform(layout, target, position, inputs, statics))


def _told_node(this: Any, node: Any, g: Any, *rest: Any) -> Any:
    if not node.visible:
        return _run_node(this, node, g, *rest)
    return tell(node.name(), tuple(g) if isinstance(g, list) else (g,), lambda: _run_node(this, node, g, *rest))


def _told_leaf(this: Any, leaf: Any, g: Any, captures: Any, deposit_captured: bool, references: int) -> None:
    # Here the gradient has more references than the engine's own, so it is copied.
    tell("torch::autograd::AccumulateGrad", (g,), lambda: _finish_leaf(this, leaf, g, captures, deposit_captured, 0))
