"""How a program uses each of its optimizers."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import Any

from whygrad.why import engine, record
from whygrad.why.answers import Explanation
from whygrad.why.engine import is_node, next_sequence_number
from whygrad.why.locations import SourceLocation

# Parameters checked by computed_from.
MAX_PARAMETERS = 4


@dataclass(slots=True, eq=False)
class OptimizerUsage:
    """It lives as long as the optimizer, so that one created in a function can be judged when it is deleted."""

    # Number of steps that had a gradient to apply; location, explanation and moment of the first that had none.
    useful: int = 0
    useless: tuple[SourceLocation | None, Explanation, int] | None = None
    # Sequence number of the latest node, and number of backward passes, at the last step.
    nodes: int | None = None
    backwards: int = 0
    # The same two when the running step began: its closure computes a loss.
    begun: tuple[int, int] = (0, 0)

    def stepped(self, useful: bool, backwards: int) -> None:
        self.useful += useful
        self.nodes = next_sequence_number()
        self.backwards = backwards


# Of an optimizer, under each watch: what it did under an earlier one is no fact of this one.
Usages = weakref.WeakKeyDictionary[Any, OptimizerUsage]

_usages: weakref.WeakKeyDictionary[Any, Usages] = weakref.WeakKeyDictionary()


def _usages_of(optimizer: Any) -> Usages:
    """They are stored on whygrad's own optimizers, which ask for them when they are deleted; torch's stay as they are."""
    if engine.current.name == "whygrad":
        found: Usages = vars(optimizer).setdefault("_usages", weakref.WeakKeyDictionary())
        return found
    return _usages.setdefault(optimizer, weakref.WeakKeyDictionary())


def usage_of(optimizer: Any) -> OptimizerUsage:
    """Under the running watch."""
    return _usages_of(optimizer).setdefault(record.watching, OptimizerUsage())


def is_used(optimizer: Any) -> bool:
    """True if it was made or has stepped under the running watch."""
    return record.watching in _usages_of(optimizer)


def optimizer_parameters(optimizer: Any) -> list[Any]:
    """All parameters of an optimizer; none if its constructor failed."""
    return [p for group in vars(optimizer).get("param_groups", ()) for p in group["params"]]


def computed_from(held: list[Any], since: int) -> bool:
    """True if a node with a sequence number above `since` uses one of these parameters."""
    for p in held[:MAX_PARAMETERS]:
        for edges in gc.get_referrers(p):
            if type(edges) is tuple and any(is_node(node) and node.seq > since for node in gc.get_referrers(edges)):
                return True
    return False
