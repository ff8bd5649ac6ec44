"""Rates: is the learning rate what its schedule means it to be, and is the schedule stepped at the right time?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.scheduler_record import SchedulerRecord
from whygrad.why.audit.series import Series
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import grad_of
from whygrad.why.locations import locate
from whygrad.why.program_text import argument_text, lines_matching
from whygrad.why.record import Site

MIN_STEPS = 5
# What is to fall, and what is to rise, by its name.
LOSSES = re.compile(r"loss|err|mse|nll|perplex|(^|_)(mae|rmse|ppl)", re.IGNORECASE)
SCORES = re.compile(r"acc|score|f1|auc|iou|recall|precision|reward|bleu", re.IGNORECASE)
# A rate below this, absolute or as a share of the largest rate, moves nothing.
NOTHING, NOTHING_SHARE = 1e-12, 1e-4
# Share of the steps that may have such a rate: the end of a schedule, the beginning of a warmup.
TOLERATED = 0.4
# Schedulers that are made to be stepped once per epoch.
PER_EPOCH = {"StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR", "ReduceLROnPlateau", "MultiplicativeLR",
             "PolynomialLR"}


class Rate:
    """The learning rate of one optimizer: of its fastest group."""

    def __init__(self, record: OptimizerRecord) -> None:
        self.record = record
        self.values = Series()
        self.steps_at_nothing = 0
        # Of several groups: the greatest rate, and the number of steps in which it was nothing.
        self.of_groups: dict[int, tuple[float, int]] = {}

    def note(self, number: int) -> None:
        rates = [float(group["lr"]) for group in self.record.groups if "lr" in group]
        if len(rates) > 1:
            for i, rate in enumerate(rates):
                greatest = max(self.of_groups.get(i, (0.0, 0))[0], abs(rate))
                self.of_groups[i] = greatest, self.of_groups.get(i, (0.0, 0))[1] + (abs(rate) <= NOTHING)
        if rates:
            rate = max(rates)
            self.values.add(number, rate)
            self.steps_at_nothing += abs(rate) <= max(NOTHING, NOTHING_SHARE * self.values.greatest)


class Rates(Subject):
    every_round = frozenset({"before_step", "scheduler_stepped", "iterated"})
    checks = {
        "rate": "the learning rate does not become nothing",
        "schedule": "every schedule is stepped, on the optimizer that trains, after its steps",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self.rates: dict[int, Rate] = {}
        # How often the loop of a line went over a loader: the number of epochs.
        self._epochs: dict[Site, int] = {}
        self._early: list[tuple[SchedulerRecord, Site]] = []
        # By id of a record: the rate in the optimizer's defaults, which only new groups take over.
        self._defaults: dict[int, float] = {}

    def iterated(self, loader: Any, site: Site) -> None:
        self._epochs[site] = self._epochs.get(site, 0) + 1

    def before_step(self, record: OptimizerRecord) -> None:
        known = self.rates.get(id(record))
        if known is None or known.record is not record:
            known = self.rates[id(record)] = Rate(record)
            self._defaults.setdefault(id(record), _default_rate(record))
        known.note(self.audit.round)

    def scheduler_stepped(self, scheduler: Any, site: Site) -> None:
        known = self.audit.schedulers.get(id(scheduler))
        if known is not None and known.steps == 1:
            record = self._record_of(known)
            if record is None or not record.steps:
                self._early.append((known, site))

    def _record_of(self, known: SchedulerRecord) -> OptimizerRecord | None:
        return next((r for r in self.audit.optimizers.values() if r.optimizer is known.optimizer), None)

    def _scheduler_of(self, record: OptimizerRecord) -> SchedulerRecord | None:
        found = [s for s in self.audit.schedulers.values() if s.optimizer is record.optimizer]
        return max(found, key=lambda s: s.steps, default=None)

    def was_seen(self, check: str) -> bool:
        return bool(self.audit.schedulers) if check == "schedule" else bool(self.rates)

    def findings(self) -> Iterator[Finding]:
        for rate in self.rates.values():
            yield from self._nothing(rate)
            yield from self._nothing_for_a_group(rate)
            yield from self._in_defaults(rate)
            yield from self._inverted(rate.record)
        for known in self.audit.schedulers.values():
            yield from self._schedule(known)
            yield from self._factor(known)

    def _factor(self, known: SchedulerRecord) -> Iterator[Finding]:
        """LambdaLR multiplies the rate by what its function returns."""
        functions = getattr(known.scheduler, "lr_lambdas", ())
        for base, function in zip(getattr(known.scheduler, "base_lrs", ()), functions, strict=False):
            factors = [float(function(n)) for n in (0, 1, max(known.steps, 2))] if known.kind == "LambdaLR" else []
            if factors and base < 0.1 and abs(factors[0] - base) < 1e-6 * base and max(factors) <= base:
                yield finding("schedule", "schedule-wrong", "the schedule multiplies the rate by the rate",
                              f"The function of LambdaLR, made {at(known.made_at)}, returns {factors[0]:g} at the beginning, "
                              f"which is the optimizer's own rate: LambdaLR takes it for a factor, so the rate is {base:g} * "
                              f"{factors[0]:g} = {base * factors[0]:.3g}.",
                              "return a factor (1.0 at the beginning), not a rate.",
                              causes=(known.made_at, *known.callers[:1]), symptom="wrong-value")
                return

    def _nothing_for_a_group(self, rate: Rate) -> Iterator[Finding]:
        record, scheduler = rate.record, self._scheduler_of(rate.record)
        still = [i for i, (_, steps) in rate.of_groups.items() if steps >= 0.8 * rate.values.count]
        if record.steps < MIN_STEPS or not still or len(still) == len(rate.of_groups) or still[0] >= len(record.groups):
            return
        if not rate.of_groups[still[0]][0] and not record.groups[still[0]].get("initial_lr"):
            return  # the program gives it no rate, and means that
        names = [self.audit.name_of(p) for p in record.groups[still[0]]["params"] if p.requires_grad and grad_of(p) is not None]
        if not names:
            return
        sites = [] if scheduler is None else [scheduler.made_at, *scheduler.callers[:1], *_lambda_sites(scheduler.scheduler)]
        yield finding("rate", "learning-rate-zero", "the learning rate of a group of parameters is nothing",
                      f"In {rate.of_groups[still[0]][1]} of {count_of(rate.values.count, 'step')} of {record.kind}, made "
                      f"{at(record.made_at)}, the rate of group {still[0]} ({listed(names)}) was 0, and that of others was not: "
                      "these parameters get gradients, and stay as they are.",
                      "give the group a rate, or freeze it if that is meant.", at=record.stepped_at,
                      causes=(*sites, *_written_rates(record), record.made_at), parameters=names)

    def _in_defaults(self, rate: Rate) -> Iterator[Finding]:
        record, values = rate.record, rate.values
        here = locate(record.stepped_at)
        if record.optimizer is None:
            return  # it was let go of, and has no defaults any more
        if record.steps < MIN_STEPS or values.least != values.greatest or _default_rate(record) == self._defaults[id(record)]:
            return
        lines = [] if here is None else lines_matching(here.file, r"\.defaults\[")
        yield finding("schedule", "schedule-wrong", "the learning rate is written where nobody reads it",
                      f"The rate in optimizer.defaults of {record.kind}, made {at(record.made_at)}, was changed, but each step "
                      f"takes it from param_groups, where it stayed {values.last:g}: defaults are only for groups that are "
                      "added later.",
                      'write it into the groups: for group in optimizer.param_groups: group["lr"] = ...',
                      at=record.stepped_at, causes=(*lines, record.made_at))

    def _nothing(self, rate: Rate) -> Iterator[Finding]:
        record, values = rate.record, rate.values
        if record.steps < MIN_STEPS:
            return
        share = rate.steps_at_nothing / values.count
        scheduler = self._scheduler_of(record)
        if scheduler is not None and self._is_cyclic_by_mistake(scheduler, record):
            yield self._per_batch(scheduler, record,
                                  f"its cosine has a period of {2 * scheduler.scheduler.T_max} steps and went down and up "
                                  f"{scheduler.steps // (2 * scheduler.scheduler.T_max)} times")
        elif share >= TOLERATED:
            history = (f"The learning rate of {record.kind} was {values.first:.3g} in the first step and {values.last:.3g} in "
                       f"the last: it was nothing (below {max(NOTHING, NOTHING_SHARE * values.greatest):.1g}) in "
                       f"{rate.steps_at_nothing} of {count_of(values.count, 'step')}")
            if (scheduler is not None and scheduler.kind in PER_EPOCH and scheduler.steps >= 0.8 * record.steps
                    and record.steps >= 10):
                yield self._per_batch(scheduler, record, history[0].lower() + history[1:])
            else:
                sites = _written_rates(record) if scheduler is None else [
                    scheduler.stepped_at, *scheduler.callers[:1], scheduler.made_at, *_lambda_sites(scheduler.scheduler)]
                made = (f" It is set by the scheduler {scheduler.kind}, stepped {count_of(scheduler.steps, 'time')} and made "
                        f"{at(scheduler.made_at)}." if scheduler is not None else "")
                yield finding("rate", "learning-rate-zero", "the learning rate is nothing",
                              f"{history}. A step of size zero learns nothing.{made}",
                              "correct the schedule's formula (an integer division, a factor per batch that is meant per "
                              "epoch, a warmup that does not end), or give the optimizer a rate above zero.",
                              at=record.stepped_at, causes=(*reversed(sites), record.made_at))

    def _inverted(self, record: OptimizerRecord) -> Iterator[Finding]:
        """Rates that are the smaller, the nearer a layer is to the output."""
        order = {id(p): i for root in list(self.audit.modules.roots.values()) for i, p in enumerate(root.parameters())}
        first = {i: float(group["lr"]) for group in record.groups if "lr" in group
                 and (i := min([order.get(id(p), -1) for p in group["params"]], default=-1)) >= 0}
        rates = [first[i] for i in sorted(first)]
        steps = [b / a for a, b in pairwise(rates) if a and b != a]
        if record.steps >= MIN_STEPS and len(steps) >= 3 and max(steps) < 1 and max(steps) - min(steps) < 0.01 and (
                rates[-1] < 0.25 * rates[0]):
            yield finding("rate", "rates-inverted", "the last layers have the smallest learning rates",
                          f"The groups of {record.kind}, made {at(record.made_at)}, have learning rates that fall by a factor of "
                          f"{steps[0]:.2g} from layer to layer, from {rates[0]:.2g} at the input to {rates[-1]:.2g} at the "
                          "output. With layer-wise decay the first layers, which know most already, should move least.",
                          "count the layers from the output: rate * decay ** (depth - layer).",
                          at=record.stepped_at, causes=(record.made_at, *_written_rates(record)), odd=True)

    def _in_epochs(self, known: SchedulerRecord, record: OptimizerRecord) -> Iterator[Finding]:
        """Milestones that fit the number of epochs, of a scheduler that is stepped after every batch."""
        epochs = max(self._epochs.values(), default=0)
        marks = getattr(known.scheduler, "milestones", None) or [getattr(known.scheduler, "step_size", 0)]
        last = max(marks, default=0)
        if (known.kind in ("MultiStepLR", "StepLR") and 1 < last <= epochs and record.steps >= 3 * epochs
                and known.steps >= 0.8 * record.steps):
            shown = ", ".join(map(str, sorted(marks)))
            yield self._per_batch(known, record, f"its milestones ({shown}) fit the {epochs} epochs of this run, and were over "
                                  f"after {last} batches of {record.steps}")

    def _is_cyclic_by_mistake(self, scheduler: SchedulerRecord, record: OptimizerRecord) -> bool:
        period = getattr(scheduler.scheduler, "T_max", None)
        return (scheduler.kind == "CosineAnnealingLR" and isinstance(period, int) and period > 0
                and scheduler.steps >= 0.8 * record.steps and scheduler.steps >= 4 * period)

    def _per_batch(self, scheduler: SchedulerRecord, record: OptimizerRecord, what: str) -> Finding:
        return finding("rate", "scheduler-per-batch", "a schedule meant for epochs is stepped after every batch",
                       f"{scheduler.kind}, made {at(scheduler.made_at)}, is stepped {at(scheduler.stepped_at)} after every batch "
                       f"({count_of(scheduler.steps, 'step')} of the scheduler for {record.steps} of the optimizer): {what}.",
                       "call scheduler.step() once per epoch, outside the loop over batches (or give it lengths counted in "
                       "batches).",
                       at=scheduler.stepped_at, causes=(scheduler.stepped_at, scheduler.made_at))

    def _opposite(self, known: SchedulerRecord) -> Iterator[Finding]:
        """A plateau of the largest value, of a schedule that is told losses; or of the smallest, of scores."""
        mode, here = getattr(known.scheduler, "mode", None), locate(known.stepped_at)
        if known.kind != "ReduceLROnPlateau" or here is None or known.steps < MIN_STEPS:
            return
        told = argument_text(here, 0) or ""
        is_loss, is_score = LOSSES.search(told) is not None, SCORES.search(told) is not None
        if is_loss == is_score or (mode == "max") != is_loss:
            return
        yield finding("schedule", "schedule-wrong", "the schedule takes an improvement for the opposite",
                      f"ReduceLROnPlateau, made {at(known.made_at)}, has mode={mode!r}: it waits for `{told}`, which it is told "
                      f"{at(known.stepped_at)}, to {'rise' if mode == 'max' else 'fall'}. While training goes well it sees no "
                      "improvement, and makes the learning rate smaller and smaller.",
                      f"use mode={'min' if mode == 'max' else 'max'!r}.", at=known.stepped_at,
                      causes=(known.made_at, known.stepped_at))

    def _schedule(self, known: SchedulerRecord) -> Iterator[Finding]:
        trained = [r for r in self.audit.optimizers.values() if r.steps >= MIN_STEPS]
        record = self._record_of(known)
        if not trained:
            return
        if record is None or not record.steps:
            others = [r for r in trained if r.optimizer is not known.optimizer]
            if others and known.steps:
                yield finding("schedule", "schedule-wrong", "this schedule belongs to an optimizer that does not train",
                              f"{known.kind}, made {at(known.made_at)}, changes the learning rate of an optimizer that "
                              f"never steps; the one that does, made {at(others[0].made_at)}, keeps its rate.",
                              "give the scheduler the optimizer that steps (make it after the optimizer was made for the last "
                              "time).",
                              at=known.stepped_at, causes=(known.made_at, others[0].made_at))
            return
        following = next((r for r in trained if r.first_round > record.last_round and r.held_ids & record.held_ids
                          and self._scheduler_of(r) is None), None)
        if following is not None and known.last_round > following.first_round and known.steps >= 2:
            yield finding("schedule", "schedule-wrong", "this schedule goes on with an optimizer that no longer steps",
                          f"{known.kind}, made {at(known.made_at)}, belongs to the optimizer made {at(record.made_at)}, which "
                          f"made its last step before another one, made {at(following.made_at)} for the same parameters, took "
                          f"over. The schedule is still stepped {at(known.stepped_at)}, and the rate of the new one never "
                          "changes.",
                          "make a new scheduler for the new optimizer, or add the parameters to the old one (add_param_group).",
                          at=known.stepped_at,
                          causes=(*following.callers[:1], following.made_at, known.stepped_at, known.made_at),
                          symptom="wrong-value")
            return
        # One that a function made beside what was wanted of it is left alone: others of that line are stepped.
        is_dropped = any(other.steps and other.made_at == known.made_at for other in self.audit.schedulers.values())
        if not known.steps and record.steps >= 2 * MIN_STEPS and not self._is_part_of_another(known) and not is_dropped:
            yield finding("schedule", "schedule-wrong", "this schedule is never stepped",
                          f"{known.kind}, made {at(known.made_at)}, was never stepped in {count_of(record.steps, 'step')} "
                          "of its optimizer: the learning rate stays what it is.",
                          "call scheduler.step() after optimizer.step(), once per epoch or batch as the schedule is meant.",
                          causes=(known.made_at,))
        yield from self._in_epochs(known, record)
        yield from self._opposite(known)
        values = self.rates[id(record)].values if id(record) in self.rates else None
        if (values is not None and known.steps >= MIN_STEPS and values.least == values.greatest
                and known.kind in PER_EPOCH - {"ReduceLROnPlateau"}):
            yield finding("schedule", "schedule-wrong", "this schedule has no effect",
                          f"{known.kind}, made {at(known.made_at)}, was stepped {count_of(known.steps, 'time')} "
                          f"{at(known.stepped_at)}, and the learning rate never changed: it is {values.last:g} from the "
                          "first step to the last (step_size or milestones lie beyond the run).",
                          "count step_size, milestones or T_max in the same unit as the calls of scheduler.step() (epochs or "
                          "batches).",
                          causes=(known.made_at, known.stepped_at), odd=True)
        base = max([float(group.get("initial_lr", 0)) for group in record.groups], default=0.0)
        if (values is not None and known.steps > 1 and 5 * known.steps <= record.steps
                and values.first < values.last == values.greatest < 0.5 * base):
            yield finding("schedule", "schedule-wrong", "the warm-up of this schedule never ends",
                          f"{known.kind}, made {at(known.made_at)}, was stepped {count_of(known.steps, 'time')} in "
                          f"{count_of(record.steps, 'step')} of its optimizer: the learning rate still rises at the end, and is "
                          f"{values.last:.2g} where {base:.2g} is meant. Its lengths are counted in batches, and it is "
                          "stepped once per epoch.",
                          "step the scheduler after every batch (in Lightning: \"interval\": \"step\"), or count its lengths in "
                          "epochs.",
                          at=known.stepped_at, causes=(known.made_at, known.stepped_at, *_lambda_sites(known.scheduler)))
        schedulers = list(self.audit.schedulers.values())
        twins = [s for s in schedulers if s.optimizer is known.optimizer and s is not known and not self._is_part_of_another(s)]
        without = [r for r in trained if not any(s.optimizer is r.optimizer for s in schedulers)]
        if twins and without and schedulers.index(known) < schedulers.index(twins[0]):
            yield finding("schedule", "schedule-wrong", "two schedules change one optimizer, and another has none",
                          f"The {known.kind} made {at(known.made_at)} and the {twins[0].kind} made {at(twins[0].made_at)} "
                          "belong to the same optimizer, whose rate falls twice as fast; the optimizer made "
                          f"{at(without[0].made_at)} keeps its rate.",
                          "give each scheduler its own optimizer.", causes=(known.made_at, twins[0].made_at, without[0].made_at),
                          symptom="wrong-value")
        for early, site in self._early:
            if early is known:
                yield finding("schedule", "scheduler-before-optimizer", "the scheduler steps before the optimizer",
                              f"scheduler.step() was called {at(site)} before the first optimizer.step() "
                              f"{at(record.stepped_at)}: the first value of the schedule is skipped, and every later one "
                              "comes a step early.",
                              "call optimizer.step() first, then scheduler.step().", at=site, causes=(site, record.stepped_at),
                              symptom="wrong-value")

    def _is_part_of_another(self, known: SchedulerRecord) -> bool:
        return any(known.scheduler is inner for other in self.audit.schedulers.values()
                   for inner in vars(other.scheduler).get("_schedulers", ()))


def _default_rate(record: OptimizerRecord) -> float:
    return float(vars(record.optimizer).get("defaults", {}).get("lr", 0) or 0) if record.optimizer is not None else 0.0


def _written_rates(record: OptimizerRecord) -> list[Any]:
    """The lines of the program that write a learning rate by hand: `group["lr"] = ...`."""
    here = locate(record.stepped_at)
    return [] if here is None else lines_matching(here.file, r"""\[["']lr["']\]\s*[*/+-]?=[^=]""")


def _lambda_sites(scheduler: Any) -> list[Any]:
    """The functions that a LambdaLR calls, and their lines that divide integers."""
    codes = [function.__code__ for function in vars(scheduler).get("lr_lambdas", ()) if hasattr(function, "__code__")]
    divisions = [here for code in codes for here in lines_matching(code.co_filename, r"\w\s*//\s*\w")
                 if here.line in {line for _, _, line in code.co_lines()}]
    return [*divisions[:2], *[(code, 0) for code in codes]]
