"""Layout: does a reshape only split and merge neighbouring dimensions, or does it mix elements that a transpose would move?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.observation import Call, of_functions
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_parameter, is_tensor, shape_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

RESHAPING = {"reshape", "view"}
MIN_TIMES, MIN_STEPS = 3, 3
MAX_SITES = 64
MAX_DIMS = 5


class Layout(Subject):
    checks = {"layout": "dimensions are exchanged by a transpose, not by a reshape"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By line: both shapes, and how often.
        self._mixed: dict[Site, tuple[tuple[int, ...], tuple[int, ...], int]] = {}
        self._was_seen = False

    @of_functions(*RESHAPING)
    def called(self, call: Call) -> None:
        if call.name.rpartition(".")[2] not in RESHAPING or not is_tensor(call.result):
            return
        given = call.args[0] if call.args else None
        if not is_tensor(given) or is_parameter(given):
            return
        self._was_seen = True
        before, after = shape_of(given), shape_of(call.result)
        if mixes(before, after):
            self._mixed[call.site] = before, after, self._mixed.get(call.site, (0, 0, 0))[2] + 1
            drop_oldest(self._mixed, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return self._was_seen

    def findings(self) -> Iterator[Finding]:
        if not any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values()):
            return
        for site, (before, after, times) in self._mixed.items():
            if times >= MIN_TIMES or sorted(before) == sorted(after):
                yield finding("layout", "wrong-dim", "a reshape stands where dimensions should be exchanged",
                              f"A tensor of shape {list(before)} is reshaped to {list(after)} {at(site)}: the sizes are the same "
                              "in another order, but a reshape moves nothing. It cuts the memory into pieces of the new sizes, "
                              "so that elements of different samples (or places) come to stand in one row.",
                              "exchange the dimensions: x.transpose(a, b) or x.permute(...), then reshape if needed.",
                              causes=(site,), symptom="wrong-value")


def mixes(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether a reshape looks like an exchange of dimensions: of all, or after one was split, or before two are merged."""
    a, b = tuple(n for n in before if n != 1), tuple(n for n in after if n != 1)
    if len(a) < 2 or len(b) < 2 or max(len(a), len(b)) > MAX_DIMS or abs(len(a) - len(b)) > 1 or _is_nested(a, b):
        return False
    if len(a) == len(b):
        return sorted(a) == sorted(b)
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    # (batch, time, heads * width) and (batch, heads, time, width): two dimensions of the longer are one of the shorter.
    return any(_merged(order) == shorter for order in permutations(longer) if order != longer and order[0] == longer[0])


def _merged(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:-2], shape[-2] * shape[-1])


def _is_nested(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the dimensions of both are those of one finer shape: then a reshape only splits and merges neighbours."""
    ends = [{math.prod(shape[:i + 1]) for i in range(len(shape))} for shape in (a, b)]
    common = sorted(ends[0] & ends[1])
    low = 1
    for high in common:
        inner = [[end for end in some if low < end < high] for some in ends]
        if inner[0] and inner[1]:
            return False
        low = high
    return True
