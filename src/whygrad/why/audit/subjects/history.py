"""History: numbers over the steps that the report draws. It judges nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.series import Series
from whygrad.why.audit.subject import Subject
from whygrad.why.engine import array_of, grad_of

# Parameters of which values are kept, and values of each; optimizers that are gone whose gradient norms are kept.
MAX_PARAMETERS, MAX_VALUES, MAX_OPTIMIZERS = 2000, 1024, 64
# Seconds that measuring may take in any case, and its share of a longer run.
FREE, SHARE = 0.2, 0.05


class GradientNorm:
    """The norm of all gradients of one optimizer, as its steps find them (after clipping)."""

    def __init__(self, record: OptimizerRecord) -> None:
        self.made_at, self.kind = record.made_at, record.kind
        self.values = Series()


class Values:
    """Some values of one parameter before its first step, and of its gradient at the latest step that was observed."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.first = some_values(p)
        self.gradient: np.ndarray | None = None


class History(Subject):
    """Part of the audit only in a run whose report is written."""

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By id of the optimizer's record; and those of optimizers that the audit has let go.
        self._norms: dict[int, GradientNorm] = {}
        self._past: list[GradientNorm] = []
        self.values: dict[int, Values] = {}
        self._began = time.perf_counter()
        self._spent = 0.0

    def before_step(self, record: OptimizerRecord) -> None:
        began = time.perf_counter()
        if self._spent < FREE + SHARE * (began - self._began):
            self._note_norm(record)
            if self.audit.is_observing:
                self._note_values(record)
            self._spent += time.perf_counter() - began

    def _note_norm(self, record: OptimizerRecord) -> None:
        norms = list(self.audit.gradient_norms(record).values())
        if norms:
            if id(record) not in self._norms:
                self._norms[id(record)] = GradientNorm(record)
            self._norms[id(record)].values.add(self.audit.round, math.hypot(*norms))

    def _note_values(self, record: OptimizerRecord) -> None:
        for p in record.parameters:
            known = self.values.get(id(p))
            if known is None or known.p is not p:
                if len(self.values) >= MAX_PARAMETERS:
                    continue
                known = self.values[id(p)] = Values(p)
            if grad_of(p) is not None:
                known.gradient = some_values(grad_of(p))

    def optimizer_forgotten(self, record: OptimizerRecord) -> None:
        norms = self._norms.pop(id(record), None)
        if norms is not None:
            self._past.append(norms)
            del self._past[:-MAX_OPTIMIZERS]
        held = {id(p) for known in self.audit.optimizers.values() if known is not record for p in known.parameters}
        for key in {id(p) for p in record.parameters} - held:
            self.values.pop(key, None)

    def gradient_norms(self) -> list[GradientNorm]:
        return [*self._past, *self._norms.values()]

    def findings(self) -> Iterator[Finding]:
        return iter(())


def some_values(t: Any) -> np.ndarray:
    """Values of an array, evenly spread. The distance is odd, so that they are not all of one column."""
    flat = array_of(t).reshape(-1)
    step = max(1, -(-flat.size // MAX_VALUES))
    return flat[::step if step == 1 else step | 1].copy()
