"""The loop: is every gradient applied before it is cleared?"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_node, is_parameter
from whygrad.why.gradient_flow import summands_of
from whygrad.why.record import Site

MIN_TIMES = 3
MAX_ROOTS = 64


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
        # Roots of the backward passes since the last step; lines whose losses were differentiated alone and in a sum: rounds.
        self._roots: list[tuple[weakref.ref[Any], Site]] = []
        self._twice: dict[tuple[Site, Site], set[int]] = {}
        # Backward passes since the last step or zero_grad() that reached an input, by number: line, and whether a parameter too;
        # rounds in which such a pass was applied together with another one.
        self._of_inputs: dict[int, Site] = {}
        self._attacks: dict[tuple[Site, Site], set[int]] = {}

    def backward_begun(self, backward: Any, root: Any) -> None:
        if not backward.only_captures and not self.audit.is_stepping:
            self._passes.setdefault(backward.site, Passes()).count += 1
            self._open.append(backward.site)
            del self._open[:-64]
            self._compare(backward.site, root)

    def _compare(self, site: Site, root: Any) -> None:
        """Whether one of the summands of a loss was differentiated before, in the same step."""
        if not self.audit.is_observing or not is_node(root):
            return
        known = {id(node): line for reference, line in self._roots if (node := reference()) is not None}
        for node in summands_of(root):
            if id(node) in known and node is not root:
                self._twice.setdefault((known[id(node)], site), set()).add(self.audit.round)
        self._roots.append((weakref.ref(root), site))
        del self._roots[:-MAX_ROOTS]

    def deposited(self, leaf: Any, backward: Any, gradient: Any) -> None:
        if not self.audit.is_observing or self.audit.is_stepping:
            return
        if not is_parameter(leaf):
            self._of_inputs[backward.number] = backward.site
        elif backward.number not in self._of_inputs:
            for site in self._of_inputs.values():
                if site != backward.site:
                    self._attacks.setdefault((site, backward.site), set()).add(self.audit.round)

    def zeroed(self, owner: Any, site: Site) -> None:
        if self.audit.is_stepping:
            return
        for line in self._open:
            passes = self._passes[line]
            passes.wasted += 1
            passes.cleared_at = site
        self._open = []
        self._of_inputs.clear()

    def before_step(self, record: OptimizerRecord) -> None:
        self._open = []
        self._roots = []
        self._of_inputs.clear()

    def was_seen(self, check: str) -> bool:
        return bool(self._passes) and any(record.steps for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        for (alone, together), rounds in self._twice.items():
            if len(rounds) >= MIN_TIMES:
                yield finding(
                    "applied", "grad-accumulated", "a loss is differentiated twice",
                    f"What is differentiated {at(alone)} is differentiated once more {at(together)}, as a part of a sum, before "
                    f"the step: its gradients are added up twice, in {len(rounds)} observed steps.",
                    "differentiate the sum alone, or each loss alone.", at=together, causes=(together, alone),
                    symptom="wrong-value")
        for (attack, training), rounds in self._attacks.items():
            if len(rounds) >= MIN_TIMES:
                yield finding(
                    "applied", "grad-accumulated", "the gradients of another backward are applied as well",
                    f"backward() {at(attack)}, which computes the gradient of an input, also adds to the gradients of the "
                    f"parameters. They are not cleared before the backward {at(training)}, and the step applies both, in "
                    f"{len(rounds)} observed steps.",
                    "call optimizer.zero_grad() right before the second backward, or use torch.autograd.grad(loss, x) for the "
                    "input.", at=training, causes=(attack, training), symptom="wrong-value", odd=True)
        if self.audit.watch.reads_gradients():
            return  # the program may use them itself
        for site, passes in self._passes.items():
            applied = passes.count - passes.wasted
            if passes.wasted < MIN_TIMES or applied < MIN_TIMES or passes.wasted < 0.3 * passes.count:
                continue
            record = max(self.audit.optimizers.values(), key=lambda r: r.steps, default=None)
            yield finding(
                "applied", "grad-cleared", "most gradients are cleared before a step applies them",
                f"Of {passes.count} backward passes {at(site)}, {passes.wasted} were cleared by zero_grad() "
                f"{at(passes.cleared_at)} before optimizer.step() could apply them: only the others count.",
                "clear the gradients once per step (right after optimizer.step()), not once per backward.",
                at=site, causes=(passes.cleared_at, None if record is None else record.stepped_at, site))
