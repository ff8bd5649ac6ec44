"""Loading: do workers draw their own random numbers, epochs have their own order, and resumed runs get their state back?"""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_module, is_tensor, shape_of, size_of
from whygrad.why.locations import SourceLocation, locate, location_of_line, source_lines
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_STEPS = 5
MAX_LOADERS, MAX_FILES = 32, 8
# Batches of a loop that are compared with their samples; fewer say nothing, nor do those of few samples.
MAX_BATCHES, MIN_BATCHES, MIN_SAMPLES = 8, 3, 4
# A program that saves the state of its optimizer means to load it.
SAVES_OPTIMIZER = re.compile(r"\boptim\w*\.state_dict\(\)|\bopt\w*\.state_dict\(\)")


class Resumed:
    """A file with the state of an optimizer, and what was loaded after it."""

    def __init__(self, site: Site, number: int) -> None:
        self.site = site
        self.round = number
        self.model_at: Site | None = None
        self.has_optimizer = False


class Loading(Subject):
    every_round = frozenset({"iterated", "file_loaded", "state_loaded"})
    checks = {
        "workers": "workers of a loader draw different random numbers",
        "order": "every epoch has an order of its own",
        "resuming": "a resumed run gets the state of its optimizer back",
        "collation": "a batch has all samples that it was made from",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By id of a sampler: the sampler, the epochs it was set to, one for each iterator, and the line of the loop.
        self._epochs: dict[int, tuple[Any, list[int], Site]] = {}
        # By id of a dataset: the dataset, its random generator, and the line of the loop.
        self._shared: dict[int, tuple[Any, str, int, Site]] = {}
        self._resumed: list[Resumed] = []
        # Lines that loaded a state of which no name is the model's: a name of the state, and one of the model.
        self._unmatched: dict[Site, tuple[str, str]] = {}
        # By line of the loop: batches that the program's own function made, those with one sample of many, and of how many.
        self._collated: dict[Site, tuple[int, int, int]] = {}

    def iterated(self, loader: Any, site: Site) -> None:
        sampler: Any = getattr(loader, "sampler", None)
        if hasattr(sampler, "set_epoch") and getattr(sampler, "shuffle", False):
            epochs = self._epochs.setdefault(id(sampler), (sampler, [], site))[1]
            epochs.append(sampler.epoch)
            del epochs[:-100]
            drop_oldest(self._epochs, MAX_LOADERS)
        workers = getattr(loader, "num_workers", 0)
        if workers > 1 and getattr(loader, "worker_init_fn", None) is None:
            name = _generator_of(loader.dataset)
            if name:
                self._shared[id(loader.dataset)] = loader.dataset, name, workers, site
                drop_oldest(self._shared, MAX_LOADERS)

    def collated(self, samples: Any, batch: Any, site: Site) -> None:
        made, lost, _ = self._collated.get(site, (0, 0, 0))
        if made < MAX_BATCHES and isinstance(samples, list) and len(samples) >= MIN_SAMPLES:
            self._collated[site] = made + 1, lost + _has_one_sample(samples, batch), len(samples)
            drop_oldest(self._collated, MAX_LOADERS)

    def file_loaded(self, content: Any, site: Site) -> None:
        """torch.load has returned."""
        if _has_optimizer_state(content):
            self._resumed.append(Resumed(site, self.audit.round))
            del self._resumed[:-MAX_FILES]

    def state_loaded(self, owner: Any, site: Site) -> None:
        state = self.audit.watch.loading_state
        if is_module(owner) and state:
            own = owner.state_dict()
            if own and not own.keys() & state.keys():
                self._unmatched[site] = next(iter(state)), next(iter(own))
        for resumed in self._resumed:
            if is_module(owner):
                resumed.model_at = resumed.model_at or site
            elif hasattr(owner, "param_groups"):
                resumed.has_optimizer = True

    def was_seen(self, check: str) -> bool:
        seen: dict[str, Any] = {"workers": self._shared, "order": self._epochs, "resuming": self._resumed,
                                "collation": self._collated}
        return bool(seen[check])

    def findings(self) -> Iterator[Finding]:
        for sampler, epochs, site in self._epochs.values():
            if len(epochs) > 1 and len(set(epochs)) == 1:
                yield finding("order", "epoch-not-set", "every epoch has the same order",
                              f"{type(sampler).__name__} was iterated {count_of(len(epochs), 'time')} {at(site)}, always with "
                              f"epoch {epochs[0]}: it shuffles by seed and epoch, so the data come in the same order each time.",
                              "call sampler.set_epoch(epoch) at the beginning of each epoch.", at=site, causes=(site,),
                              symptom="wrong-value")
        for dataset, name, workers, site in self._shared.values():
            yield finding("workers", "workers-share-seed", "all workers draw the same random numbers",
                          f"__getitem__ of {type(dataset).__name__} draws from self.{name}, a generator that was made once; each "
                          f"of the {workers} workers {at(site)} gets a copy in the same state, in every epoch again: what is "
                          "drawn repeats from worker to worker and from epoch to epoch.",
                          "make the generator in each worker: from torch.initial_seed() in __getitem__, or in worker_init_fn.",
                          at=site, causes=(*_lines_with(dataset, f"self.{name}"), site), symptom="wrong-value")
        for site, (made, lost, count) in self._collated.items():
            if lost == made >= MIN_BATCHES:
                yield finding("collation", "batch-lost", "a batch has one of its samples only",
                              f"The collate function of the loader {at(site)} was given {count} samples for a batch and returned "
                              f"the values of one, with a first dimension of 1, in each of {made} batches that were compared: "
                              "the others are never learned from.",
                              "stack the samples (torch.stack, pad_sequence), so that the first dimension is that of the batch.",
                              at=site, causes=(site,), symptom="wrong-value")
        for resumed in self._resumed:
            yield from self._not_resumed(resumed)
        for site, (theirs, ours) in self._unmatched.items():
            yield finding("resuming", "state-not-loaded", "nothing of this state was loaded",
                          f"load_state_dict {at(site)} was given names such as `{theirs}`, of which the model has none (it has "
                          f"`{ours}`); with strict=False they are ignored, and the model stays as it was.",
                          "rename the keys (a prefix such as `module.` comes from DataParallel), and load with strict=True.",
                          causes=(site,), symptom="no-update")

    def _not_resumed(self, resumed: Resumed) -> Iterator[Finding]:
        here = locate(resumed.site)
        trained = [r for r in self.audit.optimizers.values() if r.steps >= MIN_STEPS and r.last_round > resumed.round]
        if resumed.model_at is None or resumed.has_optimizer or not trained or here is None:
            return
        if not SAVES_OPTIMIZER.search("\n".join(source_lines(here.file))):
            return
        yield finding("resuming", "optimizer-state-lost", "the optimizer's state is saved, but not loaded",
                      f"The file read {at(resumed.site)} has the state of an optimizer (momentum, averages, step counts), and "
                      f"the model's was loaded {at(resumed.model_at)}; the optimizer that trains then, made "
                      f"{at(trained[-1].made_at)}, starts from nothing.",
                      "call optimizer.load_state_dict(...) with the state that was saved.",
                      at=resumed.model_at, causes=(resumed.site, resumed.model_at, trained[-1].made_at), symptom="wrong-value")


def _has_one_sample(samples: list[Any], batch: Any) -> bool:
    """Whether a batch has a first dimension of 1, and no more numbers than one of its samples."""
    made = _tensors_in(batch)
    sizes = [sum(map(size_of, _tensors_in(sample))) for sample in samples]
    return bool(made) and all(shape_of(t)[:1] == (1,) for t in made) and 0 < sum(map(size_of, made)) <= max(sizes)


def _tensors_in(value: Any) -> list[Any]:
    if is_tensor(value):
        return [value]
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [t for part in inside for t in _tensors_in(part)]


def _has_optimizer_state(content: Any, depth: int = 2) -> bool:
    if not isinstance(content, dict):
        return False
    if "param_groups" in content and content.get("state"):
        return True
    return depth > 0 and any(_has_optimizer_state(value, depth - 1) for value in list(content.values())[:100])


def _generator_of(dataset: Any) -> str:
    """The attribute with a random generator that a dataset uses for its samples, or ""."""
    try:
        text = inspect.getsource(type(dataset).__getitem__)
    except (OSError, TypeError, AttributeError):
        return ""
    kinds = (np.random.Generator, np.random.RandomState, random.Random)
    return next((name for name, value in vars(dataset).items()
                 if (isinstance(value, kinds) or type(value).__name__ == "Generator") and f"self.{name}" in text), "")


def _lines_with(dataset: Any, text: str) -> list[SourceLocation]:
    """The lines of a class that mention this text."""
    try:
        lines, first = inspect.getsourcelines(type(dataset))
        file = inspect.getfile(type(dataset))
    except (OSError, TypeError):
        return []
    return [location_of_line(file, first + i) for i, line in enumerate(lines) if text in line]
