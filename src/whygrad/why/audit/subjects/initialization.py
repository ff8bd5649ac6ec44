"""Initialization: is each parameter initialized once by a line, before training?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import Call, of_functions
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import norm
from whygrad.why.causes import at
from whygrad.why.engine import is_parameter, shape_of
from whygrad.why.record import Reference, Site

# Functions that draw the values of a parameter anew.
DRAWING = frozenset({"normal_", "uniform_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
                     "kaiming_normal_", "orthogonal_"})
MAX_PARAMETERS = 10_000
# By what a layer may multiply the size of its inputs; layers that are named.
TOO_LARGE, MAX_LARGE = 20.0, 32


class Initialization(Subject):
    checks = {
        "initialized-once": "no line initializes a parameter twice",
        "initial-size": "weights do not begin far too large",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # How often a line has drawn a parameter: (its id, the line) -> a reference to it, and the count.
        self._drawn: dict[tuple[int, Site], tuple[Reference, int]] = {}
        # Weights that are far too large before the first step: by what they multiply the size of their inputs.
        self._large: dict[int, tuple[Any, float]] = {}

    @of_functions(*DRAWING)
    def called(self, call: Call) -> None:
        if self.audit.round or call.name.rpartition(".")[2] not in DRAWING or len(self._drawn) >= MAX_PARAMETERS:
            return
        p = call.argument(0, "tensor", None)
        if is_parameter(p):
            key = id(p), call.site
            reference, count = self._drawn.get(key, (Reference(p), 0))
            self._drawn[key] = Reference(p), 1 + (count if reference() is p else 0)

    def before_step(self, record: OptimizerRecord) -> None:
        if record.steps:
            return
        for root in list(self.audit.modules.roots.values()):
            for module in root.modules():
                inputs = getattr(module, "in_features", None) or getattr(module, "in_channels", None)
                weight = module._parameters.get("weight")
                is_held = weight is not None and id(weight) in record.held_ids
                if is_held and isinstance(inputs, int) and len(self._large) < MAX_LARGE:
                    shape = shape_of(weight)
                    gain = norm(weight) / math.sqrt(shape[0]) if len(shape) > 1 and all(shape) else 0.0
                    if gain > TOO_LARGE:
                        self._large[id(weight)] = weight, gain

    def was_seen(self, check: str) -> bool:
        return bool(self._drawn)

    def _too_large(self) -> Iterator[Finding]:
        if not self._large:
            return
        weights = list(self._large.values())
        lines = [site for p, _ in weights for (key, site) in self._drawn if key == id(p)]
        made = [site for p, _ in weights[:1] for module in list(self.audit.modules.modules_around(p))[-1:]
                for site in self.audit.modules.making(module)[:2]]
        names = [self.audit.name_of(p) for p, _ in weights]
        found = finding("initial-size", "init-too-large", "weights begin far too large",
                        f"Before the first step, {count_of(len(names), 'weight')} ({listed(names)}) made what they multiplied "
                        f"up to {max(gain for _, gain in weights):.0f} times as large: activations saturate, or grow from layer "
                        "to layer, and gradients vanish or explode.",
                        "keep the size of what passes a layer: a standard deviation of about 1 / sqrt(inputs) "
                        "(nn.init.xavier_normal_, kaiming_normal_), which is the default of the layers.",
                        causes=tuple(dict.fromkeys(lines or made)), parameters=names, symptom="wrong-value")
        found.hides = {"saturated", "exploding-gradient", "diverged", "vanishing-gradient", "zero-local-derivative",
                       "output-constant"}
        yield found

    def findings(self) -> Iterator[Finding]:
        yield from self._too_large()
        again: dict[Site, list[tuple[Any, int]]] = {}
        owners = Counter(id(p) for root in list(self.audit.modules.roots.values()) for module in root.modules()
                         for p in module._parameters.values())  # tied weights have several
        for (_, site), (reference, count) in self._drawn.items():
            p = reference()
            if p is not None and count > max(1, owners[id(p)]):
                again.setdefault(site, []).append((p, count))
        held = {id(p) for p in self.audit.parameters()}
        for site, several in again.items():
            names = [self.audit.name_of(p) for p, _ in several if id(p) in held]
            if names:
                most = max(count for _, count in several)
                yield finding("initialized-once", "init-repeated", "a line initializes the same parameters again and again",
                              f"{count_of(len(names), 'parameter')} ({listed(names)}) were drawn up to {most} times {at(site)} "
                              "before the first step: only the last draw counts, the others cost time and random numbers. Is a "
                              "rule applied to every module that has the parameter somewhere inside (named_parameters() goes "
                              "into submodules)?",
                              "initialize a parameter where its own module is visited (named_parameters(recurse=False)).",
                              causes=(site,), parameters=names, symptom="unwanted", odd=True)
