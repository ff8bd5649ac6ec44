"""Inputs: does every step see other data, and does the data say anything?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.provenance import Made, lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import checksum
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_tensor, kind_of, size_of
from whygrad.why.locations import locate, location_of_line, source_lines
from whygrad.why.program_text import lines_matching, statement_of
from whygrad.why.record import Reference, Site

MIN_ROUNDS = 4
# Samples of a batch from which on they are compared with each other.
MIN_BATCH = 8
# Elements of a table whose rows and columns are compared; means of its columns, in deviations, that are far apart.
MAX_TABLE, FAR_APART = 1_000_000, 2.0
MEASURING = re.compile(r"mean|std|var|(std|var)_mean")
RESHAPING = {"flatten", "reshape", "view"}
# Features whose range is kept.
MAX_FEATURES = 4096
# Functions that take a part of a tensor.
TAKING = {"__getitem__", "index_select", "narrow", "select", "split", "chunk", "batch"}


class InputHistory:
    """What a model was given in the observed training rounds."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.rounds: set[int] = set()
        self.fingerprints: set[tuple[int, ...]] = set()
        self.site: Site | None = None
        self.made: Made | None = None
        self.kind = ""
        # Tables that were seen, and those whose rows have mean 0 and deviation 1, while their columns stand far apart.
        self.tables = self.by_rows = 0
        self.batch = 0
        # The smallest and largest value of all, and of each feature.
        self.low, self.high = float("inf"), float("-inf")
        # Arguments of forward that no call has used.
        self.unused: set[str] | None = None
        # Rounds with a batch of several samples, and whether the samples of any batch differed.
        self.batches: set[int] = set()
        self.has_other_samples = False
        self.lows: np.ndarray | None = None
        self.highs: np.ndarray | None = None


    def note_use(self, call: ModuleCall, used: dict[int, Reference]) -> None:
        """Remember which arguments of forward no function was given."""
        code = getattr(type(call.module).forward, "__code__", None)
        names = () if code is None else code.co_varnames[1:code.co_argcount]
        given = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
        unused = {name for name, x in given.items() if is_tensor(x) and (id(x) not in used or used[id(x)]() is not x)}
        self.unused = unused if self.unused is None else self.unused & unused


