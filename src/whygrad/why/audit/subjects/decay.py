"""Decay: does weight decay leave the weights what they learn?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import norm
from whygrad.why.causes import at
from whygrad.why.engine import shape_of

MIN_STEPS, MIN_MEASURED = 8, 6
# A decay of this size is none of those that are usual.
UNUSUAL = 0.1
# How much larger than its gradient the decay of a weight is, and what it leaves of the weights.
LARGER, LEFT = 3.0, 0.5


class Decay(Subject):
    checks = {"decay": "weight decay is smaller than what is learned"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By id of a weight: its norm before the first step; and how often the decay was larger than the gradient, or smaller.
        self._first: dict[int, tuple[Any, float]] = {}
        self._larger: dict[int, list[bool]] = {}

    def before_step(self, record: OptimizerRecord) -> None:
        if not self.audit.is_observing or not any(_decay(group) >= UNUSUAL for group in record.groups):
            return
        sizes = self.audit.gradient_norms(record)
        for group in record.groups:
            for p in group["params"] if _decay(group) >= UNUSUAL else ():
                if len(shape_of(p)) < 2 or id(p) not in sizes:
                    continue
                size = norm(p)
                self._first.setdefault(id(p), (p, size))
                if _is_decoupled(record, group):
                    wins = float(group["lr"]) * _decay(group) > 0.02
                else:
                    wins = _decay(group) * size > LARGER * sizes[id(p)]
                seen = self._larger.setdefault(id(p), [])
                if len(seen) < MIN_STEPS * 16:
                    seen.append(wins)

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        for record in self.audit.optimizers.values():
            weights = [self._first[id(p)] for p in record.parameters if id(p) in self._first]
            if record.steps < MIN_STEPS or not weights:
                continue
            seen = [wins for p, _ in weights for wins in self._larger[id(p)]]
            before, after = (math.sqrt(sum(x * x for x in xs)) for xs in ([b for _, b in weights], [norm(p) for p, _ in weights]))
            if len(seen) >= MIN_MEASURED and sum(seen) > 0.5 * len(seen) and after < LEFT * before:
                decay = max(_decay(group) for group in record.groups)
                yield finding("decay", "decay-too-strong", "weight decay removes what is learned",
                              f"{record.kind}, made {at(record.made_at)}, has weight_decay={decay:g}: in most of the observed "
                              "steps it pulled the weights to zero more strongly than the loss pulled them elsewhere, and their "
                              f"norm fell from {before:.3g} to {after:.3g} in {count_of(record.steps, 'step')}.",
                              "usual values are 1e-5 to 1e-2 (0.1 for AdamW with a small rate).", at=record.stepped_at,
                              causes=(record.made_at, *record.callers), symptom="wrong-value")
                return


def _decay(group: dict[str, Any]) -> float:
    return float(group.get("weight_decay") or 0)


def _is_decoupled(record: OptimizerRecord, group: dict[str, Any]) -> bool:
    return bool(group.get("decoupled_weight_decay")) or record.kind.endswith("AdamW")
