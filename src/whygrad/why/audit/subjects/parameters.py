"""Parameters: do those of an optimizer get gradients, and do they move? Is any that gets a gradient in no optimizer?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.functional.parameter import Parameter
from whygrad.why.answers import Explanation
from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.explain import verdicts_on
from whygrad.why.question import Question
from whygrad.why.rules import Verdict, first_confirmed
from whygrad.why.rules.vanished import zero
from whygrad.why.run_facts import ledger_of, was_reached

# Steps of an optimizer after which a parameter without a gradient is examined, while the graph is still there.
EXAMINED_AFTER = 3
# Fewer steps say nothing.
MIN_STEPS = 2


class Parameters(Subject):
    checks = {
        "no-gradient": "every parameter that an optimizer holds gets a gradient",
        "zero-gradient": "the gradients are not always exactly zero",
        "not-held": "every parameter that gets gradients is held by an optimizer",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Parameters without a gradient, or with zeros only: what the rules said when they were examined.
        self._unreached: dict[int, tuple[Any, list[Verdict]]] = {}
        self._zero: dict[int, tuple[Any, Verdict | None]] = {}

    def after_step(self, record: OptimizerRecord) -> None:
        if record.steps == EXAMINED_AFTER:
            self._examine(record)

    def optimizer_forgotten(self, record: OptimizerRecord) -> None:
        self._examine(record)

    def _examine(self, record: OptimizerRecord) -> None:
        for p in record.parameters:
            if not p.requires_grad or id(p) in self._unreached or id(p) in self._zero:
                continue
            if not was_reached(p):
                self._unreached[id(p)] = p, verdicts_on(Question(p))
            elif (ledger := ledger_of(p)) is not None and not ledger.last_nonzero:
                self._zero[id(p)] = p, zero(Question(p))

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        for record in self.audit.optimizers.values():
            if record.steps >= MIN_STEPS:
                self._examine(record)
                yield from self._without_gradient(record)
                yield from self._always_zero(record)
        yield from self._not_held()

    def _without_gradient(self, record: OptimizerRecord) -> Iterator[Finding]:
        for p, found in self._unreached.values():
            if was_reached(p) or not p.requires_grad or not any(p is q for q in record.parameters):
                continue
            explanation = first_confirmed(found) or first_confirmed(verdicts_on(Question(p)))
            if explanation is None or explanation.category in ("ok", "no-backward"):
                continue
            yield self._finding("no-gradient", explanation, p, record, "never gets a gradient")

    def _always_zero(self, record: OptimizerRecord) -> Iterator[Finding]:
        for p, verdict in self._zero.values():
            ledger = ledger_of(p)
            if ledger is None or ledger.last_nonzero or not any(p is q for q in record.parameters):
                continue
            explanation = first_confirmed([verdict]) if verdict is not None else None
            if explanation is not None and explanation.category != "ok" and not explanation.harmless:
                yield self._finding("zero-gradient", explanation, p, record, "gets gradients of zeros only")

    def _finding(self, check: str, explanation: Explanation, p: Any, record: OptimizerRecord, what: str) -> Finding:
        name = self.audit.name_of(p)
        explanation.headline = f"a parameter that the optimizer holds {what}"
        explanation.symptom = "no-update"
        explanation.parameters = [name or f"a parameter of shape {tuple(p.shape)}"]
        return Finding(check, locate_or_none(record.stepped_at), explanation)

    def _not_held(self) -> Iterator[Finding]:
        """Parameters of a model that get gradients, while an optimizer trains others of the same model."""
        trained = [record for record in self.audit.optimizers.values() if record.steps >= MIN_STEPS]
        if not trained:
            return
        held = {id(p) for record in self.audit.optimizers.values() for p in record.parameters}
        by_root: dict[int, list[tuple[Any, str]]] = {}
        for p in self.audit.watch.reached:
            if id(p) in held or not isinstance(p, Parameter) or not p.requires_grad:
                continue
            owner = self.audit.modules.owner(p)
            ledger = ledger_of(p)
            if owner is None or ledger is None or ledger.deposit_count < MIN_STEPS or not ledger.last_nonzero:
                continue
            if ledger.held or not self.audit.watch.is_unchanged(p):
                continue
            by_root.setdefault(id(owner[0]), []).append((p, owner[1]))
        for orphans in by_root.values():
            root = self.audit.modules.owner(orphans[0][0])[0]
            own = {id(p) for p in root.parameters()}
            record = next((r for r in trained if any(id(p) in own for p in r.parameters)), None)
            if record is None:
                continue  # a model of its own, which nobody trains: a critic, a judge, a frozen backbone in train mode
            names = [name for _, name in orphans]
            is_registered = all(id(p) in own for p, _ in orphans)
            why = (f"{at(record.made_at)} was given other parameters of this model only" if is_registered else
                   "they are in a plain list, dict or attribute, where parameters() does not find them")
            yield finding(
                "not-held", "not-in-optimizer", "parameters get gradients, but no optimizer updates them",
                f"{count_of(len(names), 'parameter')} ({listed(names)}) of {type(root).__name__} got a gradient in every backward, "
                f"but no optimizer holds them: {why}. They keep the values they were made with.",
                "give the optimizer all of model.parameters(), after the model is complete." if is_registered else
                "use nn.ModuleList, nn.ModuleDict or nn.Parameter, so that parameters() finds them.",
                at=record.stepped_at, causes=(*_made_at(root, orphans, is_registered), record.made_at), parameters=names)


def _made_at(root: Any, orphans: list[tuple[Any, str]], is_registered: bool) -> list[Any]:
    """The lines that made parameters which are not registered."""
    return [] if is_registered else [cause.site for p, _ in orphans[:2] for cause in p._cause]


def locate_or_none(site: Any) -> Any:
    from whygrad.why.locations import locate

    return locate(site)
