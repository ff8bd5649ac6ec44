"""Loss scaling: is every loss scaled, and every gradient unscaled before it is used?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Clip
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.record import Site

MIN_TIMES = 2


class LossScaling(Subject):
    checks = {"scaler": "scaled losses are unscaled before their gradients are used"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._scaled_at: Site | None = None
        self._was_seen = False
        # The line that scaled a loss whose gradients are still scaled; backward passes since, scaled and not.
        self._pending: Site | None = None
        self._passes: list[tuple[Site, bool]] = []
        self._just_scaled = False
        self._plain: dict[Site, int] = {}
        self._direct: dict[Site, int] = {}
        self._clipped: dict[Site, int] = {}

    def scaled(self, scaler: Any, site: Site) -> None:
        if scaler.is_enabled() and scaler.get_scale() != 1.0:
            self._was_seen = True
            self._pending = self._scaled_at = site
            self._just_scaled = True

    def unscaled(self, scaler: Any, optimizer: Any, site: Site) -> None:
        self._pending = None

    def clipped(self, clip: Clip) -> None:
        if self._pending is not None:
            self._clipped[clip.site] = self._clipped.get(clip.site, 0) + 1

    def backward_begun(self, backward: Any, root: Any) -> None:
        if self._was_seen and len(self._passes) < 64:
            self._passes.append((backward.site, self._just_scaled))
        self._just_scaled = False

    def before_step(self, record: OptimizerRecord) -> None:
        if self._pending is not None:
            self._direct[record.made_at or self._pending] = self._direct.get(record.made_at or self._pending, 0) + 1
        if any(is_scaled for _, is_scaled in self._passes):
            for site, is_scaled in self._passes:
                if not is_scaled:
                    self._plain[site] = self._plain.get(site, 0) + 1
        self._passes = []

    def after_step(self, record: OptimizerRecord) -> None:
        if self._pending is not None:
            self._direct_at = record.stepped_at
        self._pending = None

    def was_seen(self, check: str) -> bool:
        return self._was_seen

    def findings(self) -> Iterator[Finding]:
        for made, count in self._direct.items():
            if count >= MIN_TIMES:
                yield finding("scaler", "scaler-misuse", "the optimizer steps on scaled gradients",
                              f"The loss is multiplied by the GradScaler {at(self._scaled_at)}, but optimizer.step() "
                              f"{at(self._direct_at)} is called directly ({count_of(count, 'time')}): the gradients are "
                              "still scaled, thousands of times too large.",
                              "call scaler.step(optimizer) and scaler.update() instead, which unscale them.",
                              at=self._direct_at, causes=(self._direct_at, self._scaled_at, made), symptom="wrong-value")
        for site, count in self._plain.items():
            if count >= MIN_TIMES:
                yield finding("scaler", "scaler-misuse", "one loss is scaled, another is not",
                              f"backward() {at(site)} differentiates a loss that was not scaled, beside one that was "
                              f"{at(self._scaled_at)}: the step divides both gradients by the scale, so this one is "
                              "thousands of times too small.",
                              "scale every loss: scaler.scale(loss).backward().", at=site, causes=(site, self._scaled_at),
                              symptom="wrong-value")
        for site, count in self._clipped.items():
            if count >= MIN_TIMES:
                yield finding("scaler", "scaler-misuse", "gradients are clipped while they are scaled",
                              f"The gradients are clipped {at(site)} while they still have the scale of the GradScaler, "
                              f"applied {at(self._scaled_at)}: they are cut down to the limit, and divided by the scale "
                              "afterwards: almost nothing is left.",
                              "call scaler.unscale_(optimizer) between backward() and the clipping.",
                              at=site, causes=(site, self._scaled_at), symptom="wrong-value")
