"""Movement: do the weights move with the steps, and only with them? Resets, steps too small to see, frozen weights that move."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.series import Series
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.terms import Terms
from whygrad.why.audit.values import distances, norm, norms, same, sample, samples
from whygrad.why.causes import at
from whygrad.why.engine import (
    array_of,
    causes_of,
    copies_of,
    grad_of,
    is_module,
    is_near,
    is_sparse,
    notes_of,
    shape_of,
    size_of,
    version_of,
)
from whygrad.why.locations import expression_at, locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Movement of all steps together, relative to the weights, below which nothing has been learned.
NOTHING = 1e-5
MIN_STEPS = 5
MIN_NOT_RESTORED = 3
# Steps in a row that leave a weight exactly as it is, after others that moved it; the gradient is no smaller than this share.
MIN_STUCK, SHARE_OF_GRADIENT = 4, 1e-2
# A step of this size, relative to the weight, may be lost in rounding: in float32, and in half precision.
ROUNDED, ROUNDED_SHORT = 1e-6, 1e-2
# Gradients below this share of the loss are what rounding leaves of zero.
ROUNDING = 1e-6
# Values beside which float32 rounds usual updates away.
LARGE = 1e3
# Elements of a larger parameter by which its movement is measured, if all of it moves.
MEASURED = 1024
# Values remembered of each parameter, to recognize that it is set back.
MAX_SAMPLES = 16
# A write by somebody else that changes the weights by more than this share is a reset.
RESET_SHARE = 0.5


class Moves:
    """What one parameter does."""

    def __init__(self, p: Any) -> None:
        self.p = p
        # (round, sample), of which the first is the initial one.
        self.samples: list[tuple[int, np.ndarray]] = [(-1, sample(p))]
        self.version_after: Any = None
        # The version before the last step, by how much the step raised it, and the number of steps by then.
        self.version_before = 0
        self.writes_of_step = 1
        self.steps_after = 0
        self.sample_after: np.ndarray | None = None
        # Update to weight ratio over the observed rounds; the share by which all steps together moved it.
        self.ratios = Series()
        self.gradients = Series()
        # Share of the elements with a gradient that a step left as they were.
        self.unchanged_share = Series()
        # Before the step of an observed round: a copy of its values, where the parameter is, or some of them on the host; and
        # their norm. Of a parameter that was measured by some, the number of elements that each stands for.
        self.before: Any = None
        self.size_before = 0.0
        self.each_stands_for = 0.0
        # Set back to the value of a round: (round, the earlier round, the line); large writes by others: (round, the line).
        self.set_back: list[tuple[int, int, Site | None]] = []
        # Steps that were undone for the most part: (round, the line); the values before the last observed step.
        self.undone: list[tuple[int, Site | None]] = []
        self.sample_before: np.ndarray | None = None
        self.overwritten: list[tuple[int, Site | None]] = []
        self.frozen_moves = 0
        # Observed steps that moved it, and the largest gradient then; those since that did not, and the round of the first.
        self.moved_steps, self.moving_gradient, self.moving_rate = 0, 0.0, 0.0
        self.stuck_steps, self.stuck_since = 0, 0
        # True once somebody else has written it: from then on its values are compared in every round.
        self.is_written = False


class Movement(Subject):
    every_round = frozenset({"before_step", "after_step", "state_loaded", "mode_set"})
    checks = {
        "moves": "the weights move measurably with the steps",
        "not-reset": "nobody but the optimizer sets weights back",
        "frozen-still": "frozen parameters stay as they are",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self.moves: dict[int, Moves] = {}
        self._is_any_written = False
        # Models whose state was loaded since the last step, by id: the lines, and whether they were evaluated after it. By line:
        # how often training went on with a state that was loaded to be evaluated.
        self._loaded: dict[int, tuple[Any, list[Site], bool]] = {}
        self._not_restored: dict[Site, int] = {}

    def state_loaded(self, owner: Any, site: Site) -> None:
        if is_module(owner):
            self._loaded.setdefault(id(owner), (owner, [], False))[1].append(site)

    def mode_set(self, module: Any, training: bool, site: Site) -> None:
        known = self._loaded.get(id(module))
        if known is not None and not training:
            self._loaded[id(module)] = known[0], known[1], True

    def _note_loaded(self, record: OptimizerRecord) -> None:
        for module, sites, was_evaluated in self._loaded.values():
            if was_evaluated and len(sites) == 1 and record.steps and any(id(p) in record.held_ids for p in module.parameters()):
                self._not_restored[sites[0]] = self._not_restored.get(sites[0], 0) + 1
                drop_oldest(self._not_restored, MAX_SAMPLES)
        self._loaded = {}

    def _looked_at(self, record: OptimizerRecord) -> list[Any]:
        """While the audit rests: parameters that somebody else writes as well, if that costs no waiting."""
        if not self.audit.is_resting:
            return record.parameters
        if not self._is_any_written:
            return []
        return [p for p in record.parameters if (known := self.moves.get(id(p))) is not None and known.is_written and is_near(p)]

    def before_step(self, record: OptimizerRecord) -> None:
        if self._loaded:
            self._note_loaded(record)
        looked_at = self._looked_at(record)
        for p in looked_at:
            known = self.moves.get(id(p))
            if known is None or known.p is not p:
                known = self.moves[id(p)] = Moves(p)
            elif known.version_after is not None and self._was_written(p, known, record):
                self._note_write(known)
            known.version_before = version_of(p).value
        if self.audit.is_observing:
            sizes = self.audit.gradient_norms(record)
            for p, values in zip(looked_at, samples(looked_at), strict=True):
                known = self.moves[id(p)]
                known.sample_before = values
                if id(p) in sizes:
                    known.gradients.add(self.audit.round, sizes[id(p)])
            self._copy(looked_at)

    def _copy(self, parameters: list[Any]) -> None:
        """Remember the values before a step: some where all of a large parameter moves, else all of them."""
        large = [p for p in parameters if size_of(p) > 2 * MEASURED and not _is_short(p)]
        grads = [g for p in large if (g := grad_of(p)) is not None and not is_sparse(g)]
        given = {id(g): np.count_nonzero(values) > 0.5 * values.size for g, values in zip(grads, samples(grads), strict=True)}
        large = [p for p in large if (g := grad_of(p)) is None or given.get(id(g), False)]
        for p, values in zip(large, samples(large, MEASURED), strict=True):
            known = self.moves[id(p)]
            known.each_stands_for = size_of(p) / values.size
            known.before, known.size_before = values, norm(values) * math.sqrt(known.each_stands_for)
            if known.size_before > LARGE * math.sqrt(size_of(p)):
                known.before = None  # updates may be lost by rounding: each element counts
        measured = {id(p) for p in large if self.moves[id(p)].before is not None}
        others = [p for p in parameters if id(p) not in measured]
        for p, copy, size in zip(others, copies_of(others), norms(others), strict=True):
            known = self.moves[id(p)]
            known.before, known.size_before, known.each_stands_for = copy, size, 0.0

    def _was_written(self, p: Any, known: Moves, record: OptimizerRecord) -> bool:
        """Whether somebody else has written it since the last step that was looked at."""
        rested = record.steps - known.steps_after
        if rested and version_of(p).value > known.version_after + rested * max(known.writes_of_step, 1):
            self.audit.arm()
        return not rested and (version_of(p).value != known.version_after or self.audit.watch.was_data_written(p))

    def _note_write(self, known: Moves) -> None:
        """Somebody has written the parameter since the last step."""
        with np.errstate(all="ignore"):
            self._compare_written(known)

    def _compare_written(self, known: Moves) -> None:
        now, after = sample(known.p), known.sample_after
        known.is_written = self._is_any_written = True
        if (after is not None and same(now, after)) or size_of(known.p) < 2:
            return
        site = self.audit.watch.data_write_site(known.p) or version_of(known.p).site
        back = next((number for number, value in known.samples if same(value, now)), None)
        before = known.sample_before
        if back is None and after is not None and before is not None and now.shape == after.shape == before.shape:
            step, left = float(np.abs(after - before).sum()), float(np.abs(now - before).sum())
            if step and left < 0.5 * step and not re.search("clamp|clip", expression_at(site)):
                known.undone.append((self.audit.round, site))
                del known.undone[:-100]
        if back is not None:
            known.set_back.append((self.audit.round, back, site))
        elif (after is not None and now.shape == after.shape
              and float(np.abs(now - after).sum()) > RESET_SHARE * float(np.abs(after).sum())):
            known.overwritten.append((self.audit.round, site))

    def after_step(self, record: OptimizerRecord) -> None:
        if self.audit.is_resting and not self._is_any_written:
            self.audit.watch.forget_data_writes()
            return
        rates: dict[int, float] = {}
        gradients: dict[int, float] = {}
        if self.audit.is_observing:
            rates = {id(p): float(group.get("lr", 1)) for group in record.groups for p in group["params"]}
            gradients = self.audit.gradient_norms(record)
        looked_at = [p for p in self._looked_at(record) if id(p) in self.moves]
        sampled = samples(looked_at) if self.audit.is_observing else None
        for i, p in enumerate(looked_at):
            known = self.moves[id(p)]
            version = version_of(p).value
            known.writes_of_step = version - known.version_before
            known.version_after, known.steps_after = version, record.steps
            known.sample_after = sampled[i] if sampled is not None else sample(p) if known.is_written else None
        measured = [m for p in looked_at if (m := self.moves[id(p)]).before is not None]
        alike = [m for m in measured if not m.each_stands_for and tuple(m.before.shape) == shape_of(m.p)]
        distance = dict(zip(map(id, alike), distances([m.p for m in alike], [m.before for m in alike]), strict=True))
        by_some = [m for m in measured if m.each_stands_for]
        for m, values in zip(by_some, samples([m.p for m in by_some], MEASURED), strict=True):
            if values.shape == m.before.shape:
                distance[id(m)] = norm(values - m.before) * math.sqrt(m.each_stands_for)
        for m in measured:
            moved = distance.get(id(m), 0.0)
            gradient, rate = gradients.get(id(m.p), 0.0) if m.p.requires_grad else 0.0, rates.get(id(m.p), 0.0)
            if moved or rate * gradient > (ROUNDED_SHORT if _is_short(m.p) else ROUNDED) * m.size_before:
                self._note_stuck(m, moved, gradient, rate)
            self._measure(m.p, m, moved)
        self.audit.watch.forget_data_writes()

    def _note_stuck(self, known: Moves, moved: float, gradient: float, rate: float) -> None:
        """A step that changes nothing has ignored the gradient, if such gradients have moved the weight before."""
        if moved:
            known.moved_steps += 1
            known.moving_gradient, known.moving_rate = max(known.moving_gradient, gradient), max(known.moving_rate, rate)
            known.stuck_steps = 0
        elif gradient > SHARE_OF_GRADIENT * known.moving_gradient and rate > SHARE_OF_GRADIENT * known.moving_rate:
            known.stuck_since = known.stuck_since if known.stuck_steps else self.audit.round
            known.stuck_steps += 1

    def _measure(self, p: Any, known: Moves, moved: float) -> None:
        size, grad = known.size_before, grad_of(p)
        known.ratios.add(self.audit.round, moved / size if size else float(moved > 0))
        # Only small types and large values can lose updates by rounding (see _rounded_away).
        if not known.each_stands_for and grad is not None and p.requires_grad and (
                tuple(known.before.shape) == shape_of(grad) == shape_of(p)) and (
                _is_short(p) or size > LARGE * math.sqrt(size_of(p))):
            has_gradient = array_of(grad) != 0
            count = int(np.count_nonzero(has_gradient))
            if count:
                has_gradient &= array_of(p) == array_of(known.before)
                known.unchanged_share.add(self.audit.round, int(np.count_nonzero(has_gradient)) / count)
        if moved and not p.requires_grad:
            known.frozen_moves += 1
        known.before = None
        if len(known.samples) < MAX_SAMPLES:
            known.samples.append((self.audit.round, known.sample_after))  # type: ignore[arg-type]

    def optimizer_forgotten(self, record: OptimizerRecord) -> None:
        for p in record.parameters:
            self.moves.pop(id(p), None)

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        for site, times in self._not_restored.items():
            if times >= MIN_NOT_RESTORED:
                here = locate(site)
                yield finding("not-reset", "weights-reset", "training goes on with weights that were loaded to be evaluated",
                              f"{count_of(times, 'time')} a state was loaded {at(site)} into the model that is trained, the "
                              "model was evaluated, and the next step started from the loaded weights (an average, say): the "
                              "trained ones are lost each time.",
                              "load it into a copy of the model, or keep the trained state and load it again afterwards.",
                              at=site, causes=(site, *self._callers_of(here)), symptom="wrong-value")
        for record in self.audit.optimizers.values():
            known = [self.moves[id(p)] for p in record.parameters if id(p) in self.moves]
            if record.steps < 2:
                continue
            yield from self._reset(record, known)
            yield from self._frozen(record, known)
            yield from self._stuck(record, known)
            if record.steps >= MIN_STEPS:
                yield from self._too_small(record, known)

    def _callers_of(self, here: Any) -> list[Any]:
        """Lines that call the function in which a line stands."""
        return [] if here is None or here.function == "<module>" else lines_matching(
            here.file, rf"(?<!def )\b{re.escape(here.function)}\(")[:2]

    def _reset(self, record: OptimizerRecord, moves: list[Moves]) -> Iterator[Finding]:
        back = [m for m in moves if len({number for number, _, _ in m.set_back}) >= 2]
        again = [m for m in moves if len(m.overwritten) >= 2]
        # Every step, not one in a few: then it is a slow average that is meant (Lookahead).
        undone = [m for m in moves if len(m.undone) >= max(4, 0.7 * m.ratios.count)]
        if undone and not back and not again:
            names = [self.audit.name_of(m.p) for m in undone]
            site = undone[0].undone[-1][1]
            yield finding(
                "not-reset", "weights-reset", "most of every step is undone",
                f"After {count_of(len(undone[0].undone), 'observed step')}, {count_of(len(names), 'parameter')} "
                f"({listed(names)}) were overwritten {at(site)} by values that are nearly those from before the step (a "
                "slow average copied back?): the optimizer moves them, and somebody moves them back.",
                "copy in the other direction: from the trained weights into the average.",
                at=site, causes=(site, record.made_at), parameters=names)
        if not back and not again:
            return
        concerned = back or again
        m = concerned[0]
        rounds = [number for number, *_ in (m.set_back if back else m.overwritten)]
        site = (m.set_back if back else m.overwritten)[-1][-1]
        to = m.set_back[-1][1] if back else 0
        names = [self.audit.name_of(m.p) for m in concerned]
        where = "the values it began with" if to < 0 else f"its values of step {to + 1}"
        how = f"set back to {where}" if back else "overwritten by values that have nothing to do with the last step's"
        yield finding(
            "not-reset", "weights-reset", "weights are set back again and again",
            f"{count_of(len(names), 'parameter')} ({listed(names)}) of the optimizer made {at(record.made_at)} were {how} "
            f"{count_of(len(rounds), 'time')} between steps (load_state_dict, copy_ or reset), the last time {at(site)}: "
            "what the steps had learned is lost.",
            "do this once before the loop, or copy in the other direction (from the trained weights into the copy).",
            at=site, causes=(site, record.made_at), parameters=names,
            odd=bool(back) and len({back_to for _, back_to, _ in m.set_back}) > 1 and len(rounds) < 0.3 * record.steps)

    def _frozen(self, record: OptimizerRecord, moves: list[Moves]) -> Iterator[Finding]:
        moved = [m for m in moves if m.frozen_moves >= 2 and not m.p.requires_grad]
        if not moved:
            return
        decay = next((group.get("weight_decay", 0) for group in record.groups
                      if any(p is moved[0].p for p in group["params"])), 0)
        switched = notes_of(moved[0].p).switched_at
        names = [self.audit.name_of(m.p) for m in moved]
        zeroed = grad_of(moved[0].p) is not None
        how = (f"weight decay ({decay:g}) shrinks them" if decay else "the momentum of earlier steps carries them on")
        yield finding(
            "frozen-still", "frozen-decayed", "frozen parameters still move",
            f"requires_grad of {count_of(len(names), 'parameter')} ({listed(names)}) is False, but steps "
            f"{at(record.stepped_at)} changed them {count_of(moved[0].frozen_moves, 'observed time')}: the optimizer made "
            f"{at(record.made_at)} still holds them and they still have a .grad ({'of zeros, ' if zeroed else ''}left from "
            f"before), so {how}.",
            "when freezing, set their .grad to None (zero_grad() with set_to_none=True does it) or leave them out of the "
            "optimizer.",
            at=record.stepped_at, causes=(None if switched is None else switched[1], record.made_at), parameters=names,
            symptom="unwanted")

    def _stuck(self, record: OptimizerRecord, moves: list[Moves]) -> Iterator[Finding]:
        stuck = [m for m in moves if m.stuck_steps >= MIN_STUCK and m.moved_steps >= 2]
        if not stuck or any(array_of(m.p).dtype.itemsize < 4 or str(m.p.dtype) == "torch.bfloat16" for m in stuck):
            return  # rounding is told by another check
        m = stuck[0]
        names = [self.audit.name_of(m.p) for m in stuck]
        yield finding(
            "moves", "step-without-effect", "the optimizer's steps no longer change the weights",
            f"The last {count_of(m.stuck_steps, 'observed step')} of {record.kind}, from step {m.stuck_since + 1} on, left "
            f"{count_of(len(names), 'parameter')} ({listed(names)}) exactly as they were, although they have gradients (norm "
            f"{m.gradients.last:.2g}) and a learning rate, and gradients of that size moved them before.",
            "look at what step() does since then: a compiled or wrapped step that has kept an earlier decision (no gradients, "
            "an overflow), or one that updates copies of the weights.",
            at=record.stepped_at, causes=(record.stepped_at, record.made_at), parameters=names)

    def _rounded_away(self, record: OptimizerRecord, active: list[Moves]) -> Iterator[Finding]:
        """Updates that are lost because a number plus a much smaller one is the number itself."""
        lost = [m for m in active if m.unchanged_share.count and m.unchanged_share.least > 0.75
                and (_is_short(m.p) or norm(m.p) > LARGE * math.sqrt(size_of(m.p)))]
        rates = [float(group["lr"]) for group in record.groups if "lr" in group]
        if not lost or (len(lost) == len(active) and not any(rates)):
            return
        m = max(lost, key=lambda m: size_of(m.p))
        dtype = str(m.p.dtype).removeprefix("torch.")
        names = [self.audit.name_of(m.p) or f"a tensor of shape {tuple(m.p.shape)}" for m in lost]
        size = norm(m.p) / math.sqrt(size_of(m.p))
        yield finding(
            "moves", "update-too-small", "updates are lost by rounding",
            f"{m.unchanged_share.last:.0%} of the elements of {listed(names)} did not change in a step of {record.kind} "
            f"(lr={max(rates, default=0):g}), although their gradient is not zero: an update is so small beside the values "
            f"(about {size:.2g}) that {dtype} rounds it away.",
            "keep the weights in float32 (bfloat16 has 8 bits of precision), make the values smaller (subtract a large "
            "offset), or raise the learning rate.",
            at=record.stepped_at, causes=(record.made_at, *self._made_at(m.p), *self.audit.conversions[-2:]), parameters=names)

    def _made_at(self, p: Any) -> list[Site]:
        made = self.audit.modules.made_at(next(reversed(list(self.audit.modules.modules_around(p))), None))
        return [cause.site for cause in causes_of(p) if cause.site is not None] + ([] if made is None else [made])

    def _too_small(self, record: OptimizerRecord, moves: list[Moves]) -> Iterator[Finding]:
        active = [m for m in moves
                  if m.ratios.count >= 3 and m.gradients.count >= 3 and m.gradients.greatest > 0 and m.p.requires_grad]
        if not active:
            return
        total = max(sum(v for v in m.ratios.values if math.isfinite(v)) for m in active)
        rates = [float(group["lr"]) for group in record.groups if "lr" in group]
        if not rates or not any(rates):
            return  # a rate of zero is told by the schedule's checks
        if not total < NOTHING:
            yield from self._rounded_away(record, active)
            return
        gradient = max(m.gradients.last for m in active)
        if any(loss.is_constant() and gradient < ROUNDING * abs(loss.values.last) for loss in self.audit.losses.values()):
            return  # gradients of rounding errors only: the loss is constant, and told as such
        scaled = self.audit.subject(Terms).small_factors()
        names = [self.audit.name_of(m.p) for m in active]
        yield finding(
            "moves", "update-too-small", "the steps are too small to change the weights",
            f"In {count_of(record.steps, 'step')} of {record.kind} (lr={max(rates):g}, largest gradient norm "
            f"{gradient:.1e}) no parameter moved by more than {total:.0e} of its size, in all steps together: float32 has "
            "a resolution of 6e-8, and nothing is learned.",
            "raise the learning rate, or look for what makes the loss so small (a factor, a division by the batch size, a sum "
            "over nothing)."
            + (f" It is scaled down {at(scaled[0])}." if scaled else ""),
            at=record.stepped_at,
            causes=(*scaled[:2], *(loss.site for loss in self.audit.losses.values() if scaled), record.made_at),
            parameters=names)


def _is_short(p: Any) -> bool:
    """Whether its numbers have less than 32 bits."""
    return not str(p.dtype).endswith(("32", "64", "128"))
