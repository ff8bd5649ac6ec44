"""Initialization: is each parameter initialized once by a line, before training?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import Call, of_functions
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_parameter
from whygrad.why.record import Reference, Site

# Functions that draw the values of a parameter anew.
DRAWING = frozenset({"normal_", "uniform_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
                     "kaiming_normal_", "orthogonal_"})
MAX_PARAMETERS = 10_000


class Initialization(Subject):
    checks = {"initialized-once": "no line initializes a parameter twice"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # How often a line has drawn a parameter: (its id, the line) -> a reference to it, and the count.
        self._drawn: dict[tuple[int, Site], tuple[Reference, int]] = {}

    @of_functions(*DRAWING)
    def called(self, call: Call) -> None:
        if self.audit.round or call.name.rpartition(".")[2] not in DRAWING or len(self._drawn) >= MAX_PARAMETERS:
            return
        p = call.argument(0, "tensor", None)
        if is_parameter(p):
            key = id(p), call.site
            reference, count = self._drawn.get(key, (Reference(p), 0))
            self._drawn[key] = Reference(p), 1 + (count if reference() is p else 0)

    def was_seen(self, check: str) -> bool:
        return bool(self._drawn)

    def findings(self) -> Iterator[Finding]:
        again: dict[Site, list[tuple[Any, int]]] = {}
        owners = Counter(id(p) for root in list(self.audit.modules.roots.values()) for module in root.modules()
                         for p in module._parameters.values())  # tied weights have several
        for (_, site), (reference, count) in self._drawn.items():
            p = reference()
            if p is not None and count > max(1, owners[id(p)]):
                again.setdefault(site, []).append((p, count))
        held = {id(p) for p in self.audit.parameters()}
        for site, several in again.items():
            names = [self.audit.name_of(p) for p, _ in several if id(p) in held]
            if names:
                most = max(count for _, count in several)
                yield finding("initialized-once", "init-repeated", "a line initializes the same parameters again and again",
                              f"{count_of(len(names), 'parameter')} ({listed(names)}) were drawn up to {most} times {at(site)} "
                              "before the first step: only the last draw counts, the others cost time and random numbers. Is a "
                              "rule applied to every module that has the parameter somewhere inside (named_parameters() goes "
                              "into submodules)?",
                              "initialize a parameter where its own module is visited (named_parameters(recurse=False)).",
                              causes=(site,), parameters=names, symptom="unwanted", odd=True)
