"""Dependence: what does a prediction depend on? A copy of each model is called again with inputs changed in one respect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, finding, listed
from whygrad.why.audit.looks import ignored_arguments, place_matters, sees_its_target
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.provenance import Made
from whygrad.why.audit.rerun import ROUNDING, Example, Rerun, Result, aligned, differ, example_of
from whygrad.why.audit.rounds import is_observed
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_tensor
from whygrad.why.gradient_flow import SELECTING, STEPWISE
from whygrad.why.record import Site

MAX_MODELS, MAX_TARGETS = 6, 8
# Sizes of the batch that is run again: one that is no other dimension, so that its axis is known in each result.
BATCHES = (7, 5, 11, 13)
# Positions or features that are changed one by one; of more, groups are.
MAX_GROUPS = 24
# Calls that put rows into a random order, or draw them: such rows are samples.
DRAWING = {"randperm", "randint", "batch", "multinomial", "randn", "rand", "normal", "choice"}
# What has no influence changes results by no more than this share: attention of a fresh model changes them by 1e-5.
NOTHING = 1e-6
# A prediction is mixed with other samples if it changes by this share of the largest one: batch statistics do less.
MIXED = 0.05
# Calls that choose among their inputs: what was not chosen has no influence.
CHOOSING = SELECTING | STEPWISE | {"argmax", "topk", "where", "one_hot", "gumbel_softmax", "multinomial"}
CHOOSING |= {"argmin", "argsort", "bucketize"}
# Calls that hide places.
MASKING = re.compile(r"masked_fill_?|where|tri[ul]")
# More particular findings of what these checks see.
PARTICULAR = {"custom-backward", "wrong-dim", "data-constant", "masked-all", "target-equals-input", "input-degenerate",
              "output-constant", "argument-unused", "detach", "dropout-all", "zero-factor", "zero-local-derivative",
              "init-symmetric", "saturated", "target-shifted", "term-without-influence", "diverged", "nan-forward",
              "not-in-optimizer", "learning-rate-zero", "value-unused"}
# The lines between the last result that is right and the first that is not, that are named.
MAX_SUSPECTS = 3


class Dependence(Subject):
    every_round = frozenset({"runs_again", "iterated"})
    checks = {
        "rows-apart": "the prediction for a sample does not depend on the other samples of its batch",
        "sees-past-only": "a prediction of what comes next does not depend on it",
        "inputs-count": "predictions depend on every input",
        "weights-count": "predictions depend on the value of every parameter that gets a gradient through them",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By id of a module that the program calls: its last observed call in training, whether its rows are samples in random
        # order, and how often the target was the input one place on, and how often not.
        self._examples: dict[int, Example] = {}
        self._are_samples: dict[int, bool] = {}
        self._shifted: dict[int, list[bool]] = {}
        # By module and place of an argument: how often it was the target.
        self._own: dict[tuple[int, int], int] = {}
        # Sizes of batches that loaders take out of their data in random order.
        self._shuffled: set[int] = set()
        self._seen: set[str] = set()
        self._found: list[Finding] = []

    def iterated(self, loader: Any, site: Site) -> None:
        if type(getattr(loader, "sampler", None)).__name__ in ("RandomSampler", "WeightedRandomSampler"):
            self._shuffled.add(getattr(loader, "batch_size", 0))

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        if not call.module.training or not is_grad_enabled() or not is_observed(self.audit.round):
            return
        if not any(p.requires_grad for p in call.module.parameters()) or type(call.module).__name__.endswith("Loss"):
            return
        example = example_of(call)
        if example is not None and (id(call.module) in self._examples or len(self._examples) < MAX_MODELS):
            self._examples[id(call.module)] = example
            given = next(iter(tensors_of(call)), None)
            made = None if given is None else self.audit.provenance.of(given)
            drawn = (made is not None and _is_drawn(made)) or (
                given is not None and bool({len(array) for array in example.arrays()[:1] if array.ndim} & self._shuffled))
            self._are_samples[id(call.module)] = self._are_samples.get(id(call.module), True) and drawn

    def loss_called(self, call: Call) -> None:
        target = call.argument(1, "target")
        if not is_tensor(target) or target.requires_grad:
            return
        for key, example in self._examples.items():
            labels = array_of(target)
            for i, given in enumerate(example.arrays()[1:] if labels.dtype.kind in "iu" else (), 1):
                if given.ndim == 2 and given.size == labels.size and (given.reshape(-1) == labels.reshape(-1)).all():
                    self._own[key, i] = self._own.get((key, i), 0) + 1
            seen = self._shifted.setdefault(key, [])
            if len(seen) < MAX_TARGETS and (arrays := example.arrays()):
                seen.append(_is_next(arrays[0], array_of(target)))

    def runs_again(self, rerun: Rerun) -> None:
        for key, example in self._examples.items():
            if not example.arrays() or not rerun.is_repeatable(example):
                continue
            shifted = self._shifted.get(key, [])
            looks = [self._rows] * self._are_samples[key] + [self._next] * (len(shifted) >= 3 and all(shifted))
            looks += [partial(sees_its_target, place=i) for (of, i), count in self._own.items() if of == key and count >= 3]
            looks += [self._inputs, ignored_arguments, self._weights]
            for found in (found for look in looks for found in look(rerun, example)):
                found.unless = PARTICULAR
                self._found.append(found)

    def _rows(self, rerun: Rerun, example: Example) -> Iterator[Finding]:
        """Let all rows be the last one, or the first: the prediction for it must stay as it is."""
        arrays = example.arrays()
        batch = len(arrays[0]) if arrays[0].ndim else 0
        others = {size for array in arrays
                  for size in (*array.shape[1:], *(array.shape[:1] if array.shape[:1] != (batch,) else ()))}
        if batch < 3 or any(array.ndim == 2 and array.shape == (batch, batch) for array in arrays):
            return
        size = next((n for n in BATCHES if n <= batch and n not in others), min(batch, max(BATCHES)))

        def cut(rows: list[int]) -> Example:
            return example.changed([a[rows] if a.ndim and len(a) == batch else a for a in arrays])

        base = rerun.run(cut(list(range(size))))
        if not base or base[-1].array.ndim == 0 or len(base[-1].array) != size:
            return
        self._seen.add("rows-apart")
        turned = rerun.run(cut(list(range(size))[::-1]))
        if turned and _is_turned(base[-1].array, turned[-1].array):
            yield finding("rows-apart", "wrong-dim", "predictions are not in the order of the samples",
                          f"{type(example.module).__name__}, called {at(example.site)}, was run again with the samples of a "
                          "batch in the reverse order, and its predictions did not follow: a prediction does not stand in the "
                          "row of its sample (samples that were sorted, for packing say, and not put back in order), and is "
                          f"compared with the target of another. {_told(lines := _breaking(base, turned, _is_turned))}",
                          "put the rows back: output[order.argsort()], or let pack_padded_sequence sort (enforce_sorted=False).",
                          causes=(*lines, example.site), symptom="wrong-value")
            return
        moved = list(place_matters(rerun, cut(list(range(size))), cut(list(range(size))[::-1]), size))
        yield from moved
        for row in (size - 1, 0) if not moved else ():
            other = rerun.run(cut([row] * size))
            if other and _row_differs(base[-1].array, other[-1].array, row, size, MIXED):
                lines = _breaking(base, other, partial(_row_differs, row=row, size=size))
                yield finding("rows-apart", "wrong-dim", "samples of a batch are mixed up with each other",
                              f"{type(example.module).__name__}, called {at(example.site)}, was run again in evaluation mode "
                              "with one sample as it was and other samples beside it: its prediction changed. The samples stand "
                              f"in a random order, so this is noise. {_told(lines)}",
                              "look at the dimension along which it reshapes, normalises, attends or runs over time: the "
                              "samples are in dimension 0.", causes=(*lines, example.site), symptom="wrong-value")
                return

    def _next(self, rerun: Rerun, example: Example) -> Iterator[Finding]:
        """Change all places after one: predictions up to it must stay as they are."""
        given, *rest = example.arrays()
        length = given.shape[1]
        last = length // 2
        changed = given.copy()
        changed[:, last + 1:] = np.roll(given, 1, axis=0)[:, last + 1:] if len(given) > 1 else given[:, last:-1]
        base, other = rerun.run(example), rerun.run(example.changed([changed, *rest]))
        if not base or not other or base[-1].array.ndim < 2 or base[-1].array.shape[1] != length:
            return
        self._seen.add("sees-past-only")
        if differ(base[-1].array[:, :last + 1], other[-1].array[:, :last + 1]):
            lines = _breaking(base, other, lambda a, b: _past_differs(a, b, length, last))
            masks = dict.fromkeys(result.site for result in base if MASKING.fullmatch(result.name))
            lines += [site for site in masks if site not in lines][:2]
            yield finding("sees-past-only", "target-equals-input", "every prediction sees what it is to predict",
                          f"The targets are the inputs of {type(example.module).__name__} {at(example.site)}, moved by one. Run "
                          f"again with other values after place {last}, it gave other predictions for the places before: each "
                          f"prediction depends on later inputs, its own target among them. {_told(lines)} The loss falls, and "
                          "the model learns to copy.",
                          "let a place see earlier ones only: a causal mask (torch.tril, is_causal=True), padding on the left "
                          "of a convolution, a recurrent layer in one direction.",
                          causes=(*lines, example.site), symptom="wrong-value")

    def _inputs(self, rerun: Rerun, example: Example) -> Iterator[Finding]:
        """Change one part of the inputs in all samples: some prediction must change."""
        arrays = example.arrays()
        given = arrays[0]
        if given.ndim < 2 or len(given) < 3:
            return
        base = rerun.run(example)
        if any(result.name in CHOOSING for result in base):
            return
        axis, what = (1, "feature") if given.ndim == 2 and given.dtype.kind == "f" else (1, "place")
        axis, what = (1, "channel") if given.ndim == 4 else (axis, what)
        dead = []
        groups = _groups(given.shape[axis])
        for group in groups if base else ():
            changed = given.copy()
            part = (slice(None),) * axis + (group,)
            changed[part] = np.roll(given[part], 1, axis=0)
            if (changed == given).all():
                continue
            other = rerun.run(example.changed([changed, *arrays[1:]]))
            if not other:
                return
            self._seen.add("inputs-count")
            if not differ(base[-1].array, other[-1].array, NOTHING):
                lines = _losing(base, other)
                dead.append((group, lines))
        if dead and len(dead) < len(groups) and (what != "place" or 2 * len(dead) > len(groups)):
            names = [_name_of(group) for group, _ in dead]
            lines = list(dict.fromkeys(site for _, sites in dead for site in sites))[:MAX_SUSPECTS]
            yield finding("inputs-count", "input-ignored", "a part of the input has no influence",
                          f"{type(example.module).__name__}, called {at(example.site)}, was run again with other values of "
                          f"{what} {listed(names)} (of {given.shape[axis]}): no prediction changed, for any sample. "
                          f"{_told(lines)}",
                          "look at the indices and dimensions there.", causes=(*lines, example.site), symptom="wrong-value")

    def _weights(self, rerun: Rerun, example: Example) -> Iterator[Finding]:
        """Give each parameter other values: a gradient that flows to it must stand for an influence."""
        named = dict(example.module.named_parameters())
        base = rerun.run(example)
        sizes = rerun.gradients(example) if base else {}
        for name, size in list(sizes.items())[:MAX_GROUPS]:
            if size < 1e-3 * max(sizes.values()) or rerun.is_over:
                continue
            with rerun.with_noise(example, name):
                other = rerun.run(example)
            self._seen.add("weights-count")
            if other and not differ(base[-1].array, other[-1].array, NOTHING) and not _is_absorbed(base, other):
                lines = _losing(base, other)
                yield finding("weights-count", "gradient-without-influence", f"`{name}` gets a gradient and has no influence",
                              f"{type(example.module).__name__}, called {at(example.site)}, was run again with other values of "
                              f"`{name}`: its prediction did not change, but a gradient flows from it to this parameter. The "
                              "value is taken from one tensor and the gradient from another, the wrong way round (a "
                              "straight-through estimator is x + (y - x).detach(): the value of y, the gradient of x). "
                              f"{_told(lines)}",
                              "exchange the two: z + (q - z).detach() has the value of q.", causes=(*lines, example.site),
                              parameters=[self.audit.name_of(named[name]) or name], symptom="wrong-value")
                return

    def was_seen(self, check: str) -> bool:
        return check in self._seen

    def findings(self) -> Iterator[Finding]:
        yield from self._found


def _is_drawn(made: Made) -> bool:
    """Whether rows were drawn at random, and their dimension is still the first."""
    rows = made.rows
    return any(m.name in DRAWING and m.rows == rows for m in (made, *made.ancestors()))


def _is_next(given: np.ndarray, target: np.ndarray) -> bool:
    """Whether a target is the input one place on."""
    if given.ndim < 2 or given.shape[1] < 4 or target.size != given.size or target.dtype.kind != given.dtype.kind:
        return False
    target = target.reshape(given.shape)
    return bool(np.isclose(target[:, :-1], given[:, 1:]).mean() > 0.95) and not bool((target == given).mean() > 0.8)


def _groups(count: int) -> list[slice]:
    size = -(-count // MAX_GROUPS)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _name_of(group: slice) -> str:
    return str(group.start) if group.stop - group.start == 1 else f"{group.start} to {group.stop - 1}"


def _row_differs(a: np.ndarray, b: np.ndarray, row: int, size: int, share: float = ROUNDING) -> bool:
    """Whether a sample's part of two results differs. False where no axis, or more than one, is that of the samples."""
    axes = [i for i, length in enumerate(a.shape) if length == size]
    return len(axes) == 1 and a.shape == b.shape and differ(a.take(row, axes[0]), b.take(row, axes[0]), share)


