"""Modes: are dropout and batch norm in training mode while training, and in evaluation mode while validating?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why import engine, record
from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import Call, ModuleCall
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_inference_mode_enabled, is_tensor, notes_of, shape_of
from whygrad.why.library_design import is_library_file
from whygrad.why.locations import SourceLocation, locate, location_of_line
from whygrad.why.program_text import called_name, statements
from whygrad.why.record import Site

MIN_EVALUATIONS = 2
MIN_STEPS = 3
MAX_LAYERS, MAX_LINES = 64, 64
# Standard deviations by which the statistics of a frozen batch norm may move.
DRIFTED = 0.5


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
        "own-train": "a train() that a model defines itself is called before it trains",
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
        # Frozen batch norms that were called in training mode while gradients are recorded: module, rounds, line, first mean.
        self._drifting: dict[int, tuple[Any, set[int], Site, Any]] = {}
        # Ids of modules whose mode was set; modules with a train() of their own that were called in steps without that.
        self._mode_is_set: set[int] = set()
        self._trained_at: dict[int, Site] = {}
        self._train_lines: set[tuple[str, int]] = set()
        # Lines that take argmax over one element.
        self._of_one: dict[Site, tuple[int, Any]] = {}
        # Models that were trained, and are called in training mode without gradients since: module, line, rounds.
        self._guides: dict[int, tuple[Any, Site, set[int]]] = {}
        self._not_set: dict[int, Any] = {}
        # Layers that power iterations of a training forward normalize: ids of those that had one, and first calls without.
        self._iterated: set[int] = set()
        self._evaluated_first: dict[int, tuple[Any, Site]] = {}

    def _mode_of(self, root: Any) -> Mode:
        return self._modes.setdefault(id(root), Mode(root))

    def _depends_on_mode(self, root: Any) -> bool:
        found = self._has_modes.get(id(root))
        if found is None:
            found = self._has_modes[id(root)] = any(map(_has_mode, root.modules()))
        return found

    def mode_set(self, module: Any, training: bool, site: Site) -> None:
        self._mode_is_set.add(id(module))
        if training:
            self._trained_at[id(module)] = site
            if (here := locate(site)) is not None and len(self._train_lines) < MAX_LINES:
                self._train_lines.add((here.file, here.line))
        if not training and id(module) in self.audit.modules.roots:
            self._mode_of(module).eval_at = site

    def _never_reached(self, site: Site) -> list[SourceLocation]:
        """A condition beside eval(), and a call of train() under it, that never ran."""
        here = locate(site)
        if here is None:
            return []
        for statement in statements(here.file):
            for call in ast.walk(statement) if isinstance(statement, ast.If) else ():
                if isinstance(call, ast.Call) and called_name(call) == "train" and (
                        here.file, call.lineno) not in self._train_lines:
                    return [location_of_line(here.file, line, here.function) for line in (statement.lineno, call.lineno)]
        return []

    def after_step(self, record_: OptimizerRecord) -> None:
        roots = self._trained_roots(record_)
        for root in roots:
            mode = self._mode_of(root)
            if root.training:
                mode.steps_in_training += 1
                mode.latest_in_evaluation = 0
            elif not any(other.training and _share(other, root) for other in roots):  # else it is trained as a part of that one
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
            self._note_guide(call)
        elif ("BatchNorm" in type(module).__name__ and module.training and getattr(module, "track_running_stats", False)
                and getattr(module, "weight", None) is not None and is_grad_enabled()):
            if module.weight.requires_grad:
                self._drifting.pop(id(module), None)
            else:
                known = self._drifting.get(id(module))
                if known is None:
                    known = self._drifting[id(module)] = module, set(), call.site, array_of(module.running_mean).copy()
                known[1].add(self.audit.round)
        if module.training and is_grad_enabled() and _defines_train(module) and id(module) not in self._mode_is_set:
            self._not_set[id(module)] = module
        if any(type(hook).__name__ == "SpectralNorm" for hook in vars(module).get("_forward_pre_hooks", {}).values()):
            if module.training:
                self._iterated.add(id(module))
            elif id(module) not in self._iterated and len(self._evaluated_first) < MAX_LAYERS:
                self._evaluated_first.setdefault(id(module), (module, call.site))

    def _note_guide(self, call: ModuleCall) -> None:
        """A model that was trained before, and now says without gradients what another one is to learn."""
        module = call.module
        if is_grad_enabled() or not module.training or not any(
                "Dropout" in type(m).__name__ and m.training and _has_mode(m) for m in module.modules()):
            return
        own = {id(p) for p in module.parameters()}
        holders = [r for r in self.audit.optimizers.values() if own & r.held_ids and r.steps]
        others = [r for r in self.audit.optimizers.values() if not own & r.held_ids and r.steps]
        if holders and others and max(r.last_round for r in holders) < max(r.first_round for r in others):
            self._guides.setdefault(id(module), (module, call.site, set()))[2].add(self.audit.round)

    def _noisy_guides(self) -> Iterator[Finding]:
        for module, site, rounds in self._guides.values():
            if len(rounds) >= MIN_STEPS:
                made = self.audit.modules.making(module)
                yield finding("evaluation-mode", "train-in-validation", "a trained model gives targets in training mode",
                              f"{type(module).__name__} was trained before, and is called {at(site)} without gradients while "
                              f"another model is trained, in {count_of(len(rounds), 'observed step')}; it is still in training "
                              "mode, so its dropout drops at random, and what the other one learns from is noisy.",
                              "call .eval() of it before it is used.", at=site,
                              causes=(site, *made[:2], *self._set_at(module)), symptom="wrong-value")

    def round_ended(self, number: int) -> None:
        self._last_called = None

    def argmax_called(self, call: Call) -> None:
        given, dim = call.args[0] if call.args else None, call.argument(1, "dim")
        if is_tensor(given) and isinstance(dim, int) and shape_of(given) and shape_of(given)[dim] == 1:
            calls = self._of_one.get(call.site, (0, None))[0]
            self._of_one[call.site] = calls + 1, self._last_called
        self._note_evaluation(call)

    def _note_evaluation(self, call: Call) -> None:
        if is_grad_enabled() and not is_inference_mode_enabled():
            return
        for r in self.audit.optimizers.values():
            for root in self._trained_roots(r) if r.steps else ():
                if self._last_called is not None and not any(m is self._last_called for m in root.modules()):
                    continue  # another model's
                if self._last_called is None and any(type(m) is type(root) and m is not root and not _share(m, root)
                                                     for m in self.audit.modules.roots.values()):
                    continue  # it may be that of its copy
                mode = self._mode_of(root)
                is_training = any(m.training for m in root.modules() if _has_mode(m))
                mode.evaluated[is_training] += 1
                if is_training:
                    mode.evaluated_at = call.site, *record.callers(2)

    def dropout_called(self, call: Call) -> None:
        if not call.argument(2, "training", True) or not call.argument(1, "p", 0.5):
            return
        self._note_dropout(call.site)

    def attention_called(self, call: Call) -> None:
        if call.argument(4, "dropout_p", 0.0):
            self._note_dropout(call.site)

    def _note_dropout(self, site: Site) -> None:
        roots = self.audit.modules.roots.values()
        is_evaluating = any(not root.training for root in roots if any(True for _ in root.parameters()))
        if is_evaluating and not (is_grad_enabled() and not is_inference_mode_enabled()):
            self._dropout[site] = self._dropout.get(site, 0) + 1

    def was_seen(self, check: str) -> bool:
        if check == "own-train":
            return any(_defines_train(m) for root in self.audit.modules.roots.values() for m in root.modules())
        if check == "evaluation-mode":
            return any(mode.evaluated[True] + mode.evaluated[False] for mode in self._modes.values())
        return any(mode.steps_in_training + mode.latest_in_evaluation for mode in self._modes.values())

    def _own_train(self) -> Iterator[Finding]:
        """Modules are in training mode from the start: what train() of a class does besides is done only if it is called."""
        steps = max([record_.steps for record_ in self.audit.optimizers.values()], default=0)
        for key, module in self._not_set.items():
            if key in self._mode_is_set or steps < MIN_STEPS:
                continue
            name, code = type(module).__name__, type(module).train.__code__
            made = self.audit.modules.made_at(module)
            yield finding("own-train", "train-not-called", f"{name}.train() was never called",
                          f"{name} defines a train() of its own, and was trained for {count_of(steps, 'step')} without a call "
                          "of it: a module is in training mode from the start, so that nobody missed it, but what the method "
                          "does besides (freezing layers, keeping batch norms in evaluation mode) was not done.",
                          "call model.train() before training begins.", causes=(made, (code, 0)), symptom="wrong-value", odd=True)

    def _not_iterated(self) -> Iterator[Finding]:
        """A spectral norm divides by an estimate that starts at random, and is computed by forwards in training mode."""
        if not self._evaluated_first:
            return
        layers = [(self.audit.path_of(module), module, site) for module, site in self._evaluated_first.values()]
        _, module, site = layers[0]
        yield finding("evaluation-mode", "eval-before-train", "a spectral norm was used before it was computed",
                      f"{count_of(len(layers), 'layer')} with spectral_norm ({listed([path for path, _, _ in layers])}) ran in "
                      f"evaluation mode {at(site)} before the first forward in training mode. Only that one estimates the norm "
                      "by which the weight is divided; before it the estimate is a random number, and so are the outputs.",
                      "run one forward in training mode first, or use torch.nn.utils.parametrizations.spectral_norm, which "
                      "estimates it when it is made.", causes=(site, self.audit.modules.made_at(module)), symptom="wrong-value",
                      odd=True)

    def findings(self) -> Iterator[Finding]:
        yield from self._own_train()
        for site in self._of_one:
            found = finding("evaluation-mode", "values-constant", "argmax over one element is always 0",
                            f"argmax {at(site)} is taken over a dimension of size 1: it is 0 whatever the model says, and what "
                            "is counted with it says nothing.",
                            "one output is a score: compare it with a threshold (logits > 0), or give the model an output for "
                            "each class.", causes=(site,), symptom="wrong-value")
            found.unless = {"loss-constant", "target-constant"}
            yield found
        yield from self._not_iterated()
        yield from self._noisy_guides()
        for mode in self._modes.values():
            name = type(mode.root).__name__
            if mode.latest_in_evaluation >= MIN_STEPS and mode.eval_at is not None:
                layers = ", ".join(sorted({type(m).__name__ for m in mode.root.modules() if _has_mode(m)}))
                never = self._never_reached(mode.eval_at)
                yield finding("training-mode", "eval-not-undone", "the model trains in evaluation mode",
                              f"{name}.eval() was called {at(mode.eval_at)}, and train() never after it: the last "
                              f"{mode.latest_in_evaluation} steps ran in evaluation mode, where {layers} behave "
                              "differently (dropout is off, batch norm does not update its statistics)."
                              + (f" Line {never[-1].line} calls train(), but never ran: its condition, in line {never[0].line}, "
                                 "was never true." if never else ""),
                              "call model.train() before training goes on, after every evaluation.",
                              causes=(mode.eval_at, *never),
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
                          "evaluation mode: functions do not look at model.eval() (F.dropout has training=True as its default, "
                          "scaled_dot_product_attention applies its dropout_p always).",
                          "use nn.Dropout, or pass training=self.training (dropout_p=p if self.training else 0.0).",
                          causes=(site,), symptom="wrong-value")

    def _drift(self, module: Any) -> float:
        """How far the running mean has moved since a frozen batch norm was first called, in standard deviations."""
        before = self._drifting[id(module)][3]
        return float(np.abs((array_of(module.running_mean) - before) / np.sqrt(array_of(module.running_var) + 1e-5)).max())

    def _set_at(self, root: Any) -> list[Site]:
        """Where a model was last put into training mode."""
        site = self._trained_at.get(id(root))
        return [] if site is None else [site]

    def _frozen_statistics(self) -> Iterator[Finding]:
        held = {id(p) for p in self.audit.parameters() if p.requires_grad}
        drifting = [(module, site) for module, rounds, site, _ in self._drifting.values()
                    if len(rounds) >= MIN_STEPS and not module.weight.requires_grad and id(module.weight) not in held]
        for root in list(self.audit.modules.roots.values()) if drifting else ():
            own = {id(m): path for path, m in root.named_modules()}
            found = [(own[id(m)], m, site) for m, site in drifting if id(m) in own]
            switched = [notes.switched_at[1] for _, m, _ in found if (notes := notes_of(m.weight)).switched_at is not None]
            if found and switched:
                paths = [path for path, _, _ in found]
                far = max(map(self._drift, [m for _, m, _ in found]))
                yield finding("training-mode", "frozen-decayed", "a frozen batch norm still changes",
                              f"The parameters of {listed(paths)} are frozen, but the layers are in training mode: they "
                              "normalise with the statistics of each batch, and their running mean and variance move with the "
                              f"data (by up to {far:.2g} standard deviations in what was seen). What they "
                              "compute does not stay as it was.",
                              "put the frozen part into evaluation mode after each model.train(): for m in ...: m.eval().",
                              at=found[0][2], causes=(*switched[:1], found[0][2], *self._set_at(root)),
                              symptom="unwanted", odd=far < DRIFTED)
                return


def _defines_train(module: Any) -> bool:
    kind: Any = type(module)
    usual: Any = engine.current.module_class
    train = kind.train
    return train is not usual.train and hasattr(train, "__code__") and not is_library_file(train.__code__.co_filename)


def _has_mode(module: Any) -> bool:
    """Whether a layer behaves differently in training and in evaluation."""
    name = type(module).__name__
    if "Dropout" in name:
        return bool(getattr(module, "p", 0) > 0)
    if "BatchNorm" in name or "InstanceNorm" in name:
        return bool(getattr(module, "track_running_stats", False))
    return bool(isinstance(getattr(module, "dropout", None), float) and module.dropout > 0)


def _share(a: Any, b: Any) -> bool:
    """Whether two models have a parameter in common."""
    return not {id(p) for p in a.parameters()}.isdisjoint(map(id, b.parameters()))
