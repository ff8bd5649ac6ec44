"""How many references to a gradient the walk itself has.

An array that has no more than these is nobody else's: it can become a leaf's `.grad` without a copy, or be overwritten by
the rule that reads it last. The numbers depend on Python's version, so they are found by trying, with walks over two nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

import whygrad.autograd.accumulation  # noqa: F401 (the end of the walk)
from whygrad.base import acceleration
from whygrad.core import engine
from whygrad.core.engine import references
from whygrad.core.modes import process_state
from whygrad.core.node import Node, extra
from whygrad.core.tensor import accumulator_of, wrap

_arrays: list[np.ndarray] = []


class Trial(Node):
    """Gives fresh arrays, or nothing."""

    __slots__ = ("gives",)

    def __init__(self, gives: tuple[bool, ...], *edges: Any) -> None:
        self.edges = edges
        self.gives = gives
        self.saved = ()
        self.extra = None
        self.seq = len(edges)

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([_fresh() if give else None for give in self.gives])


class Counting(Trial):
    """The end of a walk: looks at what it gets."""

    __slots__ = ()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        _counted.append(getrefcount(g))
        return ()


_counted: list[int] = []


def _fresh() -> np.ndarray:
    array = np.zeros(1)
    _arrays.append(array)
    return array


def find() -> None:
    """Give the numbers to the engine and to the kernels."""

    def walk(root: Node) -> None:
        _arrays.clear()
        engine.run([(root, np.zeros(1))], keep=True, create_graph=False)

    for name in ("straight", "waited"):
        _find_for_leaves(name, walk)
    # In a watched run somebody may look at a gradient after its rule has run, so there must be more references then. If there
    # are not, because Python does not count all of them, nothing is overwritten.
    for watched in (False, True):
        node = Counting(())
        if watched:
            extra(node)
        walk(Trial((True,), node))
    if _counted[1] > _counted[0]:
        acceleration.tell_references(_counted[0] - 1)  # one was held by the list of arrays


def _find_for_leaves(name: str, walk: Callable[[Node], None]) -> None:
    """The smallest number for which a fresh array is handed over as it is."""
    for count in range(1, 20):
        setattr(references, name, count)
        leaf = wrap(np.zeros(1))
        leaf._indirect = True
        accumulator = accumulator_of(leaf)
        last = Trial((name == "straight",), accumulator)
        walk(last if name == "straight" else Trial((True, True), last, accumulator))
        if leaf._grad is not None and any(leaf._grad._array is array for array in _arrays):
            setattr(references, name, count - 1)  # one was held by the list of arrays
            break


find()
process_state.last_backward = None
