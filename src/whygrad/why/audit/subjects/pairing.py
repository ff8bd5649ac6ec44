"""Pairing: does every target belong to the input that it is compared with?"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.provenance import Made, lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import Tensor, array_of, is_node, is_tensor, shape_of, source_of
from whygrad.why.gradient_flow import row_name
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Reference, Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS = 4
MAX_SITES, MAX_TENSORS = 64, 256
RESHAPING = {"reshape", "view", "flatten"}
DRAWN = {"randn", "randn_like", "rand", "rand_like", "normal", "normal_", "uniform_"}
# What moves the pixels of a picture; the least side of one.
TURNING, MIN_SIDE = {"flip", "fliplr", "flipud", "rot90", "roll"}, 4
PRODUCTS = {"mul", "__mul__", "__rmul__"}


class Pair:
    """The predictions and targets of one line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rounds: set[int] = set()
        # What made the target and the model's input, in the latest round.
        self.target: Made | None = None
        self.given: Made | None = None
        # The calls that put inputs and targets into an order of their own; whether one permutation ever served both.
        self.shuffles: list[Made] = []
        self.is_together = False
        # Rounds whose targets were drawn at random and used for nothing else; whose targets were 0, 1, 2, ...
        self.unrelated: set[int] = set()
        self.counting: set[int] = set()
        # The reshaping that mixed the classes with places: line, shape before and after.
        # The calls that turned inputs, and rounds in which targets or predictions were turned as well.
        self.turns: dict[Site, set[int]] = {}
        self.is_turned_with = False
        self.mixed: tuple[Site, tuple[int, ...], tuple[int, ...]] | None = None


