"""Modes: are dropout and batch norm in training mode while training, and in evaluation mode while validating?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why import record
from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import Call, ModuleCall
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_grad_enabled, is_inference_mode_enabled, notes_of
from whygrad.why.record import Site

MIN_EVALUATIONS = 2
MIN_STEPS = 3


class Mode:
    """The mode of one model in the steps of its optimizer and in the evaluations between them."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.steps_in_training = 0
        # Steps in evaluation mode at the end, without one in training mode after them.
        self.latest_in_evaluation = 0
        self.eval_at: Site | None = None
        # Evaluations (a loss or an argmax without gradients) in each mode, and the last line in training mode.
        self.evaluated: dict[bool, int] = {True: 0, False: 0}
        self.evaluated_at: tuple[Site, ...] = ()


class Modes(Subject):
    every_round = frozenset({"mode_set"})
    checks = {
        "training-mode": "training runs in training mode",
        "evaluation-mode": "validation runs in evaluation mode",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._modes: dict[int, Mode] = {}
        self._has_modes: dict[int, bool] = {}
        # The module that the program called last, while rounds are observed.
        self._last_called: Any = None
        # By id of an optimizer's record: the number of its parameters and of all models, and the models that it trains.
        self._trained: dict[int, tuple[int, int, list[Any]]] = {}
        # Dropout that the program calls itself, in training, while a model is in evaluation mode: line -> count.
        self._dropout: dict[Site, int] = {}
        self._dropout_in_training: set[Site] = set()
        # Frozen batch norms that were called in training mode while gradients are recorded: module, rounds, line.
        self._drifting: dict[int, tuple[Any, set[int], Site]] = {}

    def _mode_of(self, root: Any) -> Mode:
        return self._modes.setdefault(id(root), Mode(root))

    def _depends_on_mode(self, root: Any) -> bool:
        found = self._has_modes.get(id(root))
        if found is None:
            found = self._has_modes[id(root)] = any(map(_has_mode, root.modules()))
        return found

    def mode_set(self, module: Any, training: bool, site: Site) -> None:
        if not training and id(module) in self.audit.modules.roots:
            self._mode_of(module).eval_at = site

    def after_step(self, record_: OptimizerRecord) -> None:
        for root in self._trained_roots(record_):
            mode = self._mode_of(root)
            if root.training:
                mode.steps_in_training += 1
                mode.latest_in_evaluation = 0
            else:
                mode.latest_in_evaluation += 1

    def _trained_roots(self, record_: OptimizerRecord) -> list[Any]:
        """The models that this optimizer trains, if they have layers that depend on the mode."""
        held, roots = record_.held_ids, self.audit.modules.roots
        known = self._trained.get(id(record_))
        if known is None or known[:2] != (len(held), len(roots)):
            found = [root for root in roots.values()
                     if self._depends_on_mode(root) and any(id(p) in held for p in root.parameters())]
            known = self._trained[id(record_)] = len(held), len(roots), found
        return known[2]

    def loss_called(self, call: Call) -> None:
        self._note_evaluation(call)

    def module_called(self, call: ModuleCall) -> None:
        module = call.module
        if not call.depth:
            self._last_called = module
        elif ("BatchNorm" in type(module).__name__ and module.training and module.track_running_stats and is_grad_enabled()
                and module.weight is not None):
            if module.weight.requires_grad:
                self._drifting.pop(id(module), None)
            else:
                self._drifting.setdefault(id(module), (module, set(), call.site))[1].add(self.audit.round)

    def round_ended(self, number: int) -> None:
        self._last_called = None

    def argmax_called(self, call: Call) -> None:
        self._note_evaluation(call)

    def _note_evaluation(self, call: Call) -> None:
        if is_grad_enabled() and not is_inference_mode_enabled():
            return
        for r in self.audit.optimizers.values():
            for root in self._trained_roots(r) if r.steps else ():
                if self._last_called is not None and not any(m is self._last_called for m in root.modules()):
                    continue  # another model's
                mode = self._mode_of(root)
                is_training = any(m.training for m in root.modules() if _has_mode(m))
                mode.evaluated[is_training] += 1
                if is_training:
                    mode.evaluated_at = call.site, *record.callers(2)

    def dropout_called(self, call: Call) -> None:
        if not call.argument(2, "training", True) or not call.argument(1, "p", 0.5):
            return
        roots = self.audit.modules.roots.values()
        is_evaluating = any(not root.training for root in roots if any(True for _ in root.parameters()))
        if is_evaluating and not (is_grad_enabled() and not is_inference_mode_enabled()):
            self._dropout[call.site] = self._dropout.get(call.site, 0) + 1

    def was_seen(self, check: str) -> bool:
        if check == "evaluation-mode":
            return any(mode.evaluated[True] + mode.evaluated[False] for mode in self._modes.values())
        return any(mode.steps_in_training + mode.latest_in_evaluation for mode in self._modes.values())

    def findings(self) -> Iterator[Finding]:
        for mode in self._modes.values():
            name = type(mode.root).__name__
            if mode.latest_in_evaluation >= MIN_STEPS and mode.eval_at is not None:
                layers = ", ".join(sorted({type(m).__name__ for m in mode.root.modules() if _has_mode(m)}))
                yield finding("training-mode", "eval-not-undone", "the model trains in evaluation mode",
                              f"{name}.eval() was called {at(mode.eval_at)}, and train() never after it: the last "
                              f"{mode.latest_in_evaluation} steps ran in evaluation mode, where {layers} behave "
                              "differently (dropout is off, batch norm does not update its statistics).",
                              "call model.train() before training goes on, after every evaluation.", causes=(mode.eval_at,),
                              symptom="wrong-value")
            if mode.evaluated[True] >= MIN_EVALUATIONS and not mode.evaluated[False]:
                layers = ", ".join(sorted({type(m).__name__ for m in mode.root.modules() if _has_mode(m)}))
                yield finding("evaluation-mode", "train-in-validation", "the model is validated in training mode",
                              f"{name} was evaluated without gradients {count_of(mode.evaluated[True], 'time')}, the last "
                              f"time {at(mode.evaluated_at[0])}, and always in training mode: {layers} act as in training "
                              "(dropout drops, batch norm mixes in and learns the statistics of the validation data), so "
                              "the numbers are not those of the model that will be used.",
                              "call model.eval() before validating, and model.train() after it.", causes=mode.evaluated_at,
                              symptom="wrong-value")
        yield from self._frozen_statistics()
        for site, count in self._dropout.items():
            yield finding("evaluation-mode", "train-in-validation", "dropout is active in evaluation mode",
                          f"dropout {at(site)} dropped elements {count_of(count, 'time')} while the model was in "
                          "evaluation mode: F.dropout has training=True as its default, and does not look at model.eval().",
                          "use nn.Dropout, or pass training=self.training.", causes=(site,), symptom="wrong-value")


    def _frozen_statistics(self) -> Iterator[Finding]:
        held = {id(p) for p in self.audit.parameters() if p.requires_grad}
        drifting = [(module, site) for module, rounds, site in self._drifting.values()
                    if len(rounds) >= MIN_STEPS and not module.weight.requires_grad and id(module.weight) not in held]
        for root in list(self.audit.modules.roots.values()) if drifting else ():
            own = {id(m): path for path, m in root.named_modules()}
            found = [(own[id(m)], m, site) for m, site in drifting if id(m) in own]
            switched = [notes.switched_at[1] for _, m, _ in found if (notes := notes_of(m.weight)).switched_at is not None]
            if found and any(id(p) in held for p in root.parameters()):
                paths = [path for path, _, _ in found]
                yield finding("training-mode", "frozen-decayed", "a frozen batch norm still changes",
                              f"The parameters of {listed(paths)} are frozen, but the layers are in training mode: they "
                              "normalise with the statistics of each batch, and their running mean and variance move with the "
                              "data. What they compute does not stay as it was.",
                              "put the frozen part into evaluation mode after each model.train(): for m in ...: m.eval().",
                              at=found[0][2], causes=(*switched[:1], found[0][2]), symptom="unwanted", odd=True)
                return


def _has_mode(module: Any) -> bool:
    """Whether a layer behaves differently in training and in evaluation."""
    name = type(module).__name__
    if "Dropout" in name:
        return bool(getattr(module, "p", 0) > 0)
    if "BatchNorm" in name or "InstanceNorm" in name:
        return bool(getattr(module, "track_running_stats", False))
    return bool(isinstance(getattr(module, "dropout", None), float) and module.dropout > 0)
