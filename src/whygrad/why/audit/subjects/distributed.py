"""Distributed: is a model trained through the wrapper that averages its gradients over the ranks?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import last_backward, notes_of
from whygrad.why.record import Site
from whygrad.why.run_facts import was_reached

WRAPPER = "DistributedDataParallel"
MIN_STEPS = 3


class Distributed(Subject):
    every_round = frozenset({"module_made"})
    checks = {"wrapper": "a model that is wrapped for several processes is called through its wrapper",
              "unused-search": "a wrapper looks for unused parameters only if there are some"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self.wrappers: list[tuple[Any, Site]] = []
        self._called: set[int] = set()
        # Where the model inside of each wrapper was called by itself.
        self._bypassed_at: dict[int, Site] = {}
        # Wrappers that look for unused parameters, by id: steps in which there were none, and whether there ever were some.
        self._searched: dict[int, tuple[int, bool]] = {}

    def module_made(self, module: Any, site: Site) -> None:
        if type(module).__name__ == WRAPPER:
            self.wrappers.append((module, site))

    def module_called(self, call: ModuleCall) -> None:
        for wrapper, _ in self.wrappers:
            if call.module is wrapper:
                self._called.add(id(wrapper))
            elif call.depth == 0 and call.module.training and any(call.module is m for m in wrapper.module.modules()):
                self._bypassed_at.setdefault(id(wrapper), call.site)

    def before_step(self, record: OptimizerRecord) -> None:
        for wrapper, _ in self.wrappers:
            if self.audit.is_observing and getattr(wrapper, "find_unused_parameters", False):
                trained = [p for p in wrapper.module.parameters() if p.requires_grad]
                if any(id(p) in record.held_ids for p in trained):
                    count, has_unused = self._searched.get(id(wrapper), (0, False))
                    has_unused |= any(notes_of(p).reached_by is not last_backward() for p in trained)
                    self._searched[id(wrapper)] = count + 1, has_unused

    def was_seen(self, check: str) -> bool:
        return bool(self.wrappers if check == "wrapper" else self._searched)

    def findings(self) -> Iterator[Finding]:
        steps = max([record.steps for record in self.audit.optimizers.values()], default=0)
        for wrapper, site in self.wrappers:
            count, has_unused = self._searched.get(id(wrapper), (0, False))
            if count >= MIN_STEPS and not has_unused:
                yield finding("unused-search", "ddp-search-needless", "the search for unused parameters finds none",
                              f"{WRAPPER} was made with find_unused_parameters=True {at(site)}, and in all "
                              f"{count_of(count, 'observed step')} every parameter got a gradient: it goes through the whole "
                              "graph after each forward for nothing.",
                              "leave find_unused_parameters=True out, unless a branch that was not taken yet needs it.",
                              causes=(site,), symptom="unwanted", odd=True)
            called = self._bypassed_at.get(id(wrapper))
            if id(wrapper) in self._called or called is None or steps < MIN_STEPS:
                continue
            if any(map(was_reached, wrapper.module.parameters())):
                yield finding("wrapper", "ddp-bypassed", "the gradients are not averaged over the processes",
                              f"{type(wrapper.module).__name__} is wrapped in {WRAPPER} {at(site)}, but the wrapper was never "
                              f"called in {count_of(steps, 'step')}: the model inside is called directly {at(called)}, so no "
                              "gradient is exchanged, and each process trains a model of its own.",
                              "call the wrapper itself in training (ddp_model(x)); .module is for saving and for evaluation.",
                              at=called, causes=(called, site), symptom="wrong-value")