class Pairing(Subject):
    every_round = frozenset({"iterated"})
    checks = {"pairs": "every target belongs to the input that it is compared with"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._pairs: dict[Site, Pair] = {}
        # The input of the only model that was called in this round, and how many were.
        self._input: Tensor | None = None
        self._calls = 0
        # Whether what is computed from parameters is ever turned: predictions may be turned back.
        self._turns_back = False
        # By id: tensors that functions were given in this round, and where first; what was reshaped: result, line, shape before.
        self._used: dict[int, tuple[Reference, Site]] = {}
        self._reshaped: dict[int, tuple[Reference, Site, tuple[int, ...]]] = {}
        # Pairs of loaders that one line iterates in one round, each of which shuffles a dataset of its own: the rounds.
        self._last_iterated: tuple[Site, int, weakref.ref[Any]] | None = None
        self._zipped: dict[Site, set[int]] = {}

    def iterated(self, loader: Any, site: Site) -> None:
        sampler: Any = getattr(loader, "sampler", None)
        if type(sampler).__name__ != "RandomSampler" or sampler.generator is not None:
            return
        line, number, reference = self._last_iterated or (None, 0, None)
        other = None if reference is None else reference()
        if (line == site and number == self.audit.round and other is not None and other.dataset is not loader.dataset
                and len(other.dataset) == len(loader.dataset)):
            self._zipped.setdefault(site, set()).add(number)
            drop_oldest(self._zipped, MAX_SITES)
        self._last_iterated = site, self.audit.round, weakref.ref(loader)

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        if call.depth == 0 and any(True for _ in call.module.parameters()):  # else a transform of the data, or a loss
            self._calls += 1
            inputs = [x for x in (*call.args, *call.kwargs.values()) if is_tensor(x)]
            self._input = inputs[0] if inputs and self._calls == 1 else None

    def round_ended(self, number: int) -> None:
        self._input = None
        self._calls = 0
        self._used.clear()

    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        tensors = tensors_of(call)
        self._turns_back = self._turns_back or (name in TURNING and is_tensor(call.result) and call.result.requires_grad)
        if name in RESHAPING and tensors and is_tensor(call.result) and call.result.requires_grad:
            self._reshaped[id(call.result)] = Reference(call.result), call.site, shape_of(tensors[0])
            drop_oldest(self._reshaped, MAX_TENSORS)
        elif name in PRODUCTS and len(tensors) == 2 and tensors[0].requires_grad != tensors[1].requires_grad:
            # A cross-entropy that is written out: target * log_softmax(prediction).
            prediction, target = tensors if tensors[0].requires_grad else reversed(tensors)
            source = source_of(prediction)
            if is_node(source) and row_name(source) == "log_softmax" and shape_of(prediction) == shape_of(target):
                self._note("the cross-entropy", call.site, prediction, target)
        for x in tensors if name not in DRAWN else ():
            if not self._is_used(x, call.site):
                self._used[id(x)] = Reference(x), call.site

    def loss_called(self, call: Call) -> None:
        prediction, target = call.argument(0, "input"), call.argument(1, "target")
        if self.audit.is_observing and is_tensor(prediction) and is_tensor(target):
            self._note(call.name.rpartition(".")[2], call.site, prediction, target)

    def _note(self, name: str, site: Site, prediction: Tensor, target: Tensor) -> None:
        if not prediction.requires_grad or target.requires_grad:
            return
        pair = self._pairs.setdefault(site, Pair(name))
        drop_oldest(self._pairs, MAX_SITES)
        pair.rounds.add(self.audit.round)
        pair.target = self.audit.provenance.of(target)
        pair.given = None if self._input is None else self.audit.provenance.of(self._input)
        ours, theirs = _permutations(pair.target), _permutations(pair.given)
        if ours and theirs:
            if ours.keys() & theirs.keys():
                pair.is_together = True
            else:
                pair.shuffles = [next(iter(theirs.values())), next(iter(ours.values()))]
        if (pair.target is not None and pair.target.name in DRAWN and pair.target.round == self.audit.round
                and not self._is_used(target, site)):
            pair.unrelated.add(self.audit.round)
        values = array_of(target)
        if values.ndim == 1 and values.size > 1 and values.dtype.kind in "iu" and (values == np.arange(values.size)).all():
            pair.counting.add(self.audit.round)
        self._note_turns(pair, target)
        known = self._reshaped.get(id(prediction))
        if name == "cross_entropy" and known is not None and known[0]() is prediction:
            before, after = known[2], shape_of(prediction)
            if len(after) == 2 and len(before) > 2 and before[1] == after[1] != before[-1] and after[0] != before[0]:
                pair.mixed = known[1], before, after

    def _note_turns(self, pair: Pair, target: Tensor) -> None:
        """Pictures that are flipped, and their maps."""
        given = self._input
        if given is None or pair.target is None or pair.given is None or len(shape_of(target)) < 3 or (
                shape_of(given)[-2:] != shape_of(target)[-2:] or min(shape_of(target)[-2:]) < MIN_SIDE):
            return
        ours, theirs = ([m for m in (made, *made.ancestors()) if m.name in TURNING] for made in (pair.target, pair.given))
        pair.is_turned_with = pair.is_turned_with or bool(ours) or self._turns_back
        for made in theirs:
            pair.turns.setdefault(made.site, set()).add(self.audit.round)

    def _is_used(self, t: Tensor, site: Site) -> bool:
        """Whether a function was given a tensor at another line."""
        known = self._used.get(id(t))
        return known is not None and known[0]() is t and known[1] != site

    def was_seen(self, check: str) -> bool:
        return any(len(pair.rounds) >= MIN_ROUNDS for pair in self._pairs.values())

    def findings(self) -> Iterator[Finding]:
        for site, pair in self._pairs.items():
            if len(pair.rounds) < MIN_ROUNDS:
                continue
            yield from self._shuffled_apart(site, pair)
            yield from self._mixed_up(site, pair)
            if pair.unrelated == pair.rounds and (pair.given is None or pair.given.name not in DRAWN):  # else: data of a demo
                yield self._unrelated(site, pair)
            for where, rounds in pair.turns.items():
                if len(rounds) >= MIN_ROUNDS and not pair.is_turned_with:
                    here = locate(site)
                    by_library = here is not None and where[0] is not None and "site-packages" in where[0].co_filename
                    lines = lines_matching(here.file, r"(transform|aug)\w*\(\w") if here is not None and by_library else []
                    yield finding("pairs", "labels-shuffled", "pictures are turned, and their targets are not",
                                  f"The inputs were flipped or turned {at(where)} in {count_of(len(rounds), 'observed step')}, "
                                  f"the targets of {pair.name} {at(site)}, which have a value for each pixel, never: they no "
                                  "longer lie on what they describe.", "turn both by the same "
                                                            "draw.", at=site, causes=(*lines[:2], where, site),
                                  symptom="wrong-value")
                    break
            if pair.counting == pair.rounds:
                yield from self._shuffled_by_two(site, pair)

    def _shuffled_apart(self, site: Site, pair: Pair) -> Iterator[Finding]:
        shuffles = pair.shuffles
        if not shuffles or pair.is_together:
            return
        is_shared = shuffles[0].site == shuffles[1].site and all(made.callers for made in shuffles)  # one function shuffles both
        sites = [made.callers[0] if is_shared else made.site for made in shuffles]
        if sites[0] == sites[1]:
            sites = [made.site for made in shuffles]
        yield finding("pairs", "labels-shuffled", "inputs and targets are shuffled apart",
                      f"The inputs were put into a random order {at(sites[0])}, the targets {at(sites[-1])} into another: "
                      "each permutation is drawn anew, so a target no longer belongs to its input.",
                      "draw one permutation and index both with it.", at=site, causes=(*sites[:2], site), symptom="wrong-value")

    def _mixed_up(self, site: Site, pair: Pair) -> Iterator[Finding]:
        if pair.mixed is not None:
            where, before, after = pair.mixed
            yield finding("pairs", "wrong-dim", "the scores of a place are mixed with those of others",
                          f"The prediction has shape {list(before)}, with the {before[1]} classes in dimension 1, and is "
                          f"reshaped to {list(after)} {at(where)}: this cuts the memory into pieces of {after[1]}, so a row does "
                          "not hold the scores of one place, but scores of one class at several places.",
                          "move the classes to the end first: x.permute(0, 2, 3, 1).reshape(-1, classes); or give cross_entropy "
                          "the unreshaped tensor, it takes classes in dimension 1.",
                          at=site, causes=(where, site), symptom="wrong-value")

    def _unrelated(self, site: Site, pair: Pair) -> Finding:
        lines = lines_of(pair.target)
        return finding("pairs", "target-unrelated", "the target is noise that is in no input",
                       f"The target of {pair.name} {at(site)} was drawn at random {at(lines[0])} in each of "
                       f"{count_of(len(pair.rounds), 'observed step')}, and nothing else was computed from it: no input depends "
                       "on it, so it cannot be predicted, and the best answer is its mean.",
                       "compare with the very noise that was added to the input: draw it once, and use that tensor for both.",
                       at=site, causes=(*lines[:2], *([] if pair.given is None else [pair.given.site]), site),
                       symptom="wrong-value")

    def _shuffled_by_two(self, site: Site, pair: Pair) -> Iterator[Finding]:
        """Rows are compared with the rows of the same number, which come from two loaders that shuffle."""
        for line in self._zipped:
            yield finding("pairs", "labels-shuffled", "two loaders shuffle what belongs together",
                          f"{pair.name} {at(site)} takes row i of one batch and row i of the other for a pair (its targets are "
                          f"0, 1, 2, ...), but the batches come from two loaders, iterated {at(line)}, each of which shuffles "
                          "on its own.",
                          "put both into one dataset (TensorDataset(a, b)), so that one order holds for both.",
                          at=site, causes=(line, site), symptom="wrong-value")


def _permutations(made: Made | None) -> dict[int, Made]:
    """The random permutations by which a tensor was indexed: id, and the call that did it."""
    found = {}
    for m in () if made is None else (made, *made.ancestors()):
        for p in m.parents:
            if p.name == "randperm":
                found[id(p)] = m
    return found
