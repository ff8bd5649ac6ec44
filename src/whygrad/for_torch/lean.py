"""What is kept between the rounds that are recorded in full: which line made which nodes, by torch's sequence numbers.

Nothing is attached to a tensor or to a node. The graph is still there when a backward raises, and each node knows its number:
so the lines are found when somebody asks, and cost next to nothing before.
"""

from __future__ import annotations

import bisect
import threading
from typing import Any, NamedTuple

import torch

from whygrad.why.record import Site

sequence_number = torch._C._autograd._get_sequence_nr

# Calls that are remembered: the last hundred steps of a small GPT; in-place writes.
SIZE, WRITES = 1 << 14, 1 << 8


class Write(NamedTuple):
    """An in-place write: the sequence number by then, the tensor's shape (None: of any parameter), its version after it."""

    number: int
    shape: Any
    version: int
    site: Site


class SiteRing:
    def __init__(self) -> None:
        # The numbers of the nodes that a call made begin at one and end before the other.
        self._begins = [0] * SIZE
        self._ends = [0] * SIZE
        self._sites: list[Any] = [None] * SIZE
        self._at = 0
        self._writes: list[Write] = []
        # Sequence numbers belong to a thread, and a node does not tell which.
        self._thread = threading.get_ident()
        self._is_ambiguous = False

    def add(self, begin: int, end: int, site: Site) -> None:
        if threading.get_ident() != self._thread:
            self._is_ambiguous = True
            return
        i = self._at = (self._at + 1) % SIZE
        self._begins[i], self._ends[i], self._sites[i] = begin, end, site

    def add_write(self, shape: Any, version: int, site: Site) -> None:
        self._writes.append(Write(sequence_number(), shape, version, site))
        if len(self._writes) > 2 * WRITES:
            del self._writes[:-WRITES]

    def site_of(self, number: int) -> Any:
        """The line that made the node with this number; None if it was not seen."""
        if self._is_ambiguous:
            return None
        oldest = self._at + 1
        found = bisect.bisect_right(range(SIZE), number, key=lambda k: self._begins[(oldest + k) % SIZE]) - 1
        i = (oldest + found) % SIZE
        return self._sites[i] if found >= 0 and number < self._ends[i] else None

    def writer(self, number: int, shape: Any, version: int) -> Site | None:
        """The line that wrote what the node with this number had saved; `version` is the tensor's present one."""
        later = [write for write in self._writes if write.number > number]
        fitting = [write for write in later if write.shape == shape and write.version == version]
        # A transposed weight has another shape than the parameter which the optimizer wrote.
        return next((write.site for write in fitting or [write for write in later if write.shape is None]), None)

    def clear(self) -> None:
        """Forget everything; called when nobody listens any more."""
        self.__init__()  # type: ignore[misc]


ring = SiteRing()
