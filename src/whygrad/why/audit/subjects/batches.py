"""Batches: is each batch a mixture, with targets that differ from sample to sample?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call
from whygrad.why.audit.provenance import Made, lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.targets import CLASSIFYING, REGRESSING
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_tensor, shape_of
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_BATCH, MIN_ROUNDS = 8, 6
MAX_SITES = 64


class Uniform:
    """What the batches of one line had for targets."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rounds: set[int] = set()
        # The targets of batches in which all were the same; False once a batch was mixed.
        self.values: set[bytes] = set()
        self.is_uniform = True
        self.size = self.classes = 0
        self.made: Made | None = None


class Batches(Subject):
    every_round = frozenset({"iterated"})
    checks = {"mixed": "the targets of a batch differ from sample to sample"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._losses: dict[Site, Uniform] = {}
        # The loader that was iterated last, if it goes through its data in the order in which it is.
        self._in_order: Site | None = None

    def iterated(self, loader: Any, site: Site) -> None:
        if type(getattr(loader, "sampler", None)).__name__ == "SequentialSampler":
            self._in_order = site

    def loss_called(self, call: Call) -> None:
        prediction, target = call.argument(0, "input"), call.argument(1, "target")
        name = call.name.rpartition(".")[2]
        if name not in CLASSIFYING | REGRESSING or not is_tensor(prediction) or not is_tensor(target):
            return
        shape = shape_of(target)
        if not prediction.requires_grad or target.requires_grad or not shape or shape[0] < MIN_BATCH:
            return
        known = self._losses.setdefault(call.site, Uniform(name))
        drop_oldest(self._losses, MAX_SITES)
        values = array_of(target).reshape(shape[0], -1)
        known.is_uniform = known.is_uniform and bool((values == values[:1]).all())
        known.rounds.add(self.audit.round)
        if known.is_uniform:
            known.values.add(np.ascontiguousarray(values[0]).tobytes())
            known.size = shape[0]
            known.classes = shape_of(prediction)[1] if name in CLASSIFYING and len(shape_of(prediction)) > 1 else 0
            known.made = self.audit.provenance.of(target) or known.made

    def was_seen(self, check: str) -> bool:
        return any(len(known.rounds) >= MIN_ROUNDS for known in self._losses.values())

    def findings(self) -> Iterator[Finding]:
        for site, known in self._losses.items():
            if not known.is_uniform or len(known.rounds) < MIN_ROUNDS or len(known.values) < 2:
                continue
            here, lines = locate(site), lines_of(known.made)
            if known.classes > 2 or (known.classes == 2 and self._in_order is not None):
                loaders = [] if here is None else lines_matching(here.file, r"\bDataLoader\(")
                yield finding("mixed", "data-unshuffled", "each batch has samples of one class only",
                              f"In each of {count_of(len(known.rounds), 'observed step')} the {known.size} targets of "
                              f"{known.name} {at(site)} were all the same, and others from batch to batch: the data is sorted "
                              "by class and is not shuffled. Each step teaches the model to answer with the class of its batch, "
                              "and to forget the others.",
                              "shuffle: DataLoader(..., shuffle=True), or index with a random permutation of all samples.",
                              at=site, causes=(*loaders[:2], self._in_order, *lines[:3], site), symptom="wrong-value")
            elif not known.classes and len(known.values) >= MIN_ROUNDS:
                stored = [] if here is None else lines_matching(here.file, r"\.(append|add|push|extend|appendleft)\(")[:3]
                yield finding("mixed", "input-degenerate", "all targets of a batch are the same",
                              f"In each of {count_of(len(known.rounds), 'observed step')} the {known.size} targets of "
                              f"{known.name} {at(site)} were equal to each other, and others from step to step: they are one "
                              "and the same, most likely one array or object that was stored many times and changed since.",
                              "store copies: append(state.copy()), or .clone() of a tensor.",
                              at=site, causes=(*stored, *lines[:3], site), symptom="wrong-value")
