"""Targets: do they vary, are they something else than the inputs, and does every class occur and count?"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_functions
from whygrad.why.audit.provenance import Made, lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import Tensor, array_of, is_tensor, shape_of
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Reference, Site
from whygrad.why.run_facts import drop_oldest

MIN_CALLS, MIN_TARGETS = 3, 20
# Classes for which it is asked whether each occurs, and the number of targets for each that must have been seen.
MAX_CLASSES, MIN_PER_CLASS = 64, 8
MAX_SITES = 64
# The smoothing of labels from which on they say nothing.
ALL_SMOOTHED = 0.99
# Places of sequences that are compared with their targets.
MIN_PLACES = 4
# A batch for which two columns are compared.
MIN_BATCH = 8
MAX_KINDS = 5
FILLED = {"ones", "zeros", "full", "ones_like", "zeros_like", "full_like", "new_ones", "new_zeros", "new_full"}
REGRESSING = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "gaussian_nll_loss"}
CLASSIFYING = {"cross_entropy", "nll_loss"}


class TargetHistory:
    """The targets that one line compared with predictions."""

    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self.site = site
        self.calls = 0
        self.count = 0
        self.low, self.high = float("inf"), float("-inf")
        self.classes = 0
        # The size of the dimension of classes, however many there are.
        self.width = 0
        self.histogram: np.ndarray | None = None
        self.ignored: int | None = None
        self.weightless: list[int] = []
        self.weight_made: Made | None = None
        self.made: Made | None = None
        # Calls whose target was the model's input: as a whole, or as one of its columns; what made that input.
        self.equal = 0
        self.behind = 0  # calls whose target was the input one place before
        self.in_window = 0
        self.leaks: dict[int, int] = {}
        self.compared = 0
        self.input_made: Made | None = None
        self.input_kind = ""


class Targets(Subject):
    every_round = frozenset({"sampler_made"})
    checks = {
        "targets-vary": "the targets are not constant",
        "targets-apart": "the targets are not in the inputs",
        "classes": "every class occurs in the targets and counts in the loss",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self.histories: dict[Site, TargetHistory] = {}
        # The input of the outermost module that was called last, and the vocabularies of embeddings.
        self._input: Tensor | None = None
        self._vocabularies: set[int] = set()
        # The lines that made samplers, and where the functions were called that did.
        self._samplers: list[Site] = []
        # A loss of single elements (reduction="none") in this round, with its targets; lines that multiply it by a mask.
        self._smoothed: Site | None = None  # the loss whose labels are smoothed until nothing is left of them
        self._elements: tuple[weakref.ref[Any], np.ndarray, Site] | None = None
        self._masked: dict[Site, list[Any]] = {}

    def module_called(self, call: ModuleCall) -> None:
        if type(call.module).__name__ == "Embedding":
            self._vocabularies.add(getattr(call.module, "num_embeddings", 0))
        if call.depth == 0:
            self._input = next((x for x in call.args if is_tensor(x)), None)

    def round_ended(self, number: int) -> None:
        self._input = self._elements = None

    def sampler_made(self, sampler: Any, site: Site) -> None:
        self._samplers.append(site)
        del self._samplers[:-8]

    def loss_called(self, call: Call) -> None:
        prediction, target = call.argument(0, "input"), call.argument(1, "target")
        if not is_tensor(prediction) or not is_tensor(target):
            return
        if not prediction.requires_grad or target.requires_grad:
            return
        values = array_of(target)
        if not values.size or values.dtype.kind not in "fiub":
            return
        history = self.histories.get(call.site)
        if history is None:
            history = self.histories[call.site] = TargetHistory(call.name.rpartition(".")[2], call.site)
            drop_oldest(self.histories, MAX_SITES)
        history.calls += 1
        history.count += values.size
        history.low, history.high = min(history.low, float(values.min())), max(history.high, float(values.max()))
        history.made = self.audit.provenance.of(target) or history.made
        if float(call.kwargs.get("label_smoothing") or 0) >= ALL_SMOOTHED:
            self._smoothed = call.site
        if history.name in CLASSIFYING and values.dtype.kind in "iu" and len(shape_of(prediction)) >= 1:
            history.width = shape_of(prediction)[min(1, len(shape_of(prediction)) - 1)]
            self._count(history, call, values, shape_of(prediction)[min(1, len(shape_of(prediction)) - 1)])
        if (self.audit.is_observing and is_tensor(call.result) and shape_of(call.result) == values.shape
                and values.ndim):
            self._elements = Reference(call.result), values, call.site
        if self.audit.is_observing and self._input is not None:
            self._compare(history, target)

    @of_functions("mul", "__mul__", "__rmul__")
    def called(self, call: Call) -> None:
        """A loss of single elements is multiplied by a mask."""
        name = call.name.rpartition(".")[2]
        if name not in ("mul", "__mul__", "__rmul__") or len(call.args) < 2 or self._elements is None:
            return
        loss, target, site = self._elements
        mask = next((x for x in call.args if is_tensor(x) and x is not loss() and not x.requires_grad), None)
        if mask is None or not any(x is loss() for x in call.args) or shape_of(mask) != target.shape:
            return
        kept, dropped = np.unique(target[array_of(mask) != 0]), np.unique(target[array_of(mask) == 0])
        seen = self._masked.setdefault(call.site, [site, 0, 0, None, self.audit.provenance.of(mask)])
        seen[1] += 1
        if kept.size == 1 and dropped.size >= 3:
            seen[2] += 1
            seen[3] = int(kept[0])

    def _masked_out(self) -> Iterator[Finding]:
        for site, (loss, times, bad, kept, made) in self._masked.items():
            if times >= MIN_CALLS and bad == times:
                yield finding("classes", "masked-all", "the mask of the loss hides what it should count",
                              f"The loss of single elements {at(loss)} is multiplied {at(site)} by a mask that keeps the "
                              f"elements of class {kept} (padding, most likely) and drops all others: it looks inverted, "
                              "and real targets do not count.",
                              "invert the mask: != pad instead of == pad.",
                              at=site, causes=(*lines_of(made)[:1], site), symptom="wrong-value")

    def _count(self, history: TargetHistory, call: Call, values: np.ndarray, classes: int) -> None:
        if classes > MAX_CLASSES or (history.histogram is not None and history.classes != classes):
            return
        history.classes = classes
        ignored = call.kwargs.get("ignore_index", -100)
        history.ignored = ignored if 0 <= ignored < classes else None
        weight = call.argument(2, "weight")
        if is_tensor(weight):
            history.weightless = np.flatnonzero(array_of(weight) == 0).tolist()
            history.weight_made = self.audit.provenance.of(weight) or history.weight_made
        inside = values[(values >= 0) & (values < classes)].astype(np.intp)
        counts = np.bincount(inside.reshape(-1), minlength=classes)
        history.histogram = counts if history.histogram is None else history.histogram + counts

    def _compare(self, history: TargetHistory, target: Tensor) -> None:
        assert self._input is not None
        given, values = array_of(self._input), array_of(target)
        history.compared += 1
        history.input_made = self.audit.provenance.of(self._input)
        history.input_kind = given.dtype.kind
        is_equal = (given.size == values.size and given.dtype == values.dtype
                    and bool((given.reshape(-1) == values.reshape(-1))[_counted(values, history)].all()))
        history.equal += is_equal
        if given.ndim == 2 and given.size == values.size and given.shape[1] >= MIN_PLACES and values.dtype.kind in "iu":
            history.behind += bool((values.reshape(given.shape)[:, 1:] == given[:, :-1]).all()) and not is_equal
        if (given.ndim in (2, 3) and given.dtype == values.dtype and values.size * 2 <= given.size
                and values.shape[0] == given.shape[0]):
            last = given[:, -1] if given.ndim == 2 or given.shape[1] > given.shape[2] else given[:, :, -1]
            history.in_window += last.size == values.size and bool((last.reshape(-1) == values.reshape(-1)).all())
        is_table = (given.ndim == 2 and values.size == given.shape[0] >= MIN_BATCH and given.dtype.kind == "f"
                    and given.shape[1] <= 512)
        if is_table and np.unique(values).size <= MAX_KINDS:  # a number that is a linear function of another is a usual toy
            for column in _determined_by(given, values.reshape(-1).astype(np.float64)):
                history.leaks[column] = history.leaks.get(column, 0) + 1

    def was_seen(self, check: str) -> bool:
        return any(history.calls >= MIN_CALLS for history in self.histories.values())

    def findings(self) -> Iterator[Finding]:
        yield from self._masked_out()
        if self._smoothed is not None:
            yield finding("classes", "option-disables", "the labels are smoothed until nothing is left of them",
                          f"cross_entropy {at(self._smoothed)} is given label_smoothing=1: the target of each sample is the "
                          "uniform distribution over the classes, whatever its label is.", "use a small value, such as 0.1.",
                          causes=(*self.audit.modules.made_at_of_loss(self._smoothed), self._smoothed), symptom="wrong-value")
        for history in self.histories.values():
            if history.calls < MIN_CALLS or history.count < MIN_TARGETS:
                continue
            if history.low == history.high:
                yield from self._constant(history)
            else:
                yield from self._in_the_inputs(history)
                yield from self._classes(history)
            yield from self._converted(history)

    def _constant(self, history: TargetHistory) -> Iterator[Finding]:
        made = history.made
        if made is not None and made.name in FILLED:
            return  # the labels "real" and "fake" of an adversarial loss
        if any(other is not history and other.low == other.high != history.low for other in self.histories.values()):
            return  # one line for each of two constants
        lines = lines_of(made)
        what = f"class {history.low:g}" if history.classes else f"{history.low:g}"
        yield finding("targets-vary", "target-constant", "all targets are the same",
                      f"All {history.count} targets that {history.name} {at(history.site)} was given in "
                      f"{count_of(history.calls, 'step')} are {what}: a constant. The model only learns to always give "
                      "that answer, whatever the input."
                      + (f" They were made {at(lines[0])}." if lines else ""),
                      "look at how the targets are made: a conversion to integers that rounds everything to one value, the "
                      "wrong column, a wrong comparison.",
                      at=history.site, causes=(*lines[:4], history.site), symptom="wrong-value")

    def _in_the_inputs(self, history: TargetHistory) -> Iterator[Finding]:
        if history.compared < MIN_CALLS:
            return
        before = _before_common(history.made, history.input_made)
        is_sequence = history.input_kind in "iu"
        is_overwritten = history.made is not None and history.made is history.input_made and is_in_place(history.made.name)
        if history.equal == history.compared and (is_sequence or is_overwritten):
            how = (f"both are one tensor, which was changed in place {at(history.made.site)}"
                   if is_overwritten and history.made is not None else
                   "the target is the same sequence as the input (not shifted by one)")
            yield finding("targets-apart", "target-equals-input", "the target is the input itself",
                          f"In all {history.compared} observed steps the target of {history.name} {at(history.site)} was "
                          f"identical to the model's input: {how}. The model learns to copy its input.",
                          "keep the target apart: clone before changing in place; shift the sequence by one for the next token.",
                          at=history.site, causes=(*before[:3], history.site), symptom="wrong-value")
            return
        if history.behind == history.compared:
            yield finding("targets-apart", "target-equals-input", "the target is the input one place before",
                          f"In all {history.compared} observed steps the target of {history.name} {at(history.site)} at each "
                          "place was the model's input at the place before it, which the model has seen: it learns to remember, "
                          "and not to predict what comes next. Inputs and targets are exchanged, or moved the wrong way.",
                          "x = tokens[:, :-1], y = tokens[:, 1:].", at=history.site, causes=(*before[:3], history.site),
                          symptom="wrong-value")
            return
        if history.in_window == history.compared and before and history.made is not None and history.input_made is not None and (
                history.input_made not in list(history.made.ancestors())):
            yield finding("targets-apart", "target-equals-input", "the target is the last element of the input",
                          f"In all {history.compared} observed steps the target of {history.name} {at(history.site)} was "
                          "equal to the last element of the model's input window: the value to be predicted is given, and "
                          "the model only learns to copy it.",
                          "let the window end one element before the target.",
                          at=history.site, causes=(*before[:4], history.site), symptom="wrong-value")
            return
        columns = [column for column, count in history.leaks.items() if count == history.compared]
        if columns:
            yield finding("targets-apart", "target-equals-input", "the target is contained in the inputs",
                          f"In all {history.compared} observed steps column {columns[0]} of the model's input determined "
                          f"the target of {history.name} {at(history.site)} exactly: the label leaks into the features, "
                          "and nothing else is learned.",
                          "leave that column out of the features.", at=history.site, causes=(*before[:4], history.site),
                          symptom="wrong-value")

    def _classes(self, history: TargetHistory) -> Iterator[Finding]:
        counts = history.histogram
        if counts is None or history.classes < 2:
            return
        is_vocabulary = history.classes in self._vocabularies
        lines = lines_of(history.made)
        if history.ignored is not None and counts[history.ignored] and not is_vocabulary:
            yield finding("classes", "class-ignored", "a class never counts in the loss",
                          f"{history.name} {at(history.site)} is given ignore_index={history.ignored}, and "
                          f"{int(counts[history.ignored])} of {history.count} targets are class {history.ignored}: they "
                          "are ignored, and the class is never learned.",
                          "use an ignore_index that is no class (-100 is the default).", at=history.site,
                          causes=(*self._made_of_loss(history.site), history.site), symptom="wrong-value")
        weightless = [c for c in history.weightless if counts[c]]
        if weightless:
            yield finding("classes", "class-ignored", "a class never counts in the loss",
                          f"The weight of class {weightless[0]} in {history.name} {at(history.site)} is 0, and "
                          f"{int(counts[weightless[0]])} of {history.count} targets are of this class: they are ignored.",
                          "give every class a weight above zero.", at=history.site,
                          causes=(*lines_of(history.weight_made)[:2], *self._made_of_loss(history.site), history.site),
                          symptom="wrong-value")
        others = [known.histogram for known in self.histories.values()
                  if known.classes == history.classes and known.histogram is not None]
        missing = np.flatnonzero(sum(others) == 0)
        seen = counts.sum()
        if missing.size and not is_vocabulary and seen >= MIN_PER_CLASS * history.classes:
            names = ", ".join(map(str, missing[:6].tolist()))
            source = _source_with(history.made, missing)
            each_step = source is not None and source.round >= 1
            category = "class-ignored" if each_step and source is not None and source.name != "batch" else "class-never-seen"
            lines = [*self._samplers[-2:], *lines]
            lost = f" They are in the labels, and lost {at(source.site)}." if source is not None else ""
            yield finding("classes", category, "classes that never occur in the targets",
                          f"{type_of(history)} {at(history.site)} has {history.classes} classes, but class {names} never "
                          f"occurred among the {int(seen)} targets of {count_of(history.calls, 'step')} ({missing.size} of "
                          f"{history.classes} never seen).{lost}",
                          "look at how the data is split, filtered or sampled (sorted labels, a mask that leaves out class "
                          "0), and at how labels are converted.",
                          at=history.site,
                          causes=(*([] if source is None else [source.site]), *lines[:4], history.site), symptom="wrong-value",
                          odd=source is None and missing.size * 4 < history.classes)

    def _converted(self, history: TargetHistory) -> Iterator[Finding]:
        """Labels that a conversion to a smaller integer, or to bool, has merged."""
        for made in () if history.made is None else (history.made, *history.made.ancestors()):
            if made.cut and history.name in REGRESSING:
                yield finding("classes", "label-dtype", "real-valued targets are cut to integers",
                              f"The targets of {history.name} {at(history.site)} are real numbers, and were converted to "
                              f"integers {at(made.site)}: what stands behind the point is lost, and all between -1 and 1 "
                              "becomes 0.",
                              "keep them as floating-point numbers "
                              "(.float()).", at=history.site, causes=(made.site, history.site),
                              symptom="wrong-value")
                return
            if made.capacity and history.width > made.capacity:
                here = locate(made.site)
                lines = [] if here is None else lines_matching(here.file, r"\b(uint8|int8|ubyte|byte)\b")
                yield finding("classes", "label-dtype", "labels are stored in a type that cannot hold them",
                              f"{history.name} {at(history.site)} has {history.width} classes, but its targets come from "
                              f"integers of 8 bits {at(made.site)}, which hold {made.capacity} values: labels beyond have "
                              "wrapped around to other classes.",
                              "store class labels as int64 (torch.long), or at least in 16 bits.",
                              at=history.site, causes=(*lines[:3], made.site, history.site), symptom="wrong-value")
                return
            if made.merged:
                before, after, dtype = made.merged
                found = finding("classes", "label-dtype", "a conversion merges different labels",
                                f"The targets of {history.name} {at(history.site)} were converted to {dtype} "
                                f"{at(made.site)}, which cannot hold them: {before} different values became {after} "
                                "(overflow, or everything but 0 is True). Different classes have one label now.",
                                "use torch.long (int64) for class labels.",
                                at=history.site, causes=(made.site, history.site), symptom="wrong-value")
                found.hides = {"class-never-seen", "target-constant"}
                yield found
                return

    def _made_of_loss(self, site: Site) -> list[Site]:
        return self.audit.modules.made_at_of_loss(site)


def type_of(history: TargetHistory) -> str:
    return f"The prediction of {history.name}"


def _determined_by(given: np.ndarray, target: np.ndarray) -> list[int]:
    """Columns of which the target is a linear function, exactly."""
    if not np.ptp(target):
        return []
    centred = given - given.mean(0)
    y = target - target.mean()
    with np.errstate(all="ignore"):
        correlation = (centred * y[:, None]).sum(0) / np.sqrt((centred**2).sum(0) * (y**2).sum())
    return np.flatnonzero(np.abs(correlation) > 0.99999).tolist()


def _counted(values: np.ndarray, history: TargetHistory) -> np.ndarray:
    """Which targets count: all but those of the ignored index, if any does."""
    counted = values.reshape(-1) != (-100 if history.ignored is None else history.ignored)
    return counted if values.dtype.kind in "iu" and counted.any() else np.ones(values.size, bool)


def _before_common(first: Made | None, second: Made | None) -> list[Site]:
    """The lines at which two tensors were made from what they have in common."""
    if first is None or second is None:
        return lines_of(first)
    if first is second:
        return [first.site]
    ours, theirs = [first, *first.ancestors()], [second, *second.ancestors()]
    common = {id(m) for m in ours} & {id(m) for m in theirs}
    found = [m.site for m in (*ours, *theirs) if id(m) not in common and any(id(p) in common for p in m.parents)]
    return list(dict.fromkeys(found)) or lines_of(first)


def is_in_place(function: str) -> bool:
    return function.endswith("_") and not function.endswith("__")


def _source_with(made: Made | None, missing: np.ndarray) -> Made | None:
    """The call that lost the missing classes: its argument has them, its result has not."""
    for m in () if made is None else (made, *made.ancestors()):
        for parent in m.parents if m.rows > 1 else ():  # one sample has one class
            if parent.range is not None and m.range is not None and any(
                    parent.range[0] <= c <= parent.range[1] and not m.range[0] <= c <= m.range[1] for c in missing):
                return m
    return None
