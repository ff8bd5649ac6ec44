"""Aliases: names that are meant to be copies, and are the same object: target networks, best weights, stored data."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from whygrad.base.frames import is_internal
from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import address_of, base_of, is_module, is_tensor
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Site

# Names of things that are meant to stay behind what is trained.
COPIES = re.compile(r"target|teacher|(^|_)(ema|old|ref|reference|frozen|momentum|slow|prev|anchor)(_|$)", re.IGNORECASE)
# The step after which names are looked at.
EXAMINED_AT = 3
MIN_TIMES = 5


class Aliases(Subject):
    every_round = frozenset({"state_loaded"})
    checks = {"copies": "copies are copies: of networks, of the best weights, of stored data"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # (name of the copy, name of the original, line); lines that load a model's own tensors; lines that write into stored
        # data.
        self._names: list[tuple[str, str, Any]] = []
        self._loaded: dict[Site, Any] = {}
        self._stored: dict[Site, set[int]] = {}

    def after_step(self, record: OptimizerRecord) -> None:
        if record.steps != EXAMINED_AT:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not is_internal(frame):
                self._examine(frame.f_locals, frame, record)
                for value in list(frame.f_locals.values())[:100]:
                    if not is_module(value) and not isinstance(value, type) and hasattr(value, "__dict__"):
                        self._examine(vars(value), frame, record)
            frame = frame.f_back

    def _examine(self, names: dict[str, Any], frame: FrameType, record: OptimizerRecord) -> None:
        modules = [(name, value) for name, value in list(names.items())[:200] if is_module(value)]
        for name, value in modules:
            for other, same in modules:
                if value is same and COPIES.search(name) and not COPIES.search(other) and any(
                        id(p) in record.held_ids for p in value.parameters()):
                    either = rf"(\w+\.)?({re.escape(name)}|{re.escape(other)})"
                    lines = lines_matching(frame.f_code.co_filename, rf"^\s*{either}\s*=\s*{either}\s*$") or lines_matching(
                        frame.f_code.co_filename, rf"\b{re.escape(name)}\b[^=]*=[^=]")
                    if (name, other) not in [known[:2] for known in self._names]:
                        self._names.append((name, other, lines[0] if lines else None))

    def state_loaded(self, owner: Any, site: Site) -> None:
        state, self.audit.watch.loading_state = self.audit.watch.loading_state, None
        if is_module(owner) and isinstance(state, dict):
            own = dict(owner.named_parameters())
            shared = [name for name, p in own.items() if is_tensor(state.get(name)) and address_of(state[name]) == address_of(p)]
            if shared and len(shared) == len(own):
                self._loaded[site] = type(owner).__name__

    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if not name.endswith("_") or name.endswith("__") or not call.args or not is_tensor(call.args[0]):
            return
        t = call.args[0]
        if t.requires_grad or base_of(t) is None or base_of(t).requires_grad or call.site[0].co_name != "__getitem__":
            return
        self._stored.setdefault(call.site, set()).add(self.audit.round)

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= EXAMINED_AT for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        for name, other, line in self._names:
            yield finding("copies", "module-aliased", f"`{name}` is `{other}`, not a copy of it",
                          f"`{name}` and `{other}` are the same module object: an assignment makes no copy, so `{name}` "
                          "changes with every step of the optimizer, and does not stay behind as it should.",
                          f"copy it: {name} = copy.deepcopy({other}).", causes=(line,), symptom="wrong-value")
        for site, kind in self._loaded.items():
            yield finding("copies", "state-aliased", "the loaded state is the model's own",
                          f"load_state_dict {at(site)} gives {kind} the very tensors it has: state_dict() returns "
                          "references to the parameters, not copies, so what was kept has followed every step since, and "
                          "loading it changes nothing.",
                          "keep a copy: copy.deepcopy(model.state_dict()), or "
                          "{k: v.clone() for k, v in model.state_dict().items()}.",
                          at=site, causes=(*self._kept_at(site), site), symptom="wrong-value")
        for site, rounds in self._stored.items():
            if len(rounds) >= MIN_TIMES:
                yield finding("copies", "data-mutated", "stored data is changed in place",
                              f"__getitem__ writes in place {at(site)} into a view of the stored data, in "
                              f"{count_of(len(rounds), 'observed step')}: each epoch changes the data a little more, and "
                              "it drifts away from what it was.",
                              "clone the sample before changing it, or use operations that are not in place.",
                              causes=(site,), symptom="wrong-value")

    def _kept_at(self, site: Site) -> list[Any]:
        here = locate(site)
        return [] if here is None else lines_matching(here.file, r"=\s*[\w.]+\.state_dict\(\)\s*$")
