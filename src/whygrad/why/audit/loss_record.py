"""LossRecord: what the audit knows of the losses that one line differentiates."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from whygrad.why import engine
from whygrad.why.audit.series import Series
from whygrad.why.record import Site

# Values that may be on their way: a device is some steps behind.
MAX_COMING = 64


class LossRecord:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.values = Series()
        # Values on their way from a device, with their rounds.
        self._coming: deque[tuple[int, Callable[[], float | None]]] = deque()
        # The first round whose loss was not finite.
        self.nonfinite_round: int | None = None
        # How often the line asked to retain the graph.
        self.retained = 0

    def note(self, number: int, tensors: tuple[Any, ...], keep: bool) -> None:
        self.retained += keep
        later = engine.current.total_later(tensors)
        if isinstance(later, float):
            self._add(number, later)
        elif not self._coming and (total := later()) is not None:
            self._add(number, total)
        else:
            self._coming.append((number, later))
            self.settle()

    def settle(self) -> None:
        """Take the values that have come from the device."""
        while self._coming:
            number, read = self._coming[0]
            total = read()
            if total is None and len(self._coming) <= MAX_COMING:
                return
            self._coming.popleft()
            if total is not None:
                self._add(number, total)

    def _add(self, number: int, total: float) -> None:
        self.values.add(number, total)
        if self.nonfinite_round is None and not math.isfinite(total):
            self.nonfinite_round = number

    def is_constant(self) -> bool:
        values = self.values
        spread = values.greatest - values.least
        if values.count < 5 or not math.isfinite(values.last) or not spread <= max(1e-6 * abs(values.greatest), 1e-6):
            return False
        is_converging = spread > 0 and abs(values.greatest) < 1e-5 and values.first > 0 and values.last < 0.5 * values.first
        return not is_converging
