"""Aliases: names that are meant to be copies, and are the same object: target networks, best weights, stored data."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from whygrad.base.frames import is_internal
from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_functions, of_outermost, tensors_of
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.movement import Movement
from whygrad.why.audit.subjects.statements import Statements
from whygrad.why.audit.values import norm, same, sample
from whygrad.why.causes import at
from whygrad.why.engine import address_of, base_of, is_module, is_tensor, kind_of, shape_of, size_of, version_of
from whygrad.why.locations import locate, location_of_line
from whygrad.why.program_text import lines_matching, statements
from whygrad.why.record import Reference, Site, callers
from whygrad.why.run_facts import drop_oldest

# Names of things that are meant to stay behind what is trained.
COPIES = re.compile(r"target|teacher|(^|_)(ema|old|ref|reference|frozen|momentum|slow|prev|anchor)(_|$)", re.IGNORECASE)
# The step after which names are looked at.
EXAMINED_AT, EXAMINED_AGAIN_AT = 3, 12
AVERAGES = re.compile(r"(^|_)(ema|avg|average|averaged|shadow|polyak|swa)(_|$)", re.IGNORECASE)
MIN_TIMES = 5
# Elements of a parameter by which modules are compared; writes between two looks, from which on a copy follows each step; the
# share of a step by which it may differ from the weights before it; and of their norm.
MIN_SIZE, MIN_WRITES, NO_MEMORY, SHRUNK = 4, 6, 0.05, 0.1
# In-place arithmetic, which changes what is there.
CHANGING = {"mul_", "add_", "sub_", "div_", "addcmul_", "lerp_", "pow_", "neg_", "clamp_", "roll_"}
# Steps after which a copy should have been updated once.
MIN_UNTIL_UPDATE = 300
MAX_SITES = 64


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
        # Networks that are averages by their name, by id: name, sample of the weights, file, and whether they are still there.
        self._averages: dict[int, tuple[Any, str, Any, str, bool]] = {}
        # Networks beside the trained ones that have running statistics, by id: samples of a weight and of the statistics.
        self._copies: dict[int, tuple[Any, Any, dict[str, Any]]] = {}
        # Modules with the parameters of the trained one: theirs, those of the trained one, and how often they had been written.
        # Those that are written after each step; and those that then have just the values from before the last one.
        self._followers: dict[int, tuple[list[Any], list[Any], list[int]]] = {}
        self._followed: dict[int, tuple[list[Any], list[Any]]] = {}
        self._forgetful: list[tuple[list[Any], list[Any]]] = []
        # The lines that made inputs of models.
        self._of_inputs: set[Site] = set()
        # The lines of the calls of load_state_dict.
        self._loading_lines: set[int] = set()
        # In-place arithmetic on a part of a larger tensor of data: by line the rounds, rows written, and rows of the whole.
        self._parts: dict[Site, tuple[set[int], int, int, Any]] = {}

    def after_step(self, record: OptimizerRecord) -> None:
        if record.steps not in (EXAMINED_AT, EXAMINED_AGAIN_AT):
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
            p = next(iter(value.parameters()), None)
            statistics = {key: sample(b) for key, b in value.named_buffers() if "running_" in key}
            if p is not None and statistics and id(p) not in record.held_ids and len(self._copies) < MAX_SITES:
                self._copies.setdefault(id(value), (value, sample(p), statistics))
            self._examine_average(name, value, frame, record)
            self._examine_follower(value, record)
            for other, module in modules:
                if value is module and COPIES.search(name) and not COPIES.search(other) and any(
                        id(p) in record.held_ids for p in value.parameters()):
                    file, word = frame.f_code.co_filename, rf"^\s*([\w.]+\.)?{re.escape(name)}\s*=[^=]"
                    lines = lines_matching(file, rf"{word}.*\b{re.escape(other)}\b") or lines_matching(
                        file, rf"^\s*([\w.]+\.)?{re.escape(other)}\s*=[^=].*\b{re.escape(name)}\b") or lines_matching(file, word)
                    if (name, other) not in [known[:2] for known in self._names]:
                        self._names.append((name, other, lines[0] if lines else None))

    def _examine_average(self, name: str, module: Any, frame: FrameType, record: OptimizerRecord) -> None:
        """An average of the weights must move; it is looked at twice, so that a name that was bound anew is not mistaken."""
        p = next(iter(module.parameters()), None)
        if p is None or not AVERAGES.search(name) or id(p) in record.held_ids:
            return
        if record.steps == EXAMINED_AT:
            self._averages.setdefault(id(module), (module, name, sample(p), frame.f_code.co_filename, False))
        elif id(module) in self._averages:
            self._averages[id(module)] = *self._averages[id(module)][:4], True

    def _examine_follower(self, module: Any, record: OptimizerRecord) -> None:
        """A module with the parameters of the one that is trained, which somebody writes after each step."""
        own = [p for p in module.parameters() if size_of(p) >= MIN_SIZE]
        held = [p for p in record.parameters if size_of(p) >= MIN_SIZE]
        if not own or any(id(p) in record.held_ids for p in own) or list(map(shape_of, own)) != list(map(shape_of, held)):
            return
        if record.steps == EXAMINED_AT:
            self._followers.setdefault(id(module), (own, held, [version_of(p).value for p in own]))
            return
        versions = self._followers.get(id(module), ([], [], []))[2]
        if versions and all(version_of(p).value >= before + MIN_WRITES for p, before in zip(own, versions, strict=True)):
            moves = self.audit.subject(Movement).moves
            known = [(sample(p), m.sample_before, m.sample_after) for p, q in zip(own, held, strict=True)
                     if (m := moves.get(id(q))) is not None and m.sample_before is not None and m.sample_after is not None]
            away = sum(float(np.abs(copy - before).sum()) for copy, before, _ in known)
            step = sum(float(np.abs(after - before).sum()) for _, before, after in known)  # type: ignore[operator]
            if known and 0 < away < NO_MEMORY * step:
                self._forgetful.append((own, held))
            self._followed.setdefault(id(module), (own, held))

    def state_loaded(self, owner: Any, site: Site) -> None:
        here = locate(site) if len(self._loading_lines) < MAX_SITES else None
        if here is not None:
            self._loading_lines.add(here.line)
        state, self.audit.watch.loading_state = self.audit.watch.loading_state, None
        if is_module(owner) and isinstance(state, dict):
            own = dict(owner.named_parameters())
            shared = [name for name, p in own.items() if is_tensor(state.get(name)) and address_of(state[name]) == address_of(p)]
            if shared and len(shared) == len(own):
                self._loaded[site] = type(owner).__name__

    @of_functions(*CHANGING, and_those=lambda name: name.startswith("__i") or name.endswith("_"))
    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        is_arithmetic = name in CHANGING or (name.startswith("__i") and name.endswith("__") and name != "__init__")
        if not call.args or not is_tensor(call.args[0]) or not (is_arithmetic or (name.endswith("_") and name[-2:] != "__")):
            return
        t = call.args[0]
        whole = None if t.requires_grad else base_of(t)
        if whole is None or whole.requires_grad:
            return
        if any(code is not None and code.co_name == "__getitem__" for code, _ in (call.site, *callers())):
            self._stored.setdefault(call.site, set()).add(self.audit.round)
        elif is_arithmetic and kind_of(t) == "f" and self.audit.is_observing:
            self._note_part(call.site, t, whole)

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        if not call.depth and self._parts:
            for x in tensors_of(call):
                self._of_inputs.update(lines_of(self.audit.provenance.of(x)))

    def _note_part(self, site: Site, t: Any, whole: Any) -> None:
        """A batch that is a slice of the data is written in place."""
        rows, all_rows = shape_of(t)[:1], shape_of(whole)[:1]
        if rows and all_rows and len(shape_of(t)) == len(shape_of(whole)) and 1 < rows[0] <= all_rows[0] // 2:
            reference = self._parts[site][3] if site in self._parts else Reference(whole)
            if reference() is whole:
                rounds, written, _, _ = self._parts.get(site, (set(), 0, 0, None))
                rounds.add(self.audit.round)
                self._parts[site] = rounds, max(written, rows[0]), all_rows[0], reference
                drop_oldest(self._parts, MAX_SITES)

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

        for site, (rounds, written, rows, _) in self._parts.items():
            # So often that rows must have been written again: what is written once may be prepared in place.
            if site in self._of_inputs and len(rounds) >= MIN_TIMES and self.audit.round * written > 1.5 * rows:
                yield finding("copies", "data-mutated", "stored data is changed in place",
                              f"A slice of {written} rows of a tensor with {rows} rows is changed in place {at(site)}, in "
                              f"{count_of(len(rounds), 'observed step')}: a slice is a view, so the data itself is changed, each "
                              "epoch a little more, and drifts away from what it was.",
                              "copy the batch first (x = x.clone()), or compute a new tensor (x = x * a instead of x *= a).",
                              causes=(site,), symptom="wrong-value")
        yield from self._never_updated()
        yield from self._wrong_averages()
        yield from self._still_averages()
        yield from self._still_statistics()

    def _still_statistics(self) -> Iterator[Finding]:
        """The weights of a copy follow those of the trained network, and its running statistics do not."""
        held = {id(p) for r in self.audit.optimizers.values() for p in r.parameters}
        trained = [root for root in self.audit.modules.roots.values() if any(id(p) in held for p in root.parameters())]
        for module, before, statistics in self._copies.values():
            p, now = next(iter(module.parameters())), dict(module.named_buffers())
            others = [dict(root.named_buffers()) for root in trained if type(root) is type(module) and root is not module]
            is_still = all(same(old, sample(now[key])) for key, old in statistics.items() if key in now)
            if id(p) not in held and is_still and not same(before, sample(p)) and any(
                    not same(old, sample(other[key])) for other in others for key, old in statistics.items() if key in other):
                yield finding("copies", "copy-not-updated", "a copy follows the weights, and not the running statistics",
                              f"The weights of a {type(module).__name__} are updated {at(version_of(p).site)} from those of the "
                              f"trained one, but its {count_of(len(statistics), 'running statistic')} "
                              f"(`{next(iter(statistics))}`) are those that it was made with: they are buffers, not parameters, "
                              "and batch norm in evaluation mode normalises with them.",
                              "copy the buffers too: for b, c in zip(copy.buffers(), model.buffers()): b.copy_(c).",
                              causes=(version_of(p).site,), symptom="wrong-value")
                return

    def _wrong_averages(self) -> Iterator[Finding]:
        for own, held in self._followed.values():
            ours, theirs = math.hypot(*map(norm, own)), math.hypot(*map(norm, held))
            written = version_of(own[0]).site
            if not SHRUNK * theirs < ours < theirs / SHRUNK:
                yield finding("copies", "average-wrong", "an average of weights is not of their size",
                              f"The weights that are written {at(written)} after each step follow those that are trained, but "
                              f"their norm is {ours:.3g}, and that of the trained ones {theirs:.3g}: the factors of the average "
                              "do not add up to 1.", "average = decay * average + (1 - decay) * weight.", causes=(written,),
                              symptom="wrong-value")
                return
        for own, _ in self._forgetful[:1]:
            written = version_of(own[0]).site
            yield finding("copies", "average-wrong", "an average of weights remembers nothing",
                          f"The weights that are written {at(written)} after each step are those of the last step almost "
                          "exactly: the average is made of the new weights, and hardly of the old ones. The factors are "
                          "exchanged.",
                          "average = decay * average + (1 - decay) * weight, with decay near 1.", causes=(written,),
                          symptom="wrong-value")

    def _still_averages(self) -> Iterator[Finding]:
        steps = max([record.steps for record in self.audit.optimizers.values()], default=0)
        for module, name, before, file, is_kept in self._averages.values():
            p = next(iter(module.parameters()))
            if not is_kept or not same(before, sample(p)):
                continue
            word = re.escape(name)
            lines = lines_matching(file, rf"\(([^()]*,\s*)?([\w.]+\.)?{word}\s*[,)]|\b{word}\.(update|step)") or lines_matching(
                file, rf"\b{word}\s*=[^=]")
            yield finding("copies", "copy-not-updated", f"`{name}` is never updated",
                          f"`{name}` is a network beside the one that is trained, and by its name is meant as an average of its "
                          f"weights; but in {count_of(steps, 'step')} they have not changed at all: what updates it works on "
                          "a copy, makes new tensors that nobody keeps, or is never called.",
                          "write into its parameters in place (p.lerp_(q, 1 - decay) under torch.no_grad()), or keep what the "
                          "update returns.", causes=(*self.audit.subject(Statements).rebinding(), *lines[:4]),
                          symptom="no-update")

    def _never_updated(self) -> Iterator[Finding]:
        """`if step % n == 0: target.load_state_dict(net.state_dict())`, in a run that is shorter than n."""
        record = max(self.audit.optimizers.values(), key=lambda known: known.steps, default=None)
        here = None if record is None else locate(record.stepped_at)
        if record is None or here is None or record.steps < MIN_UNTIL_UPDATE:
            return
        for statement in statements(here.file):
            if not isinstance(statement, ast.If) or not any(isinstance(node, ast.Mod) for node in ast.walk(statement.test)):
                continue
            for call in [node for node in ast.walk(statement) if isinstance(node, ast.Call)]:
                copied = re.fullmatch(r"([\w.]+)\.load_state_dict\(([\w.]+)\.state_dict\(\)\)", ast.unparse(call))
                if copied is None or not COPIES.search(copied[1].rpartition(".")[2]) or call.lineno in self._loading_lines:
                    continue
                line = location_of_line(here.file, call.lineno, here.function)
                yield finding("copies", "copy-not-updated", f"`{copied[1]}` is never updated",
                              f"`{copied[1]}` is a copy of `{copied[2]}` that is meant to follow it, but line {call.lineno} "
                              f"never ran in {count_of(record.steps, 'step')}: its condition, `{ast.unparse(statement.test)}`, "
                              "was never true. The copy stays as it was made, at random, and what is learned from it is noise.",
                              "update it more often: choose an interval that is much shorter than the run.",
                              at=line, causes=(line, location_of_line(here.file, statement.lineno, here.function),
                                               *lines_matching(here.file, rf"\b{_interval_name(statement.test)}\b\s*=[^=]")[:2]),
                              symptom="wrong-value")

    def _kept_at(self, site: Site) -> list[Any]:
        here = locate(site)
        return [] if here is None else lines_matching(here.file, r"=.*(?<!copy\()\b[\w.]+\.state_dict\(\)\s*(#.*)?$")


def _interval_name(test: ast.expr) -> str:
    """The name of the interval in `step % self.every == 0`; "_" if it has none."""
    interval = next((node.right for node in ast.walk(test) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)), None)
    if isinstance(interval, ast.Attribute):
        return interval.attr
    return interval.id if isinstance(interval, ast.Name) else "_"
