"""Replicas: what one process of several that train together does to its copy of each weight, to be compared with the others'.

Nothing is exchanged while the program runs, which would change it: why/rank_comparison.py compares what the processes leave.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from whygrad.why import engine
from whygrad.why.audit.finding import Finding
from whygrad.why.audit.observation import Call, ModuleCall, of_functions, tensors_of
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.distributed import WRAPPER, Distributed
from whygrad.why.audit.values import checksum, norm, sample
from whygrad.why.engine import address_of, array_of, grad_of, is_sparse, is_tensor, notes_of, shape_of, size_of, version_of
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Rounds that are kept: the first ones, and the last ones.
MAX_FIRST, MAX_LAST = 16, 8
MAX_PARAMETERS = 1000


class Fingerprint(NamedTuple):
    """By which two arrays are compared: a checksum of all bytes, and numbers that tell how far they are apart."""

    checksum: int
    total: float
    norm: float
    sample: np.ndarray


def fingerprint(t: Any) -> Fingerprint | None:
    if is_sparse(t):
        return None
    array = np.ascontiguousarray(array_of(t))
    if array.dtype.kind != "f":
        return None
    return Fingerprint(zlib.crc32(array.view(np.uint8).data), float(array.sum(dtype=np.float64)), norm(array),
                       sample(array).astype(np.float64))


def writes_in_place(call: Call) -> bool:
    """Whether a call writes its first argument: `mul_`, `/=`, `t[i] = x`."""
    name = call.name.rpartition(".")[2]
    is_writing = (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") or name == "__setitem__"
    return is_writing and bool(call.args) and is_tensor(call.args[0]) and not is_sparse(call.args[0])


@dataclass
class Replica:
    """One parameter: `steps` has its fingerprints of each round that was kept."""

    name: str
    shape: tuple[int, ...]
    # Where the module was made that has it; where it was wrapped to be trained by several processes, and replaced since.
    made_at: SourceLocation | None
    wrapped_at: SourceLocation | None = None
    replaced_at: SourceLocation | None = None
    steps: dict[int, ReplicaStep] = field(default_factory=dict)


@dataclass
class ReplicaStep:
    """Weights before and after a step, and the gradient that it took; the lines that wrote weights and gradient before it."""

    before: Fingerprint | None
    gradient: Fingerprint | None
    written_at: SourceLocation | None
    graded_at: list[SourceLocation]
    rate: float
    stepped_at: SourceLocation | None = None
    after: Fingerprint | None = None


@dataclass
class RankFacts:
    """What one process leaves. `inputs` has what the wrapped model was given first in each round."""

    replicas: dict[tuple[int, int], Replica] = field(default_factory=dict)
    inputs: dict[int, Fingerprint] = field(default_factory=dict)
    called_at: SourceLocation | None = None
    loader_at: SourceLocation | None = None
    # Whether a loader was iterated whose sampler gives each process its own part.
    is_sampler_shared_out: bool = False
    state_loaded_at: SourceLocation | None = None


class Replicas(Subject):
    every_round = frozenset({"iterated", "state_loaded"})
    checks = {"replicas": "replicas of a weight are equal in all processes", "rank-data": "each process has data of its own"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # True in a process whose facts will be compared with those of others.
        self.is_compared = False
        self.facts = RankFacts()
        self._optimizers: dict[int, int] = {}
        # The lines that wrote gradients since the last step: clipping by the parameter's id, others by the memory's address.
        self._clipped_at: dict[int, Site] = {}
        self._written_at: dict[int, list[Site]] = {}

    def _wrappers(self) -> dict[int, tuple[Any, Site]]:
        """The wrapper that trains each parameter in all processes, and the line that made it, by the parameter's id."""
        found: dict[int, tuple[Any, Site]] = {}
        for wrapper, site in self.audit.subject(Distributed).wrappers:
            group = getattr(wrapper, "process_group", None)
            if group is None or group.size() == engine.group_size():
                ignored = getattr(wrapper, "parameters_to_ignore", ())  # a parameter of the root is ".weight" there
                found |= {id(p): (wrapper, site) for name, p in wrapper.module.named_parameters()
                          if name not in ignored and f".{name}" not in ignored}
        return found

    def before_step(self, record: OptimizerRecord) -> None:
        if not self.is_compared or not self.audit.is_observing or engine.group_size() < 2:
            return
        number = self._optimizers.setdefault(id(record.optimizer), len(self._optimizers))
        wrapped = self._wrappers()
        rates = {id(p): float(group.get("lr", 0)) for group in record.groups for p in group["params"]}
        for i, p in enumerate(record.parameters[:MAX_PARAMETERS]):
            known = self.facts.replicas.get((number, i))
            if known is None:
                known = self.facts.replicas[number, i] = self._replica(p)
            if id(p) in wrapped:
                wrapper, site = wrapped[id(p)]
                known.wrapped_at = locate(site)
                replaced = self.audit.watch.data_replaced_since(p, partial(self.audit.modules.is_younger, wrapper))
                known.replaced_at = known.replaced_at or locate(replaced)
            g = grad_of(p)
            known.steps[self.audit.round] = ReplicaStep(
                fingerprint(p), None if g is None else fingerprint(g),
                locate(self.audit.watch.data_write_site(p) or version_of(p).site),
                [] if g is None else self._graded_at(p, g), rates.get(id(p), 0.0))
            if len(known.steps) > MAX_FIRST + MAX_LAST:
                del known.steps[list(known.steps)[MAX_FIRST]]
        self._clipped_at.clear()
        self._written_at.clear()

    def _replica(self, p: Any) -> Replica:
        modules = list(self.audit.modules.modules_around(p))
        name = self.audit.name_of(p) or f"a tensor of shape {list(shape_of(p))}"
        if modules and type(modules[0]).__name__ == WRAPPER:
            name = name.removeprefix("module.")
        return Replica(name, shape_of(p), locate(self.audit.modules.made_at(modules[-1])) if modules else None)

    def _graded_at(self, p: Any, g: Any) -> list[SourceLocation]:
        """The lines that wrote a gradient by hand."""
        assigned = [site for what, site, _ in notes_of(p).grad_log if what == "assigned"]
        lines = [*assigned, *self._written_at.get(address_of(g), ()), self._clipped_at.get(id(p))]
        return list(dict.fromkeys(line for site in lines if (line := locate(site)) is not None))

    @of_functions("__setitem__", and_those=lambda name: name.startswith("__i") or name.endswith("_"))
    def called(self, call: Call) -> None:
        if self.is_compared and writes_in_place(call) and not engine.running_backward():
            self._written_at.setdefault(address_of(call.args[0]), []).append(call.site)
            drop_oldest(self._written_at, 4 * MAX_PARAMETERS)

    def clipped(self, clip: Any) -> None:
        if self.is_compared:
            self._clipped_at |= {id(p): clip.site for p in clip.parameters}

    def after_step(self, record: OptimizerRecord) -> None:
        number = self._optimizers.get(id(record.optimizer))
        if number is None or not self.audit.is_observing:
            return
        for i, p in enumerate(record.parameters[:MAX_PARAMETERS]):
            known = self.facts.replicas.get((number, i))
            step = None if known is None else known.steps.get(self.audit.round)
            if step is not None:
                step.after, step.stepped_at = fingerprint(p), locate(record.stepped_at)

    def module_called(self, call: ModuleCall) -> None:
        if (self.is_compared and type(call.module).__name__ == WRAPPER and call.module.training
                and self.audit.round not in self.facts.inputs and len(self.facts.inputs) < MAX_FIRST):
            given = [x for x in tensors_of(call) if size_of(x) > 1 and not is_sparse(x)]
            if given:
                checksums = np.array([checksum(x) for x in given])
                self.facts.inputs[self.audit.round] = Fingerprint(zlib.crc32(checksums.tobytes()), 0.0, 0.0, checksums)
                self.facts.called_at = locate(call.site)

    def iterated(self, loader: Any, site: Site) -> None:
        if self.is_compared:
            samplers = getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)
            self.facts.is_sampler_shared_out |= any("num_replicas" in getattr(s, "__dict__", ()) for s in samplers)
            self.facts.loader_at = self.facts.loader_at or locate(site)

    def state_loaded(self, owner: Any, site: Site) -> None:
        if self.is_compared and hasattr(owner, "param_groups"):
            self.facts.state_loaded_at = locate(site)

    def was_seen(self, check: str) -> bool:
        return bool(self.facts.replicas if check == "replicas" else self.facts.inputs)

    def findings(self) -> Iterator[Finding]:
        """None: one process alone cannot tell."""
        return iter(())
