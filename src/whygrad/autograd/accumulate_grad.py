"""The node that stands for a leaf where users look at the graph."""

from __future__ import annotations

import weakref
from typing import Any

from whygrad.core.node import Node


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The node that stands for a leaf, always the same one while anybody holds it."""
    meta = leaf.meta
    found: AccumulateGrad | None = None if meta.accumulator is None else meta.accumulator()
    if found is None:
        found = AccumulateGrad(leaf)
        meta.accumulator = weakref.ref(found)
    return found


class AccumulateGrad(Node):
    """Stands for a leaf in `next_functions`. In the graph itself, the edge is the leaf tensor."""

    __slots__ = ("variable",)

    def __init__(self, leaf: Any) -> None:
        self.variable = leaf
        self.edges = ()
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = 2**64 - 1
        self.site_code, self.lasti = None, 0
