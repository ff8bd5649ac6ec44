"""Audit: hears of a run's events, decides which rounds are observed, and collects the findings of its subjects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from whygrad.why import engine, record
from whygrad.why.audit import rounds
from whygrad.why.audit.finding import Finding
from whygrad.why.audit.loss_record import LossRecord
from whygrad.why.audit.model_names import ModelNames
from whygrad.why.audit.module_tree import ModuleTree
from whygrad.why.audit.observation import Call, ModuleCall, that_want
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.provenance import Provenance
from whygrad.why.audit.rerun import Rerun
from whygrad.why.audit.scheduler_record import SchedulerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects import SUBJECTS
from whygrad.why.audit.values import norms
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest, was_reached

# Optimizers whose parameters are held for the whole run. Of more, the longest unused is judged and let go.
MAX_OPTIMIZERS = 16
# Seconds for which modules are run again at the end: under `whygrad audit`, else a share of the run's time.
MAX_SECONDS, MIN_SECONDS, SHARE = 4.0, 0.3, 0.02
# Lines that call backward() whose losses are kept.
MAX_LOSSES = 64


# Categories of findings that follow from another one: only the cause is told.
CONSEQUENCES: dict[str, set[str]] = {
    "checkpoint-no-grad-input": {"unused-in-loss"},
    "grad-mode-off": {"unused-in-loss"},
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
    "log-softmax-twice": {"zero-local-derivative"},
    "module-aliased": {"loss-constant", "state-aliased"},
    "hook-late-binding": {"unused-in-loss"},
    "values-constant": {"vanishing-gradient"},
    "loss-negated": {"diverged"},
    "loss-unused": {"detach", "unused-in-loss"},
    "loss-detached": {"value-copied-out"},
    "second-derivative-zero": {"term-without-influence", "zero-factor", "unused-in-loss"},
    "diverged": {"exploding-gradient", "saturated", "output-constant", "vanishing-gradient"},
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
    """Hears of events, and passes them on. Its own errors must not change what the program does: the watch collects them."""

    every_round = frozenset({"differentiated", "scheduler_made", "scheduler_stepped", "converted"})
    # True for `whygrad audit`, which observes every one of the first rounds.
    observes_all = False

    def __init__(self, watch: Any) -> None:
        self.watch = watch
        # The number of optimizer steps so far, and whether the current round is observed.
        self.round = 0
        self._begun = time.monotonic()
        self.is_observing = False
        # True during optimizer.step(), whose closure may compute gradients again and again.
        self.is_stepping = False
        self.optimizers: dict[int, OptimizerRecord] = {}
        self.losses: dict[Site, LossRecord] = {}
        # The gradients' norms before the present step, with its round and the id of the optimizer's record.
        self._norms: tuple[Any, dict[int, float]] = None, {}
        self._lines_seen = 0
        self._losses_by_id: dict[tuple[int, int], tuple[Site, LossRecord]] = {}
        self.schedulers: dict[int, SchedulerRecord] = {}
        self.modules = ModuleTree()
        self._names = ModelNames(self.modules, self._is_trained)
        self.provenance = Provenance(self)
        # The lines that converted modules to another dtype.
        self.conversions: list[Site] = []
        self._observation = engine.current.observing(self.tell_called, self.tell_module_called)
        self.subjects: list[Subject] = [kind(self) for kind in SUBJECTS]
        self._listeners: dict[tuple[str, bool], list[Callable[..., None]]] = {}
        # Of calls: by the function's name, and by whether another module has called a module.
        self._listeners_to: dict[Any, list[Callable[..., None]]] = {}
        # True if nothing is done in this round but counting steps and looking at the loss.
        self.is_resting = False
        # True while values must not be read.
        self.is_suspended = False
        # Modules are called again after the program: what they raise is no event of it.
        self.is_rerunning = False
        self._is_armed = False
        # How often a symptom has armed it, and the round from which on it may again.
        self._armings = self._next_arming = 0
        # The round until which it rests, whatever happens but what calls `_look`.
        self._rests_until = 0
        # Backward passes of a program that has no optimizer; whether one has stepped.
        self._passes = 0
        self._has_stepped = False
        # The first steps of a new optimizer are observed, however late it is made; how many each line has made.
        self._observed_until = 0
        self._made_at: dict[Any, int] = {}
        # Checks whose findings follow from another one: the category of that. Subjects that failed when they were asked.
        self.implied: dict[str, str] = {}
        self.undecided: list[Subject] = []
        # True while a subject looks at something: what it does itself is no event.
        self._is_busy = False
        # Hears of every event in place of the subjects, while a module is run again.
        self._listener: Callable[..., None] | None = None

    def start(self) -> None:
        self._observe(True)

    def stop(self) -> None:
        self._observe(False)
        self.modules.stop()
        engine.current.finish_reading()
        for loss in self.losses.values():
            loss.settle()

    def run_again(self) -> None:
        """The program has ended well: subjects may call its modules again, while there are listeners (see rerun.py)."""
        if self.is_suspended or engine.group_size() > 1 or not any(r.steps for r in self.optimizers.values()):
            return
        seconds = MAX_SECONDS if self.observes_all else max(MIN_SECONDS, SHARE * (time.monotonic() - self._begun))
        self.is_rerunning = True
        try:
            self.tell("runs_again", Rerun(self, seconds))
        finally:
            self.is_rerunning = False

    @contextmanager
    def listening(self, listener: Callable[..., None]) -> Iterator[None]:
        """Let a function hear of all events, which the subjects miss."""
        was_observing, outer = self.is_observing, self._listener
        self._observe(True)
        self._listener = listener
        try:
            yield
        finally:
            self._listener = outer
            self._observe(was_observing)

    def pause(self) -> None:
        self._observation.switch(False)

    def resume(self) -> None:
        self._observe(self.is_observing)

    def _observe(self, on: bool) -> None:
        self.is_observing = on
        self._observation.switch(on)
        self.watch.trace(on)

    def _look(self) -> None:
        """Decide how closely the present round is looked at."""
        first = max(self._observed_until, rounds.OBSERVED_BY_AUDIT if self.observes_all else 0)
        is_due = self.round < first or rounds.is_observed(self.round) or (
            not engine.current.records_always and rounds.is_sampled(self.round))
        observe = is_due and not self.is_suspended
        if observe != self.is_observing:
            self._observe(observe)
        listen = engine.current.records_always and (self._is_armed or rounds.is_listened(self.round))
        self._rest(self.is_suspended or not (observe or listen))
        self._rests_until = rounds.next_look(self.round) if self.is_resting else 0

    def _rest(self, on: bool) -> None:
        if on != self.is_resting:
            self.is_resting = on
            self.watch.listen(not on)

    def suspend(self, on: bool) -> None:
        self.is_suspended = on
        self._look()

    def arm(self) -> None:
        """Something has changed (somebody else has written a parameter, a gradient is missing): look closely from the next round
        on. Where that is dear, do so for two rounds, and each time later than before."""
        self._is_armed = True
        self._rests_until = 0
        if not engine.current.records_always and self.round >= self._next_arming:
            self._observed_until = max(self._observed_until, self.round + 1 + rounds.ARMED)
            self._armings += 1
            self._next_arming = self.round + (rounds.ARMED << self._armings)

    def glance(self, optimizer: Any) -> None:
        """Before a step in a round in which the audit rests, where it may rest for long."""
        known = self.record_of(optimizer)
        self.tell("before_step", known)
        if self.round % rounds.GLANCE_EVERY:
            return
        if known.symptom is not None and (state := known.symptom()) is not None:
            if state and state != known.glanced_state:
                self.arm()
            known.glanced_state, known.symptom = state, None
        measures = known.symptom is None and self.round % rounds.MEASURE_EVERY == 0
        count, later = engine.glance(known.parameters, measures)
        if measures:
            known.symptom = later
        if count < known.with_gradient:
            self.arm()
        elif count > known.with_gradient:  # no backward that was traced may have reached some of them, but one has
            for p in known.parameters:
                if engine.grad_of(p) is not None and engine.notes_of(p).reached_by is None:
                    engine.own_notes_of(p).reached_by = engine.last_backward()
        known.with_gradient = count

    def gradient_norms(self, known: OptimizerRecord) -> dict[int, float]:
        """Around a step, by id of a parameter with a gradient: the norm of the gradient."""
        key = self.round, id(known)
        if self._norms[0] != key:
            held = [(id(p), g) for p in known.parameters if (g := engine.grad_of(p)) is not None]
            self._norms = key, dict(zip([i for i, _ in held], norms([g for _, g in held]), strict=True))
        return self._norms[1]

    def listeners(self, event: str) -> list[Callable[..., None]]:
        """Those that have a method of an event's name; between observed rounds, those that want it in every round."""
        key = event, self.is_resting
        found = self._listeners.get(key)
        if found is None:
            subjects: list[Any] = [self, self.modules, self.provenance, *self.subjects]
            found = self._listeners[key] = [
                getattr(subject, event) for subject in subjects
                if hasattr(subject, event) and (not self.is_resting or event in subject.every_round)]
        return found

    def tell(self, event: str, *facts: Any) -> None:
        """Pass an event on to the subjects that have a method of its name."""
        self._tell(self.listeners(event), event, *facts)

    def tell_called(self, call: Call) -> None:
        listeners = self._listeners_to.get(call.name)
        if listeners is None:
            listeners = self._listeners_to[call.name] = that_want(self.listeners("called"), call.name.rpartition(".")[2])
        self._tell(listeners, "called", call)

    def tell_module_called(self, call: ModuleCall) -> None:
        is_inner = call.depth > 0
        listeners = self._listeners_to.get(is_inner)
        if listeners is None:
            listeners = self._listeners_to[is_inner] = that_want(self.listeners("module_called"), is_inner)
        self._tell(listeners, "module_called", call)

    def _tell(self, listeners: list[Callable[..., None]], event: str, *facts: Any) -> None:
        if self._listener is not None:
            self._listener(event, *facts)
            return
        if self._is_busy or not listeners:
            return
        self._is_busy = True
        try:
            for listener in listeners:
                try:
                    listener(*facts)
                except Exception as error:
                    self.watch.failed_in(f"{event}, {type(getattr(listener, '__self__', None)).__name__}", error)
        finally:
            self._is_busy = False

    def record_of(self, optimizer: Any) -> OptimizerRecord:
        """The record of an optimizer, which is made when it is first seen."""
        found = self.optimizers.get(id(optimizer))
        if found is None or found.optimizer is not optimizer:
            found = self.optimizers[id(optimizer)] = OptimizerRecord(optimizer)
            self.tell("optimizer_made", found)
            count = self._made_at[found.made_at] = self._made_at.get(found.made_at, 0) + 1
            if count <= rounds.OPTIMIZERS_OF_A_LINE:
                self._observed_until = self.round + rounds.OBSERVED_FIRST
                self._look()
            if len(self.optimizers) > MAX_OPTIMIZERS:
                others = [known for known in self.optimizers.values() if known is not found]
                oldest = min(others, key=lambda known: known.last_round)
                self.tell("optimizer_forgotten", oldest)
                del self.optimizers[id(oldest.optimizer)]
                oldest.let_go()
        return found

    def _loss_of(self, site: Site) -> LossRecord:
        """The record of a line. To hash the code of a whole module takes 40 µs: so it is looked up by identity first."""
        key = id(site[0]), site[1]
        found = self._losses_by_id.get(key)
        if found is None:
            known = self.losses.get(site)
            if known is None:
                known = self.losses[site] = LossRecord(site)
                drop_oldest(self.losses, MAX_LOSSES)
                if not engine.current.records_always:
                    # Of this round nothing was recorded if the audit rests; and a program may have many such lines.
                    self._lines_seen += 1
                    if self._lines_seen <= MAX_LOSSES:
                        self._observed_until = max(self._observed_until, self.round + 1 + rounds.FIRST_OF_A_LINE)
            found = self._losses_by_id[key] = site, known  # holds the code, so that no other has its id
            drop_oldest(self._losses_by_id, MAX_LOSSES)
        return found[1]

    def differentiated(self, tensors: tuple[Any, ...], keep: bool, site: Site) -> None:
        """backward() of these tensors begins."""
        known = self._loss_of(site)
        was_finite = known.nonfinite_round is None
        known.note(self.round, tensors, keep)
        if was_finite and known.nonfinite_round is not None and not self.is_observing:
            self._observed_until = self.round + rounds.ARMED
            self._rest(False)
            self._observe(True)  # this backward shows where it comes from, or the next one if the value came late
        if not self._has_stepped:
            # Without an optimizer there are no rounds: then a backward ends one, once it is clear that there is none.
            self._passes += 1
            if self._passes > rounds.PASSES_WITHOUT_STEP:
                self.round += 1
                self._look()

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
        self._has_stepped = True
        known.note_step(self.round, record.site())
        self.tell("after_step", known)
        self._norms = None, {}
        self.tell("round_ended", self.round)
        self.round += 1
        self._look()

    def count_step(self, optimizer: Any) -> None:
        """A step in a round in which the audit rests."""
        known = self.optimizers.get(id(optimizer))
        if known is None or known.optimizer is not optimizer:
            known = self.record_of(optimizer)
        self._has_stepped = True
        known.steps += 1
        known.last_round = self.round
        if not engine.current.records_always:
            self.tell("after_step", known)
        self.round += 1
        if self.round >= self._rests_until:
            self._look()

    def subject(self, kind: type[S]) -> S:
        """The subject of a class."""
        return next(subject for subject in self.subjects if isinstance(subject, kind))

    def name_of(self, p: Any) -> str:
        """The dotted name of a parameter in its model; with the model where two trained ones have parameters of that name."""
        return self._names.parameter(p)

    def path_of(self, module: Any) -> str:
        """The dotted name of a module in its model."""
        return self._names.module(module)

    def _is_trained(self, p: Any) -> bool:
        return was_reached(p) or any(id(p) in known.held_ids for known in self.optimizers.values())

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
        # Categories that are not told, and the category from which each follows.
        hidden = {category: cause for cause in self.watch.reported_categories() for category in CONSEQUENCES.get(cause, ())}
        too_general = _too_general(list(together.values()), self.watch.reported_categories())
        causes = [found for found in together.values() if not found.explanation.odd and id(found) not in too_general]
        overruled = {category: found.explanation.category for found in causes for category in found.hides or ()}
        for found in causes:
            category = found.explanation.category
            if category not in overruled:
                hidden |= dict.fromkeys(CONSEQUENCES.get(category, ()) if found.hides is None else found.hides, category)
        for found in together.values():
            if id(found) in too_general:
                continue
            cause = (hidden | overruled).get(found.explanation.category)
            if cause is None:
                found.explanation.check = found.check
                yield found
            else:
                self.implied[found.check] = cause

    def was_seen(self, subject: Subject, check: str) -> bool:
        """True if the run had what this check looks at, and its subject could tell."""
        try:
            return subject not in self.undecided and subject.was_seen(check)
        except Exception as error:
            self.watch.failed_in(f"was_seen, {type(subject).__name__}", error)
            return False

    def parameters(self) -> list[Any]:
        """The parameters that the known optimizers hold."""
        return list({id(p): p for record in self.optimizers.values() for p in record.parameters}.values())

    def _collect(self, subject: Subject) -> list[Finding]:
        found: list[Finding] = []
        try:
            found.extend(subject.findings())
        except Exception as error:
            self.watch.failed_in(f"findings, {type(subject).__name__}", error)
            self.undecided.append(subject)
        return found


def _too_general(findings: list[Finding], told: set[str]) -> set[int]:
    """The ids of findings beside which a more particular one is told. One with few such categories is the more particular one."""
    told = told | {found.explanation.category for found in findings if found.unless is None}
    general: set[str] = set()  # categories of findings that are told though they are general themselves
    dropped = set()
    for found in sorted(findings, key=lambda found: len(found.unless or ())):
        category = found.explanation.category
        if found.unless and found.unless & (told | (general - {category})):
            dropped.add(id(found))
        elif found.unless and not found.explanation.odd:
            general.add(category)
    return dropped
