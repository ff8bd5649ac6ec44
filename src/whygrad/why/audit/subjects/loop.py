"""The loop: is every gradient applied before it is cleared?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.record import Site

MIN_TIMES = 3


class Passes:
    """The backward passes of one line: how many, and how many were cleared before any step applied them."""

    def __init__(self) -> None:
        self.count = 0
        self.wasted = 0
        self.cleared_at: Site | None = None


class Loop(Subject):
    checks = {"applied": "gradients are applied before they are cleared"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._passes: dict[Site, Passes] = {}
        # Lines of the backward passes since the last step or zero_grad().
        self._open: list[Site] = []

    def backward_begun(self, backward: Any, root: Any) -> None:
        if not backward.only_captures and not self.audit.is_stepping:
            self._passes.setdefault(backward.site, Passes()).count += 1
            self._open.append(backward.site)
            del self._open[:-64]

    def zeroed(self, owner: Any, site: Site) -> None:
        if self.audit.is_stepping:
            return
        for line in self._open:
            passes = self._passes[line]
            passes.wasted += 1
            passes.cleared_at = site
        self._open = []

    def before_step(self, record: OptimizerRecord) -> None:
        self._open = []

    def was_seen(self, check: str) -> bool:
        return bool(self._passes) and any(record.steps for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        if self.audit.watch.reads_gradients():
            return  # the program may use them itself
        for site, passes in self._passes.items():
            applied = passes.count - passes.wasted
            if passes.wasted < MIN_TIMES or applied < MIN_TIMES or passes.wasted < 0.3 * passes.count:
                continue
            record = max(self.audit.optimizers.values(), key=lambda r: r.steps, default=None)
            yield finding(
                "applied", "grad-cleared", "most gradients are cleared before a step applies them",
                f"Of {passes.count} backward passes {at(site)}, {passes.wasted} were cleared by zero_grad() {at(passes.cleared_at)} before "
                "optimizer.step() could apply them: only the others count.",
                "clear the gradients once per step (right after optimizer.step()), not once per backward.",
                at=site, causes=(passes.cleared_at, None if record is None else record.stepped_at, site))
