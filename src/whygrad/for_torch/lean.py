"""What is kept between the rounds that are recorded in full: which line made which nodes, by torch's sequence numbers.

Nothing is attached to a tensor or to a node. The graph is still there when a backward raises, and each node knows its number:
so the lines are found when somebody asks, and cost next to nothing before.
"""

from __future__ import annotations

import bisect
import dis
import sys
import threading
from types import CodeType
from typing import Any, NamedTuple

import torch

from whygrad.why.record import Site

sequence_number = torch._C._autograd._get_sequence_nr

# Calls that are remembered: the last hundred steps of a small GPT; in-place writes.
SIZE, WRITES = 1 << 14, 1 << 8
# Instructions whose place is that of a statement.
STATEMENTS = ("RETURN", "STORE", "POP", "RESUME", "YIELD")
# The end of an entry that lasts until the next one.
ENDLESS = sys.maxsize


class Write(NamedTuple):
    """An in-place write: the sequence number by then, the tensor's shape (None: of any parameter), its version after it."""

    number: int
    shape: Any
    version: int
    site: Site


class Line(NamedTuple):
    """A line that runs; which of its expressions is not known."""

    code: CodeType
    number: int

    def site(self) -> Site:
        """The widest expression of the line."""
        widest, offset = (-1, 0), 0
        for instruction in dis.get_instructions(self.code):
            place = instruction.positions
            if place is None or place.lineno != self.number or instruction.opname.startswith(STATEMENTS):
                continue
            width = (place.end_lineno or self.number) - self.number, (place.end_col_offset or 0) - (place.col_offset or 0)
            if width > widest:
                widest, offset = width, instruction.offset
        return self.code, offset


class SiteRing:
    def __init__(self) -> None:
        # The numbers of the nodes that a call made begin at one and end before the other; those of a line end where the next
        # entry begins.
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

    def mark(self, code: CodeType, line: int) -> None:
        """This line runs from now on, in this thread."""
        number = sequence_number()
        if threading.get_ident() != self._thread:
            self._is_ambiguous = self._is_ambiguous or number > 0
            return
        i = self._at
        if self._begins[i] != number or self._ends[i] != ENDLESS:  # the line before has made nodes
            i = self._at = (i + 1) % SIZE
            self._begins[i], self._ends[i] = number, ENDLESS
        self._sites[i] = code, line

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
        if found < 0 or number >= self._ends[i] or self._sites[i] is None:
            return None
        return self._sites[i] if self._ends[i] != ENDLESS else Line(*self._sites[i]).site()

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