class Inputs(Subject):
    every_round = frozenset({"seeded", "iterated"})
    checks = {
        "data-varies": "every step sees other data",
        "input-informative": "the inputs are not constant",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self.histories: dict[int, InputHistory] = {}
        # The lines that seed, and the rounds in which they did; loaders that were iterated: line, rounds, number of batches.
        self._seeds: dict[Site, set[int]] = {}
        # Ids of the tensors that were given to functions since a model was last called.
        self._used: dict[int, Reference] = {}
        self._loaders: dict[Site, tuple[set[int], int]] = {}

    def seeded(self, site: Site) -> None:
        self._seeds.setdefault(site, set()).add(self.audit.round)

    def iterated(self, loader: Any, site: Site) -> None:
        rounds, _ = self._loaders.get(site, (set(), 0))
        rounds.add(self.audit.round)
        try:
            batches = len(loader)
        except TypeError:
            batches = 2  # an iterable dataset has no length
        self._loaders[site] = rounds, batches

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        if call.depth or not is_grad_enabled() or not call.module.training:
            return
        t = next((x for x in (*call.args, *call.kwargs.values()) if is_tensor(x)), None)
        if t is None or t.requires_grad or size_of(t) < 2 or kind_of(t) not in "fiu":
            return
        if not any(p.requires_grad for p in call.module.parameters()):
            return
        history = self.histories.setdefault(id(call.module), InputHistory(call.module))
        if len(history.fingerprints) < 64:
            history.fingerprints.add(tuple(map(checksum, tensors_of(call))))
        history.rounds.add(self.audit.round)
        history.site, history.made = call.site, self.audit.provenance.of(t)
        array = array_of(t)
        history.kind, history.batch = array.dtype.kind, array.shape[0] if array.ndim else 0
        if array.ndim >= 2 and array.shape[0] >= MIN_BATCH:
            history.batches.add(self.audit.round)
            if not history.has_other_samples:
                history.has_other_samples = not all(_has_equal_rows(array_of(x)) for x in tensors_of(call))
        if array.ndim == 2 and min(array.shape) >= MIN_BATCH and array.dtype.kind == "f" and size_of(t) <= MAX_TABLE:
            history.tables += 1
            history.by_rows += _is_standardized_by_rows(array)
        for x in tensors_of(call):  # a second argument may say what the first does not
            values = array_of(x)
            if values.size and values.dtype.kind in "fiu" and not history.low < history.high:
                history.low, history.high = min(history.low, float(values.min())), max(history.high, float(values.max()))
        if (array.ndim == 2 and array.shape[1] <= MAX_FEATURES and array.dtype.kind == "f"
                and (history.lows is None or history.highs is None or (history.lows == history.highs).any())):
            lows, highs = array.min(0), array.max(0)
            if history.lows is not None and history.lows.shape == lows.shape:
                lows, highs = np.minimum(lows, history.lows), np.maximum(highs, history.highs)  # type: ignore[arg-type]
            history.lows, history.highs = lows, highs

        history.note_use(call, self._used)
        self._used = {}

    def called(self, call: Call) -> None:
        # Weak references: a later tensor may get the address of one that is gone.
        self._used.update((id(x), Reference(x)) for x in tensors_of(call))

    def was_seen(self, check: str) -> bool:
        return any(len(history.rounds) >= MIN_ROUNDS for history in self.histories.values())

    def _first_batch_only(self) -> Iterator[Finding]:
        """A loop over a loader that ends with its first turn."""
        for site, (rounds, batches) in self._loaders.items():
            here = locate(site)
            loop = statement_of(here)
            if here is None or batches < 2 or len(rounds) < MIN_ROUNDS or not isinstance(loop, ast.For):
                continue
            last = loop.body[-1]
            if isinstance(last, (ast.Break, ast.Return)):
                line = location_of_line(here.file, last.lineno, here.function)
                yield finding("data-varies", "data-unreached", "only the first batch of each pass is used",
                              f"The loop over a loader of {batches} batches {at(site)} ends in its first turn, by "
                              f"`{ast.unparse(last)}` in line {line.line}, in each of {len(rounds)} passes: the "
                              " other batches are never trained on.", "let it stand behind the loop.", causes=(line, site),
                              symptom="wrong-value")
                return

    def findings(self) -> Iterator[Finding]:
        yield from self._first_batch_only()
        for history in self.histories.values():
            if len(history.rounds) < MIN_ROUNDS:
                continue
            yield from self._unused(history)
            yield from self._scaled_twice(history)
            yield from self._by_rows(history)
            if history.low == history.high:
                yield self._degenerate(history)
            elif len(history.fingerprints) == 1:
                yield from self._constant(history)
            elif len(history.batches) >= MIN_ROUNDS and not history.has_other_samples:
                yield self._equal_samples(history)
            elif history.lows is not None and history.highs is not None:
                yield from self._constant_features(history, history.lows == history.highs)

    def _by_rows(self, history: InputHistory) -> Iterator[Finding]:
        chain = [] if history.made is None else [history.made, *history.made.ancestors()]
        lines = [made.site for made in chain if MEASURING.fullmatch(made.name)]
        if history.tables >= MIN_ROUNDS and history.by_rows == history.tables and lines and not any(
                made.name in RESHAPING for made in chain):
            yield finding("input-informative", "wrong-dim", "a table is standardized by rows, not by columns",
                          f"Each sample that {type(history.module).__name__} is given {at(history.site)} has mean 0 and "
                          f"deviation 1 over its features, {at(lines[-1])}, while the features themselves stay far apart (their "
                          "means differ by more than they vary). What all features of a sample have in common is lost, and the "
                          "features are not brought to one scale.",
                          "take mean and deviation over the samples: dim=0.", at=history.site,
                          causes=(*list(dict.fromkeys(lines))[:3], history.site), symptom="wrong-value")

    def _scaled_twice(self, history: InputHistory) -> Iterator[Finding]:
        chain = [] if history.made is None else [history.made, *history.made.ancestors()]
        for late in [made for made in chain if not 0.05 < abs(made.factor) < 20]:
            early = next((made for made in late.ancestors() if made.factor == late.factor and made.site != late.site), None)
            if early is not None:
                yield finding("input-informative", "input-scaled-twice", "the inputs are scaled twice",
                              f"What {type(history.module).__name__} is given {at(history.site)} was multiplied by "
                              f"{late.factor:.3g} {at(early.site)}, and once more {at(late.site)}: its values lie between "
                              f"{history.low:.3g} and {history.high:.3g}, so the model sees next to nothing of them beside its "
                              "biases.",
                              "scale once, where the data is "
                              "loaded.", at=history.site, causes=(late.site, early.site, history.site),
                              symptom="wrong-value")
                return

    def _degenerate(self, history: InputHistory) -> Finding:
        lines = lines_of(history.made)
        what = "token (or index)" if history.kind in "iu" else "number"
        return finding("input-informative", "input-degenerate", "the inputs say nothing: they are all the same number",
                       f"Every {what} that {type(history.module).__name__} was given {at(history.site)} in "
                       f"{count_of(len(history.rounds), 'observed step')} is {history.low:g}: the input is constant, so "
                       "the output can only learn the average of the targets. It was made "
                       f"{at(lines[0]) if lines else 'outside of what was seen'}.",
                       "look at how the inputs are made: an integer division, a normalisation along the wrong dimension "
                       "(mean, std), an encoding that knows none of the words.",
                       at=history.site, causes=(*lines[:4], history.site), symptom="wrong-value")

    def _equal_samples(self, history: InputHistory) -> Finding:
        lines = lines_of(history.made)
        return finding("input-informative", "input-degenerate", "all samples of a batch are the same",
                       f"In all {count_of(len(history.batches), 'observed step')} the {history.batch} samples that "
                       f"{type(history.module).__name__} was given {at(history.site)} were equal to each other: they are one "
                       "and the same, most likely one array or object that was stored many times and changed since.",
                       "store copies: append(state.copy()), or .clone() of a tensor.",
                       at=history.site, causes=(*lines[:4], *self._stored_at(history.site), history.site), symptom="wrong-value")

    def _stored_at(self, site: Site | None) -> list[Any]:
        here = locate(site)
        return [] if here is None else lines_matching(here.file, r"\.(append|add|push|extend|appendleft)\(")[:3]

    def _unused(self, history: InputHistory) -> Iterator[Finding]:
        code = getattr(type(history.module).forward, "__code__", None)
        if code is None:
            return
        for name in sorted(history.unused or ()):
            yield finding("input-informative", "argument-unused", "an input of the model is never used",
                          f"forward of {type(history.module).__name__} is given `{name}`, but no operation used it in "
                          f"{count_of(len(history.rounds), 'observed step')}: the output does not depend on it (is another "
                          "argument used in its place?).",
                          f"use `{name}`, or leave it out.", at=history.site,
                          causes=(location_of_line(code.co_filename, code.co_firstlineno, code.co_name), history.site),
                          symptom="wrong-value", odd=True)

    def _constant_features(self, history: InputHistory, constant: np.ndarray) -> Iterator[Finding]:
        share = float(constant.mean())
        if share < 0.5:
            return
        lines = lines_of(history.made)
        yield finding("input-informative", "input-degenerate", "most features of the input are constant",
                      f"{int(constant.sum())} of {constant.size} features that {type(history.module).__name__} was given "
                      f"{at(history.site)} had the same value in every sample of "
                      f"{count_of(len(history.rounds), 'observed step')}.",
                      "look at how these features are made, or leave them out.",
                      at=history.site, causes=(*lines[:3], history.site), symptom="wrong-value", odd=True)

    def _constant(self, history: InputHistory) -> Iterator[Finding]:
        """The same batch in every step, although the program means to give others."""
        if self._is_meant(history.site):
            return
        needed = 0.8 * len(history.rounds)
        seeds = _by_line(self._seeds)
        within = [(site, rounds) for site, rounds in seeds if len(rounds & history.rounds) >= needed]
        iterated = {site: rounds for site, (rounds, batches) in self._loaders.items() if batches > 1}
        loaders = [site for site, rounds in _by_line(iterated) if len(rounds & history.rounds) >= needed]
        lines = lines_of(history.made)
        if within:
            site = within[0][0]
            cause, fix = (f"the random numbers are seeded anew {at(site)} in every step, so the same numbers are drawn each time",
                          "seed once, at the beginning of the program.")
            causes: tuple[Any, ...] = (site, *lines[:2])
        elif loaders:
            site = loaders[0]
            cause, fix = (f"a new iterator of the loader is made {at(site)} in every step, and only its first batch is used",
                          "loop over the loader itself (for batch in loader), or make the iterator once, before the loop.")
            causes = (site, *lines[:1])
        elif history.made is not None and (larger := _larger_source(history.made, history.batch)) is not None:
            cause, fix = (f"it is taken {at(history.made.site)} from a tensor of {larger} rows, always from the same place",
                          "let the index advance (or draw it anew) in every step.")
            causes = (*lines[:3], *history.made.callers[:1])
        else:
            return
        yield finding("data-varies", "data-constant", "every step sees the same batch",
                      f"The input of {type(history.module).__name__} {at(history.site)} was identical in all "
                      f"{len(history.rounds)} observed steps: {cause}. The model learns this batch by heart, and nothing "
                      "else.",
                      fix, at=history.site, causes=causes,
                      symptom="wrong-value")

    def _is_meant(self, site: Site | None) -> bool:
        """True if the program says that it overfits one batch on purpose."""
        here = locate(site)
        return here is not None and any("overfit" in line.lower() for line in source_lines(here.file))


def _is_standardized_by_rows(values: np.ndarray) -> bool:
    if np.abs(values.mean(1)).max() > 1e-3 or np.abs(values.std(1) - 1).max() > 0.1:
        return False
    deviations = values.std(0)
    return bool((deviations > 0).all() and np.median(np.abs(values.mean(0)) / deviations) > FAR_APART)


def _has_equal_rows(values: np.ndarray) -> bool:
    # Two rows decide in most batches.
    return values.ndim > 0 and bool((values[:2] == values[:1]).all()) and bool((values == values[:1]).all())


def _by_line(rounds: dict[Site, set[int]]) -> list[tuple[Site, set[int]]]:
    """The same by line: one call has two sites, before and after the interpreter has specialized it."""
    found: dict[Any, tuple[Site, set[int]]] = {}
    for site, numbers in rounds.items():
        here = locate(site)
        key = None if here is None else (here.file, here.line)
        known = found.get(key)
        found[key] = (site, numbers) if known is None else (known[0], known[1] | numbers)
    return list(found.values())


def _larger_source(made: Made, batch: int) -> int | None:
    """The number of rows of the tensor that a batch was taken from, if it has many more: most of them may be the training set."""
    taken = [m for m in (made, *made.ancestors()) if m.name in TAKING and m.rows > 1]
    return next((source.rows for m in taken for source in m.parents if source.rows >= 2 * max(m.rows, batch)), None)
