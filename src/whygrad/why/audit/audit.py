"""Audit: hears of a run's events, decides which rounds are observed, and collects the findings of its subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

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
    "zero-local-derivative": {"output-constant", "saturated", "loss-constant", "init-symmetric"},
    "zero-factor": {"output-constant", "init-symmetric"},
    "vanishing-gradient": {"output-constant", "update-too-small"},
    "exploding-gradient": {"update-too-small"},
    "init-symmetric": {"output-constant"},
    "batchnorm-single": {"output-constant"},
    "wrong-loss-input": {"diverged"},
    "scaler-misuse": {"diverged", "clip-too-tight", "exploding-gradient", "update-too-small", "accumulation-undivided"},
    "clip-misplaced": {"scaler-misuse", "clip-too-tight", "diverged"},
    "no-backward": {"loss-unused", "loss-constant", "unused-in-loss", "step-missing"},
    "learning-rate-zero": {"update-too-small", "schedule-wrong"},
    "scheduler-per-batch": {"update-too-small", "learning-rate-zero"},
    "loss-scaled-twice": {"update-too-small"},
    "clip-too-tight": {"update-too-small"},
    "loss-constant": {"zero-factor", "output-constant", "target-constant"},
    "loss-unused": {"detach", "unused-in-loss"},
    "loss-detached": {"value-copied-out"},
    "second-derivative-zero": {"term-without-influence", "zero-factor", "unused-in-loss"},
    "diverged": {"exploding-gradient", "saturated", "nan-forward", "nan-derivative", "output-constant", "vanishing-gradient"},
    "nan-forward": {"output-constant", "diverged", "exploding-gradient"},
    "nan-derivative": {"output-constant", "diverged", "exploding-gradient"},
    "optimizer-recreated": {"optimizer-state-lost"},
    "optimizer-state-lost": {"unused-in-loss", "leaf-replaced"},
    "parameter-in-forward": {"not-in-optimizer"},
    "parameter-rewrapped": {"parameter-in-forward", "leaf-replaced"},
    "leaf-replaced": {"not-in-optimizer", "unused-in-loss"},
    "grad-accumulated": {"accumulation-undivided", "diverged"},
    "broadcast-loss": {"output-constant"},
    "missing-detach": {"graph-kept"},
    "step-missing": {"scheduler-before-optimizer", "grad-cleared", "loss-constant"},
    "update-too-small": {"loss-constant"},
}


S = TypeVar("S", bound=Subject)


class Audit:
    """`guard` calls a function and catches what it raises: an error of the audit must not change what the program does."""

    def __init__(self, watch: Any, guard: Callable[..., None], is_observed: rounds.Schedule = rounds.sampled) -> None:
        self.watch = watch
        self._is_observed = is_observed
        # The number of optimizer steps so far, and whether the current round is observed.
        self.round = 0
        self.is_observing = False
        # True during optimizer.step(), whose closure may compute gradients again and again.
        self.is_stepping = False
        self.optimizers: dict[int, OptimizerRecord] = {}
        self.losses: dict[Site, LossRecord] = {}
        self.schedulers: dict[int, SchedulerRecord] = {}
        self.modules = ModuleTree()
        self.provenance = Provenance(self)
        # The lines that converted modules to another dtype.
        self.conversions: list[Site] = []
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
                oldest = min((known for known in self.optimizers.values() if known is not found), key=lambda known: known.last_round)
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

    def converted(self, module: Any, site: Site) -> None:
        self.conversions.append(site)
        del self.conversions[:-8]

    def begin_step(self, optimizer: Any) -> None:
        known = self.record_of(optimizer)
        known.held_ids = {id(p) for p in known.parameters}
        self.tell("before_step", known)
        self.is_stepping = True

    def end_step(self, optimizer: Any) -> None:
        known = self.record_of(optimizer)
        self.is_stepping = False
        known.note_step(self.round, record.site())
        self.tell("after_step", known)
        self.tell("round_ended", self.round)
        self.round += 1
        observe = self._is_observed(self.round)
        if observe != self.is_observing:
            self._observe(observe)

    def subject(self, kind: type[S]) -> S:
        """The subject of a class."""
        return next(subject for subject in self.subjects if isinstance(subject, kind))

    def name_of(self, p: Any) -> str:
        """The dotted name of a parameter in its model."""
        return self.modules.name_of(p)

    def findings(self) -> Iterator[Finding]:
        """One finding for each cause: what several parameters share is told once."""
        if self.watch.answers and not any(record.steps for record in self.optimizers.values()):
            return  # no training: what the program asks is answered
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
        # Categories that follow from another one, by which they are told.
        hidden = {category: known for known in self.watch.reported_categories() for category in CONSEQUENCES.get(known, ())}
        causes = [found for found in together.values() if not found.explanation.odd]
        overruled = {category: found.explanation.category for found in causes for category in found.hides or ()}
        for found in causes:
            category = found.explanation.category
            if category not in overruled:
                follows = CONSEQUENCES.get(category, set()) if found.hides is None else found.hides
                hidden |= dict.fromkeys(follows, category)
        hidden |= overruled
        for found in together.values():
            if found.explanation.category not in hidden:
                found.explanation.check = found.check
                yield found
            else:
                self.implied[found.check] = hidden[found.explanation.category]

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
        self._guard(lambda: (found.extend(subject.findings()), self.undecided.remove(subject)))
        return found
