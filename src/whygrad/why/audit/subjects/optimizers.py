"""Optimizers: does their state (momentum, averages, step counts) accumulate, or is it lost?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Optimizers of one line from which on they are made again and again; and the steps that one of them may have made.
MIN_LIVES, MAX_STEPS_OF_LIFE = 3, 200
MAX_SITES = 64
# Lines after which an optimizer knows nothing of a parameter: its state is cleared, or the parameter is another one.
STATE_LOST = r"\.state\s*=[^=]|\.state\.clear\(|\[.params.\]\s*(\[|=[^=])|nn\.Parameter\("


class Lives:
    """The optimizers that one line made."""

    def __init__(self) -> None:
        self.count = 0
        self.shapes: tuple[Any, ...] = ()
        self.parameters: set[int] = set()
        self.same_parameters = 0
        self.steps: list[int] = []
        self.last: OptimizerRecord | None = None


class Optimizers(Subject):
    every_round = frozenset({"optimizer_made", "state_loaded"})
    checks = {"state": "momentum and averages of the optimizers accumulate"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._lives: dict[Site, Lives] = {}
        # By id of a record: the entries of its state and the step count after its last step.
        self._state: dict[int, tuple[int, float, int]] = {}
        # The parameters that each held at its last step; whether some were exchanged for others.
        self._held: dict[int, set[int]] = {}
        self._exchanged = False
        self._lost: dict[int, list[tuple[int, Site | None]]] = {}
        self._loaded: dict[int, Site] = {}

    def optimizer_made(self, record: OptimizerRecord) -> None:
        if record.made_at is None:
            return
        lives = self._lives.setdefault(record.made_at, Lives())
        drop_oldest(self._lives, MAX_SITES)
        lives.count += 1
        held = {id(p) for p in record.parameters}
        lives.same_parameters += held == lives.parameters
        lives.parameters = held
        if lives.last is not None and lives.last.steps:
            lives.steps.append(lives.last.steps)
            del lives.steps[:-100]
        lives.last = record

    def state_loaded(self, owner: Any, site: Site) -> None:
        self._loaded[id(owner)] = site

    def before_step(self, record: OptimizerRecord) -> None:
        before = self._state.get(id(record))
        if before is not None:
            if not self.audit.is_observing and len(record.optimizer.state) >= before[2]:
                return
            entries, count, _ = _extent(record.optimizer)
            gone = self._held.get(id(record), set()) - record.held_ids
            exchanged = bool(gone) and len(gone) == len(record.held_ids - self._held[id(record)])
            if before[0] and (entries < before[0] or count < before[1] or exchanged):
                self._exchanged = self._exchanged or exchanged
                self._lost.setdefault(id(record), []).append((self.audit.round, self._loaded.get(id(record.optimizer))))
                del self._lost[id(record)][:-100]

    def after_step(self, record: OptimizerRecord) -> None:
        if self.audit.is_observing or not record.optimizer.state:
            self._state[id(record)] = _extent(record.optimizer)
        self._held[id(record)] = record.held_ids

    def was_seen(self, check: str) -> bool:
        return any(entries for entries, *_ in self._state.values())

    def findings(self) -> Iterator[Finding]:
        for site, lives in self._lives.items():
            steps = [*lives.steps, lives.last.steps] if lives.last is not None and lives.last.steps else lives.steps
            if lives.count < MIN_LIVES or lives.same_parameters < MIN_LIVES - 1 or len(steps) < MIN_LIVES or lives.last is None:
                continue
            typical = sorted(steps)[len(steps) // 2]
            if typical > MAX_STEPS_OF_LIFE or lives.last.optimizer is None or not _extent(lives.last.optimizer)[0]:
                continue
            yield finding(
                "state", "optimizer-recreated", "the optimizer is made anew again and again",
                f"{lives.last.kind} was made {count_of(lives.count, 'time')} {at(site)} for the same parameters, and made "
                f"{count_of(typical, 'step')} each time (typically): its momentum and averages start from nothing again and "
                "never accumulate.",
                "make the optimizer once, before the loop.", at=site, causes=(site, *lives.last.callers), symptom="wrong-value")
        for record in self.audit.optimizers.values():
            lost = self._lost.get(id(record), [])
            if len(lost) >= 2:
                where = next((site for _, site in reversed(lost) if site is not None), None)
                here = locate(record.stepped_at)
                how = (f", by load_state_dict {at(where)}" if where is not None else " (cleared)" if not self._exchanged
                       else ": parameters were exchanged for new ones, for which it has none")
                cleared = [] if where is not None or here is None else lines_matching(here.file, STATE_LOST)
                yield finding(
                    "state", "optimizer-state-lost", "the optimizer loses its state",
                    f"Between steps of {record.kind}, made {at(record.made_at)}, its state (momentum, averages, step "
                    f"counts) was reset {count_of(len(lost), 'time')}{how}: it never accumulates.",
                    "keep the state: load the state_dict that was saved last, once, and do not clear optimizer.state.",
                    at=where or record.stepped_at, causes=(where, *cleared, record.made_at), symptom="wrong-value")


def _extent(optimizer: Any) -> tuple[int, float, int]:
    """The numbers of tensors in an optimizer's state, of steps it counts for the first parameter, and of parameters."""
    state = vars(optimizer).get("state", {})
    of_parameters = [values for values in state.values() if isinstance(values, dict)]  # Lamb has a tensor of its own beside them
    entries = sum(len(values) for values in of_parameters)
    first: dict[str, Any] = next(iter(of_parameters), {})
    count = first.get("step", 0) if "func_evals" not in first else 0  # LBFGS counts otherwise, and drops old directions
    return entries if "func_evals" not in first else 1, float(getattr(count, "_array", count)), len(state)
