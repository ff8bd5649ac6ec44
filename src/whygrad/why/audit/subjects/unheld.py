"""Unheld: is every model that is trained together with others held by an optimizer?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import ModuleCall, of_outermost
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import causes_of, is_grad_enabled, is_module, is_node, is_parameter, is_tensor, source_of
from whygrad.why.record import Site
from whygrad.why.run_facts import ledger_of

MIN_STEPS = 5


class Unheld(Subject):
    every_round = frozenset({"state_loaded", "mode_set"})
    checks = {"models-held": "every model that is trained is held by an optimizer"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Where models were last called in training, by id; those that were put to rest, or filled with a state.
        self._called: dict[int, tuple[Any, Site]] = {}
        self._left_alone: set[int] = set()

    def state_loaded(self, owner: Any, site: Site) -> None:
        if is_module(owner):
            self._left_alone.update(map(id, owner.modules()))

    def mode_set(self, module: Any, training: bool, site: Site) -> None:
        if not training and not any(record.steps for record in self.audit.optimizers.values()):
            self._left_alone.update(map(id, module.modules()))

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        if call.module.training and is_grad_enabled() and len(self._called) < 64:
            self._called[id(call.module)] = call.module, call.site

    def was_seen(self, check: str) -> bool:
        return bool(self._called)

    def findings(self) -> Iterator[Finding]:
        records = [record for record in self.audit.optimizers.values() if record.steps >= MIN_STEPS]
        held = {id(p) for record in self.audit.optimizers.values() for p in record.parameters}
        if records:
            yield from self._plain_tensors(held)
        trained = [root for root in list(self.audit.modules.roots.values()) if any(id(p) in held for p in root.parameters())]
        for module, site in self._called.values():
            parameters = dict(module.named_parameters())
            if not parameters or id(module) in self._left_alone or not trained or any(id(p) in held for p in parameters.values()):
                continue
            if not all(self._is_left_out(p) for p in parameters.values()):
                continue
            made = self.audit.modules.making(module)
            twins = _with_the_same(records)
            names = [self.audit.name_of(p) or name for name, p in parameters.items()]
            yield finding("models-held", "not-in-optimizer", "a model gets gradients, and no optimizer holds it",
                          f"{type(module).__name__}, called in training mode {at(site)}, gets gradients in each step for all of "
                          f"its {count_of(len(names), 'parameter')} ({listed(names)}), and no optimizer updates them: it stays "
                          "as it was made, at random."
                          + (f" The optimizers made {' and '.join(at(record.made_at) for record in twins)} hold the same "
                             "parameters."
                             if twins else ""),
                          "give its parameters to an optimizer; if it is meant to stay as it is, say so: "
                          "model.requires_grad_(False).",
                          causes=(*[record.made_at for record in twins or records[:2]], *made[:1], site), parameters=names)
            return

    def _plain_tensors(self, held: set[int]) -> Iterator[Finding]:
        """A tensor that requires grad and is an attribute of a module, which registers only what is a Parameter."""
        for module in [m for root in list(self.audit.modules.roots.values()) for m in root.modules()]:
            for name, t in list(vars(module).items()):
                if is_tensor(t) and not is_parameter(t) and id(t) not in held and not is_node(source_of(t)) and (
                        self._is_left_out(t)):
                    yield finding("models-held", "not-in-optimizer", "a tensor gets gradients, and no optimizer holds it",
                                  f"`{name}` of {type(module).__name__} is a plain tensor that requires grad, not an "
                                  "nn.Parameter: the model does not register it, parameters() does not have it, and it stays as "
                                  "it was made, although each step gives it a gradient.",
                                  f"make it a parameter: self.{name} = nn.Parameter(...).",
                                  causes=(*[cause.site for cause in causes_of(t)][:1], *self.audit.modules.making(module)[:1]),
                                  parameters=[name])
                    return

    def _is_left_out(self, p: Any) -> bool:
        ledger = ledger_of(p)
        return (p.requires_grad and ledger is not None and ledger.deposit_count >= MIN_STEPS and bool(ledger.last_nonzero)
                and self.audit.watch.is_unchanged(p) and not self.audit.watch.is_read_by_program(p))


def _with_the_same(records: list[OptimizerRecord]) -> list[OptimizerRecord]:
    """Two optimizers that hold the same parameters, the one made first first."""
    for i, record in enumerate(records):
        for other in records[i + 1:]:
            if record.held_ids and record.held_ids == other.held_ids:
                return [record, other]
    return []
