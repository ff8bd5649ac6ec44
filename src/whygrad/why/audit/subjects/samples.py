"""Samples: does each sample keep its label from epoch to epoch, and is what is validated other data than what is trained?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why import record
from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.targets import FILLED
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_tensor
from whygrad.why.gradient_flow import COMPARING, SELECTING, STEPWISE
from whygrad.why.library_design import is_library_file
from whygrad.why.locations import expression_at
from whygrad.why.record import Site

# Samples that are remembered, those that must come again, and the share of them whose label must have changed.
MAX_SAMPLES, MIN_AGAIN, SHARE = 50_000, 24, 0.3
MAX_BATCH, MIN_VALUES = 4096, 4
# Evaluated samples that must be among the trained ones.
MIN_EVALUATED, SHARED = 16, 0.95
# Frames in which the program's own call is looked for.
MAX_FRAMES = 100
# The share of the samples that should have been drawn, of which less were.
REACHED = 0.2
VALIDATING = re.compile(r"(^|[^a-z])(val|valid|validation|test|heldout|held_out|dev)([^a-z]|$|x\b|y\b|_)", re.IGNORECASE)
# Calls whose results are no labels that belong to a sample for good.
COMPUTED = FILLED | SELECTING | STEPWISE | COMPARING | {"argmax", "topk", "where", "multinomial", "arange", "bucketize"}


class Samples(Subject):
    every_round = frozenset({"iterated", "sampler_made"})
    checks = {
        "labels-stay": "a sample has the same label in every epoch",
        "data-reached": "batches are drawn from all of the data",
        "held-out": "what is validated was not trained on",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # The samples of the model that was called last, in training.
        self._rows: list[int] = []
        self._row_made: list[Site] = []
        # By sample: its first label; by line of a loss: samples that came again, and with another label than before.
        self._labels: dict[tuple[Site, int], int] = {}
        self._again: dict[Site, list[int]] = {}
        self._causes: dict[Site, list[Site]] = {}
        self._trained: set[int] = set()
        # The loader that was iterated last before a training step: its dataset's size, where, and how many samples came of it.
        self._loader: tuple[int, Site] | None = None
        self._drawn: dict[Site, tuple[int, int, set[int]]] = {}
        self._samplers: list[Site] = []
        # By line of an evaluation of what is named like validation data: the samples, and the lines that call it.
        self._evaluated: dict[Site, tuple[set[int], tuple[Site, ...]]] = {}

    def iterated(self, loader: Any, site: Site) -> None:
        size = getattr(getattr(loader, "dataset", None), "__len__", None)
        reaches_all = type(getattr(loader, "sampler", None)).__name__ in ("RandomSampler", "SequentialSampler")
        self._loader = None if size is None or reaches_all else (size(), site)

    def sampler_made(self, sampler: Any, site: Site) -> None:
        self._samplers = [*self._samplers[-3:], site]

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        rows = _samples([array_of(t) for t in tensors_of(call)])
        if is_grad_enabled() and call.module.training:
            self._rows = rows
            given = next(iter(tensors_of(call)), None)
            self._row_made = [] if given is None else lines_of(self.audit.provenance.of(given))
            if self._loader is not None and rows:
                size, site = self._loader
                count, _, seen = self._drawn.get(site, (0, 0, set()))
                seen.update(rows[:MAX_SAMPLES - len(seen)])
                self._drawn[site] = count + len(rows), size, seen
            if len(self._trained) < MAX_SAMPLES:
                self._trained.update(rows)
        elif not is_grad_enabled() and not call.module.training and rows and len(self._evaluated) < 32:
            near = (call.site, *record.callers(3))
            if call.site in self._evaluated or any(VALIDATING.search(expression_at(site)) for site in near):
                known = self._evaluated.setdefault(call.site, (set(), self._of_program(near)))[0]
                if len(known) < MAX_SAMPLES:
                    known.update(rows)

    def _of_program(self, callers: tuple[Site, ...]) -> tuple[Site, ...]:
        """These callers, or the program's own ones if a library has called the model."""
        if not is_library_file(callers[0][0].co_filename):
            return callers
        return tuple([site for site in record.callers(MAX_FRAMES) if not is_library_file(site[0].co_filename)])[:3] or callers

    def loss_called(self, call: Call) -> None:
        target, rows = call.argument(1, "target"), self._rows
        self._rows = []
        if not is_tensor(target) or not rows:
            return
        labels = array_of(target)
        made = self.audit.provenance.of(target)
        if labels.dtype.kind not in "iu" or labels.shape not in ((len(rows),), (len(rows), 1)):
            return
        if made is not None and any(m.name in COMPUTED for m in (made, *made.ancestors())):
            return
        again = self._again.setdefault(call.site, [0, 0])
        earlier, now = [], []
        for row, label in zip(rows, labels.reshape(-1).tolist(), strict=True):
            known = self._labels.get((call.site, row))
            if known is None:
                if len(self._labels) < MAX_SAMPLES:
                    self._labels[call.site, row] = label
            else:
                earlier.append(known)
                now.append(label)
        if len(set(zip(earlier, now, strict=True))) > len(set(earlier)):  # else the classes were renamed
            again[1] += sum(a != b for a, b in zip(earlier, now, strict=True))
            self._causes[call.site] = [*lines_of(made)[:2], *self._row_made[:2]]
        again[0] += len(now)

    def was_seen(self, check: str) -> bool:
        return any(again[0] for again in self._again.values()) if check == "labels-stay" else bool(self._evaluated)

    def findings(self) -> Iterator[Finding]:
        for site, (again, changed) in self._again.items():
            if again >= MIN_AGAIN and changed > SHARE * again:
                found = finding("labels-stay", "labels-shuffled", "samples change their labels",
                                f"{again} samples came again {at(site)} in a later batch, the same to the last digit, and "
                                f"{changed} of them with another label than before: inputs and labels are put into different "
                                "orders, so a label does not belong to its sample.",
                                "index inputs and labels with the same permutation.",
                                at=site, causes=(*self._causes.get(site, ()), site), symptom="wrong-value")
                found.unless = {"label-dtype", "labels-shuffled"}
                yield found
        for site, (count, size, seen) in self._drawn.items():
            expected = size * (1 - math.exp(-count / size)) if size else 0
            if expected >= 64 and len(seen) < MAX_SAMPLES and len(seen) < REACHED * expected:
                found = finding("data-reached", "data-unreached", "most of the data is never drawn",
                                f"The loader {at(site)} has {size} samples; of the {count} that it gave in the observed steps "
                                f"only {len(seen)} were different. The model never sees the rest.",
                                "look at the sampler: WeightedRandomSampler wants one weight for each sample, not for each "
                                "class; a sampler's indices must reach the end of the data.",
                                at=site, causes=(*self._samplers, site), symptom="wrong-value")
                found.hides, found.unless = {"target-constant", "class-never-seen", "input-degenerate"}, {"data-constant"}
                yield found
        for rows, callers in self._evaluated.values():
            shared = len(rows & self._trained)
            if len(rows) >= MIN_EVALUATED and shared >= SHARED * len(rows):
                yield finding("held-out", "validation-trained", "the model is validated with what it was trained on",
                              f"{shared} of the {count_of(len(rows), 'sample')} that are evaluated {at(callers[0])} were "
                              "trained on, the same to the last digit: the numbers tell how well the model remembers, not how "
                              "well it predicts.",
                              "split the data first, and keep one part out of the training.", causes=(*callers[::-1],),
                              symptom="wrong-value")


def _samples(arrays: list[np.ndarray]) -> list[int]:
    """A number for each row of several arrays of one length, if some are real numbers: equal rows are one sample."""
    if not arrays or not arrays[0].ndim or not 1 < len(arrays[0]) <= MAX_BATCH:
        return []
    rows = len(arrays[0])
    if not any(a.dtype.kind == "f" and a.ndim > 1 and a[0].size >= MIN_VALUES for a in arrays):
        return []
    ours = [np.ascontiguousarray(a).reshape(rows, -1) for a in arrays if a.ndim and len(a) == rows]
    found = [hash(tuple(a[i].tobytes() for a in ours)) for i in range(rows)]
    return found if len(set(found)) > 1 else []
