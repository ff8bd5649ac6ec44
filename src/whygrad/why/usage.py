"""What a program does with each of its optimizers, and what is to be said of one that goes."""

from __future__ import annotations

import gc
from typing import Any

from whygrad.core.node import Node, next_sequence_number
from whygrad.why.answers import Explanation
from whygrad.why.places import Place

# To find out whether something was computed from what an optimizer holds, so many parameters are looked at.
MOST_LOOKED_AT = 4


class Usage:
    """Kept on the optimizer itself: one that a function made is judged when it goes, and not when the program ends."""

    __slots__ = ("backwards", "begun", "nodes", "useful", "useless")

    def __init__(self) -> None:
        # How many steps had a gradient to apply; of the others the first, if there is an answer for it.
        self.useful = 0
        self.useless: tuple[Place | None, Explanation, int] | None = None
        # The number of the latest node, and of backward passes, at the last step.
        self.nodes: int | None = None
        self.backwards = 0
        # The same when the step that runs now began: a closure computes inside of it.
        self.begun = 0, 0

    def stepped(self, useful: bool, backwards: int) -> None:
        self.useful += useful
        self.nodes = next_sequence_number()
        self.backwards = backwards


def usage_of(optimizer: Any) -> Usage:
    found: Usage = vars(optimizer).setdefault("_usage", Usage())
    return found


def held_by(optimizer: Any) -> list[Any]:
    """(An optimizer whose making failed holds nothing.)"""
    return [p for group in vars(optimizer).get("param_groups", ()) for p in group["params"]]


def computed_from(held: list[Any], since: int) -> bool:
    """True if there is a node made after `since` that uses one of these parameters."""
    for p in held[:MOST_LOOKED_AT]:
        for edges in gc.get_referrers(p):
            if type(edges) is tuple and any(isinstance(node, Node) and node.seq > since for node in gc.get_referrers(edges)):
                return True
    return False
