"""Transforms that are at work: forward-mode derivatives and vmap. Ops ask here what the transforms make of them.

A *level* is one running transform. It holds tensors: a `DualLevel` (dual.py) those that have a tangent of its own, a
`BatchLevel` (func/batched.py) those that stand for a batch. An op is the business of the innermost level that holds one
of its arguments. That level does its part by applying rows to what lies below, and meanwhile takes itself and the levels
inside it away from `modes.levels`: so each level sees only those outside of it, and nesting comes by itself. What no
level holds is recorded as usual. Reverse mode needs no level: the graph lies below all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from whygrad.core.modes import modes, refresh
from whygrad.core.tensor import Tensor
from whygrad.ops.table import Row


class Level:
    """One running transform."""

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
    outer = modes.levels
    modes.levels = (*outer, level)
    modes.entered += 1
    refresh()
    try:
        yield
    finally:
        modes.levels = outer
        modes.entered -= 1
        refresh()


def with_levels(levels: tuple[Level, ...], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that sees these levels only."""
    seen = modes.levels
    modes.levels = levels
    try:
        return function(*args, **kwargs)
    finally:
        modes.levels = seen


def concerned(tensors: Any) -> int | None:
    """The place in `modes.levels` of the innermost level that holds one of these."""
    levels = modes.levels
    for place in range(len(levels) - 1, -1, -1):
        holds = levels[place].holds
        for x in tensors:
            if isinstance(x, Tensor) and holds(x):
                return place
    return None


def is_batched(t: Tensor) -> bool:
    """Whether a tensor stands for a batch: then its `_array` says how one element lies, and has no numbers."""
    return hasattr(t, "_whole")


def interpret(row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Apply a row under the levels that are at work."""
    levels = modes.levels
    place = concerned(inputs)
    if place is None:
        from whygrad.core.record import apply

        return with_levels((), apply, row, *inputs, **statics)
    return with_levels(levels[:place], levels[place].run, row, inputs, statics)


def interpret_write(row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Tensor:
    """Apply a row in place under the levels that are at work."""
    from whygrad.core.record import layout_of
    from whygrad.core.write import perform

    levels = modes.levels
    place = concerned((target, *inputs))
    if place is None:
        kinds = "".join(["t" if isinstance(x, Tensor) else "s" for x in inputs])
        return with_levels((), perform, layout_of(row, kinds), target, position, inputs, statics)  # type: ignore[no-any-return]
    with_levels(levels[:place], levels[place].write, row, target, position, inputs, statics)
    return target


def refuse_out(name: str, result: Tensor, out: Tensor) -> None:
    """`out=` is not for transforms."""
    place = concerned((result, out))
    if place is not None:
        raise modes.levels[place].no_out(name)
