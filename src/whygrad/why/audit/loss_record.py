"""LossRecord: what the audit knows of the losses that one line differentiates."""

from __future__ import annotations

import math
from typing import Any

from whygrad.why.audit.series import Series
from whygrad.why.engine import array_of, size_of
from whygrad.why.record import Site


class LossRecord:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.values = Series()
        # The first round whose loss was not finite.
        self.nonfinite_round: int | None = None
        # How often the line asked to retain the graph.
        self.retained = 0

    def note(self, number: int, tensors: tuple[Any, ...], keep: bool) -> None:
        is_scalar = len(tensors) == 1 and size_of(tensors[0]) == 1
        total = float(array_of(tensors[0]).item() if is_scalar else sum(array_of(t).sum() for t in tensors))
        self.values.add(number, total)
        self.retained += keep
        if self.nonfinite_round is None and not math.isfinite(total):
            self.nonfinite_round = number

    def is_constant(self) -> bool:
        values = self.values
        spread = values.greatest - values.least
        if values.count < 5 or not math.isfinite(values.last) or not spread <= max(1e-6 * abs(values.greatest), 1e-6):
            return False
        is_converging = spread > 0 and abs(values.greatest) < 1e-5 and values.first > 0 and values.last < 0.5 * values.first
        return not is_converging
