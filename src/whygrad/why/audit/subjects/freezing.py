"""Freezing: is the layer that makes the output trained, if it has the random weights that it was made with?"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_tensor, notes_of
from whygrad.why.locations import expression_at, locate
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest, was_reached

MIN_STEPS = 5
MAX_LAYERS = 64
MAX_MODULES = 20_000


class Freezing(Subject):
    every_round = frozenset({"state_loaded"})
    checks = {"new-layer": "a new output layer is not frozen"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Modules whose state was loaded, by id; the layer with weights that was called last, and those that made outputs.
        self._loaded: dict[int, weakref.ref[Any]] = {}
        self._last: Any = None
        self._outputs: dict[int, Any] = {}

    def state_loaded(self, owner: Any, site: Site) -> None:
        for module in owner.modules() if hasattr(owner, "modules") else ():
            self._loaded[id(module)] = weakref.ref(module)
        drop_oldest(self._loaded, MAX_MODULES)

    def module_called(self, call: ModuleCall) -> None:
        has_weights = any(p is not None for p in vars(call.module).get("_parameters", {}).values())
        if has_weights and call.module.training and is_tensor(call.output) and call.output.requires_grad:
            self._last = call.module

    def backward_begun(self, backward: Any, root: Any) -> None:
        if self._last is not None:
            self._outputs[id(self._last)] = self._last
            drop_oldest(self._outputs, MAX_LAYERS)
        self._last = None

    def was_seen(self, check: str) -> bool:
        return bool(self._outputs)

    def findings(self) -> Iterator[Finding]:
        held = {id(p): record for record in self.audit.optimizers.values() if record.steps >= MIN_STEPS
                for p in record.parameters}
        for module in self._outputs.values():
            weights = [p for p in module._parameters.values() if p is not None]
            switched = [notes_of(p).switched_at for p in weights]
            made = self.audit.modules.made_at(module)
            if any(p.requires_grad or id(p) not in held or was_reached(p) for p in weights) or None in switched:
                continue
            if not self._is_new(module, made):
                continue
            name, record = self.audit.path_of(module), held[id(weights[0])]
            names = [self.audit.name_of(p) for p in weights]
            frozen_at = [state[1] for state in switched if state is not None]
            yield finding(
                "new-layer", "frozen", "the new output layer is frozen",
                f"`{name}` ({type(module).__name__}) makes the output. It was made {at(made)}; unlike the rest of the model, "
                f"nothing was loaded into it, and requires_grad of {listed(names)} was set to False {at(frozen_at[-1])}: in "
                f"{count_of(record.steps, 'step')} it stays as it was drawn at random, although the optimizer was given it.",
                "freeze the pretrained layers only, and let the new ones require grad.",
                at=record.stepped_at, causes=(frozen_at[-1], made, record.made_at), parameters=names)

    def _is_new(self, module: Any, made: Site | None) -> bool:
        """Whether the program itself made it, and a state was loaded into others of its model, but not into it."""
        line, owner = locate(made), self.audit.modules.owner(next(iter(module.parameters())))
        is_own = line is not None and "site-packages" not in line.file and "load" not in expression_at(made)
        return is_own and owner is not None and any(map(self._is_loaded, owner[0].modules())) and not self._is_loaded(module)

    def _is_loaded(self, module: Any) -> bool:
        known = self._loaded.get(id(module))
        return known is not None and known() is module