def _is_turned(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two results have the same rows, and those of the second are not the first's in reverse order."""
    if a.shape != b.shape or a.ndim < 2 or a.dtype.kind != "f" or not differ(a[::-1], b, MIXED):
        return False
    rows = a.reshape(len(a), -1), b.reshape(len(b), -1)
    near = [min(float(np.abs(row - other).max()) for other in rows[0]) for row in rows[1]]
    return max(near) < ROUNDING * max(float(np.abs(a).max()), 1e-12)


def _past_differs(a: np.ndarray, b: np.ndarray, length: int, last: int) -> bool:
    axes = [i for i, size in enumerate(a.shape) if size == length and i]
    if len(axes) != 1 or a.shape != b.shape:
        return False
    places = np.arange(last + 1)
    return differ(a.take(places, axes[0]), b.take(places, axes[0]))


def _breaking(base: list[Result], other: list[Result], is_wrong: Callable[[np.ndarray, np.ndarray], bool]) -> list[Site]:
    """The line of the first call whose result is wrong, and those before it whose results do not tell."""
    suspects: list[Site] = []
    for a, b in aligned(base, other):
        if is_wrong(a.array, b.array):
            return list(dict.fromkeys([a.site, *reversed(suspects)]))[:MAX_SUSPECTS]
        suspects = [*suspects, a.site] if a.array.shape != b.array.shape or differ(a.array, b.array) else suspects
    return []


def _is_absorbed(base: list[Result], other: list[Result]) -> bool:
    """Whether a call chose the same of values that have changed: what it did not choose has no influence this time."""
    has_changed = False
    for a, b in aligned(base, other):
        is_same = not differ(a.array, b.array, NOTHING)
        if has_changed and is_same and a.name in CHOOSING:
            return True
        has_changed = has_changed or not is_same
    return False


def _losing(base: list[Result], other: list[Result]) -> list[Site]:
    """The line of the last call whose result still differs, and the one after it."""
    pairs = [(a, b) for a, b in aligned(base, other) if a.is_real]
    last = max((i for i, (a, b) in enumerate(pairs) if differ(a.array, b.array, NOTHING)), default=-1)
    return list(dict.fromkeys(a.site for a, _ in pairs[max(last, 0):last + 2]))


def _told(lines: list[Site]) -> str:
    return f"The first result that shows it is made {at(lines[0])}." if lines else ""
