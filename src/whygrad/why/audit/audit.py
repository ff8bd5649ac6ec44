"""Audit: hears of a run's events, decides which rounds are observed, and collects the findings of its subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from whygrad.why import record
from whygrad.why.audit import rounds
from whygrad.why.audit.finding import Finding
from whygrad.why.audit.loss_record import LossRecord
from whygrad.why.audit.module_tree import ModuleTree
from whygrad.why.audit.observation import Call, ModuleCall, Observation
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.provenance import Provenance
from whygrad.why.audit.scheduler_record import SchedulerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects import SUBJECTS
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Optimizers whose parameters are held for the whole run. Of more, the longest unused is judged and let go.
MAX_OPTIMIZERS = 16
# Lines that call backward() whose losses are kept.
MAX_LOSSES = 64


# Categories of findings that follow from another one: only the cause is told.
CONSEQUENCES: dict[str, set[str]] = {
    "input-degenerate": {"zero-factor", "output-constant", "data-constant"},
    "dropout-all": {"zero-factor", "zero-local-derivative", "output-constant"},
    "masked-all": {"vanishing-gradient", "zero-factor", "output-constant"},
    "saturated": {"vanishing-gradient", "output-constant"},
    "zero-local-derivative": {"output-constant", "saturated", "loss-constant"},
    "output-constant": {"zero-factor"},
    "init-symmetric": {"zero-factor", "output-constant"},
    "batchnorm-single": {"output-constant"},
    "wrong-loss-input": {"diverged"},
    "scaler-misuse": {"diverged", "clip-too-tight", "exploding-gradient", "update-too-small", "clip-misplaced", "accumulation-undivided"},
    "learning-rate-zero": {"update-too-small"},
    "scheduler-per-batch": {"update-too-small", "learning-rate-zero"},
    "loss-scaled-twice": {"update-too-small"},
    "clip-too-tight": {"update-too-small"},
    "second-derivative-zero": {"term-without-influence", "zero-factor", "unused-in-loss"},
    "diverged": {"exploding-gradient", "saturated", "nan-forward", "nan-derivative"},
    "optimizer-recreated": {"optimizer-state-lost"},
    "parameter-in-forward": {"not-in-optimizer"},
    "grad-accumulated": {"accumulation-undivided", "diverged"},
    "broadcast-loss": {"output-constant"},
}


class Audit:
    """`guard` calls a function and catches what it raises: an error of the audit must not change what the program does."""

    def __init__(self, watch: Any, guard: Callable[..., None], is_observed: rounds.Schedule = rounds.sampled) -> None:
        self.watch = watch
        self._is_observed = is_observed
        # The number of optimizer steps so far, and whether the current round is observed.
        self.round = 0
        self.is_observing = False
        self.optimizers: dict[int, OptimizerRecord] = {}
        self.losses: dict[Site, LossRecord] = {}
        self.schedulers: dict[int, SchedulerRecord] = {}
        self.modules = ModuleTree()
        self.provenance = Provenance(self)
        self._guard = guard
        self._observation = Observation(lambda call: self.tell("called", call), lambda call: self.tell("module_called", call))
        self.subjects: list[Subject] = [kind(self) for kind in SUBJECTS]
        self._listeners: dict[str, list[Callable[..., None]]] = {}
        # Checks whose findings follow from another one: the category of that. Subjects that raised an error when they were asked.
        self.implied: dict[str, str] = {}
        self.undecided: list[Subject] = []
        # True while a subject looks at something: what it does itself is no event.
        self._is_busy = False

    def start(self) -> None:
        self._observe(True)

    def stop(self) -> None:
        self._observe(False)
        self.modules.stop()

    def _observe(self, on: bool) -> None:
        self.is_observing = on
        self._observation.switch(on)

    def tell(self, event: str, *facts: Any) -> None:
        """Pass an event on to the subjects that have a method of its name."""
        if self._is_busy:
            return
        listeners = self._listeners.get(event)
        if listeners is None:
            found = [getattr(subject, event, None) for subject in (self, self.modules, self.provenance, *self.subjects)]
            listeners = self._listeners[event] = [method for method in found if method is not None]
        self._is_busy = True
        try:
            for listener in listeners:
                self._guard(listener, *facts)
        finally:
            self._is_busy = False

    def record_of(self, optimizer: Any) -> OptimizerRecord:
        """The record of an optimizer, which is made when it is first seen."""
        found = self.optimizers.get(id(optimizer))
        if found is None or found.optimizer is not optimizer:
            found = self.optimizers[id(optimizer)] = OptimizerRecord(optimizer)
            self.tell("optimizer_made", found)
            if len(self.optimizers) > MAX_OPTIMIZERS:
                oldest = min(self.optimizers.values(), key=lambda known: known.last_round)
                self.tell("optimizer_forgotten", oldest)
                del self.optimizers[id(oldest.optimizer)]
        return found

    def differentiated(self, tensors: tuple[Any, ...], keep: bool, site: Site) -> None:
        """backward() of these tensors begins."""
        known = self.losses.get(site)
        if known is None:
            known = self.losses[site] = LossRecord(site)
            drop_oldest(self.losses, MAX_LOSSES)
        known.note(self.round, tensors, keep)

    def scheduler_made(self, scheduler: Any, site: Site) -> None:
        self.schedulers[id(scheduler)] = SchedulerRecord(scheduler, site)
        drop_oldest(self.schedulers, MAX_OPTIMIZERS)

    def scheduler_stepped(self, scheduler: Any, site: Site) -> None:
        known = self.schedulers.get(id(scheduler))
        if known is not None:
            known.note_step(self.round, site)

    def begin_step(self, optimizer: Any) -> None:
        self.tell("before_step", self.record_of(optimizer))

    def end_step(self, optimizer: Any) -> None:
        known = self.record_of(optimizer)
        known.note_step(self.round, record.site())
        self.tell("after_step", known)
        self.tell("round_ended", self.round)
        self.round += 1
        observe = self._is_observed(self.round)
        if observe != self.is_observing:
            self._observe(observe)

    def name_of(self, p: Any) -> str:
        """The dotted name of a parameter in its model."""
        return self.modules.name_of(p)

    def findings(self) -> Iterator[Finding]:
        """One finding for each cause: what several parameters share is told once."""
        together: dict[Any, Finding] = {}
        for subject in self.subjects:
            for found in self._collect(subject):
                explanation = found.explanation
                first = explanation.causes[0] if explanation.causes else None
                key = explanation.category, first, explanation.odd
                known = together.setdefault(key, found)
                if known is not found:
                    known.explanation.parameters += [
                        name for name in explanation.parameters if name not in known.explanation.parameters]
        found_categories = [found.explanation.category for found in together.values() if not found.explanation.odd]
        told_otherwise = {category: one for one in found_categories for category in CONSEQUENCES.get(one, ())}
        for found in together.values():
            cause = told_otherwise.get(found.explanation.category)
            if cause is None:
                found.explanation.check = found.check
                yield found
            else:
                self.implied[found.check] = cause

    def was_seen(self, subject: Subject, check: str) -> bool:
        """True if the run had what this check looks at, and its subject could tell."""
        seen: list[bool] = []
        self._guard(lambda: seen.append(subject.was_seen(check)))
        return subject not in self.undecided and any(seen)

    def parameters(self) -> list[Any]:
        """The parameters that the known optimizers hold."""
        return list({id(p): p for record in self.optimizers.values() for p in record.parameters}.values())

    def _collect(self, subject: Subject) -> list[Finding]:
        found: list[Finding] = []
        self.undecided.append(subject)

        def ask() -> None:
            found.extend(subject.findings())
            self.undecided.remove(subject)

        self._guard(ask)
        return found
