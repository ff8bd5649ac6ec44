"""Functions: is what a custom autograd.Function returns the derivative of its forward?"""

from __future__ import annotations

from collections.abc import Iterator

from whygrad.why.audit.finding import Finding
from whygrad.why.audit.subject import Subject
from whygrad.why.locations import locate
from whygrad.why.rules.custom import is_wrong, mismatch

MIN_STEPS = 3


class Functions(Subject):
    checks = {"functions": "custom Functions return the derivative of their forward"}

    def was_seen(self, check: str) -> bool:
        return any(sample.grads is not None for samples in self.audit.watch.samples.values() for sample in samples)

    def findings(self) -> Iterator[Finding]:
        if not any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values()):
            return
        for function, samples in self.audit.watch.samples.items():
            complete = [sample for sample in samples if sample.grads is not None]
            if complete and all(is_wrong(function, sample) for sample in complete):
                yield Finding("functions", locate(complete[0].site), mismatch(function, complete[0].site))
