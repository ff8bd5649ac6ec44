"""The row door: everything that has a say in an application of a row passes here.

While no mode is active nothing of this is in the way: ops look at `process_state.any_mode_active` alone. Else `record`,
`perform` and the engine ask here. *Listeners* hear of every row, write, node and leaf in all threads: the profiler, and the
logs of `checkpoint(debug=True)`.

A *level* is one running transform of this thread. It holds tensors: a `DualLevel` (autograd/dual.py) those that have a tangent
of its own, a `BatchLevel` (autograd/batched.py) those that stand for a batch. A row is the business of the innermost level that
holds one of its arguments. That level does its part by applying rows to what lies below, and meanwhile takes itself and the
levels inside it away from `grad_state.levels`: so each level sees only those outside of it, and nesting comes by itself. What no
level holds is recorded as usual. Reverse mode needs no level: the graph lies below all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from whygrad.core.modes import grad_state, process_state, refresh
from whygrad.core.tensor import Tensor
from whygrad.ops.table import Row


class Listener(Protocol):
    def begin(self, name: str, inputs: tuple[Any, ...], run_with: tuple[Any, ...]) -> Any:
        """An op begins, `run_with` (spec, ..., statics) if it is a row. What is returned is given to `end`."""

    def end(self, token: Any, result: Any) -> None:
        """It has ended; `result` is None if it raised."""


_changing = threading.Lock()


def start(listener: Listener) -> None:
    with _changing:
        process_state.listeners = (*process_state.listeners, listener)
    refresh()


def stop(listener: Listener) -> None:
    with _changing:
        left = list(process_state.listeners)
        left.remove(listener)
        process_state.listeners = tuple(left)
    refresh()


def tell(name: str, inputs: tuple[Any, ...], run: Callable[..., Any], *args: Any) -> Any:
    """Run something, and tell the listeners when it begins and ends."""
    tokens = [(listener, listener.begin(name, inputs, args)) for listener in process_state.listeners]
    result = None
    try:
        result = run(*args)
        return result
    finally:
        for listener, token in tokens:
            listener.end(token, result)


class Level:
    """One running transform."""

    # Whether it is a vmap.
    is_batch = False

    def holds(self, t: Tensor) -> bool:
        """Whether this tensor is more than a plain one to this transform."""
        raise NotImplementedError

    def run(self, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        """Apply a row, some of whose inputs this level holds."""
        raise NotImplementedError

    def write(self, row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> None:
        """The same in place: the result replaces the values of `target`, the input at `position`."""
        raise NotImplementedError

    def apply_function(self, function: Any, args: tuple[Any, ...]) -> Any:
        """Apply a custom Function."""
        raise NotImplementedError

    def no_out(self, name: str) -> Exception:
        """Why a function cannot write into `out=` what this level holds."""
        raise NotImplementedError


@contextmanager
def entered(level: Level) -> Iterator[None]:
    """Let ops mind `level`."""
    outer = grad_state.levels
    grad_state.levels = (*outer, level)
    grad_state.entered += 1
    refresh()
    try:
        yield
    finally:
        grad_state.levels = outer
        grad_state.entered -= 1
        refresh()


def with_levels(levels: tuple[Level, ...], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that sees these levels only."""
    seen = grad_state.levels
    grad_state.levels = levels
    try:
        return function(*args, **kwargs)
    finally:
        grad_state.levels = seen


def concerned(tensors: Any) -> int | None:
    """The place in `grad_state.levels` of the innermost level that holds one of these."""
    levels = grad_state.levels
    for place in range(len(levels) - 1, -1, -1):
        holds = levels[place].holds
        for x in tensors:
            if isinstance(x, Tensor) and holds(x):
                return place
    return None


def is_batched(t: Tensor) -> bool:
    """Whether a tensor stands for a batch: then its `_array` says how one element lies, and has no numbers."""
    return hasattr(t, "_whole")


def under_levels(row: Row, inputs: tuple[Any, ...], statics: dict[str, Any], otherwise: Callable[..., Any]) -> Any:
    """Apply a row under the levels that are at work; `otherwise` if none of them is concerned."""
    levels = grad_state.levels
    place = concerned(inputs)
    if place is None:
        return with_levels((), otherwise, *inputs, **statics)
    return with_levels(levels[:place], levels[place].run, row, inputs, statics)


def write_under_levels(row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any],
                       otherwise: Callable[[], Any]) -> Tensor:
    """The same in place."""
    levels = grad_state.levels
    place = concerned((target, *inputs))
    if place is None:
        with_levels((), otherwise)
    else:
        with_levels(levels[:place], levels[place].write, row, target, position, inputs, statics)
    return target
