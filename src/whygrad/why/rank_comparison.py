"""Compares what the processes of a distributed program have left: replicas of weights that differ, data that is the same.

A weight is a *replica* if it is trained through a wrapper that averages its gradients, or if its gradients were equal in all
processes at some step (or equal but for a factor): the shards of a model whose layers are split are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from whygrad.why.answers import Answer, Explanation
from whygrad.why.audit.finding import count_of, listed
from whygrad.why.audit.subjects.replicas import Fingerprint, RankFacts, Replica, ReplicaStep
from whygrad.why.locations import SourceLocation

# Relative differences below these are what rounding leaves: of weights, and of gradients.
ROUNDING, GRADIENT_ROUNDING = 1e-5, 1e-3
# Elements of a gradient that must have the same proportion, and steps with the same data before that is told.
MIN_ELEMENTS, MIN_STEPS = 4, 3

Location = SourceLocation | None


class Trouble(NamedTuple):
    """Why the replicas of a weight part at a step: `kind`, the lines that did it, and details in words."""

    kind: str
    number: int
    where: Location
    causes: tuple[Location, ...]
    words: str
    ranks: tuple[int, ...]


@dataclass
class Copies:
    """The replicas of one weight in all processes, and their steps."""

    ranks: list[int]
    replicas: list[Replica]

    @property
    def rounds(self) -> list[int]:
        """The rounds that all have kept, with the end of each step."""
        common = set.intersection(*[{n for n, step in replica.steps.items() if step.after} for replica in self.replicas])
        return sorted(common)

    def steps(self, number: int) -> list[ReplicaStep]:
        return [replica.steps[number] for replica in self.replicas]

    def is_wrapped(self) -> bool:
        return all(replica.wrapped_at is not None for replica in self.replicas)

    def is_one_weight(self) -> bool:
        """Whether it is meant to be the same in all processes."""
        return self.is_wrapped() or any(self._have_same_direction(self.steps(number)) for number in self.rounds)

    def _have_same_direction(self, steps: list[ReplicaStep]) -> bool:
        gradients = [step.gradient for step in steps]
        if any(g is None or not g.norm for g in gradients):
            return False
        return not differ(gradients, GRADIENT_ROUNDING) or bool(factors(gradients))

    def parts_at(self) -> int | None:
        """The round in which they part and after which they stay apart; None if they do not, or are averaged now and then."""
        apart = [differ([step.after for step in self.steps(number)]) for number in self.rounds]
        if not apart or not apart[-1] or (True in apart and False in apart[apart.index(True):]):
            return None
        return self.rounds[apart.index(True)]


def differ(some: Sequence[Fingerprint | None], tolerance: float = ROUNDING) -> bool:
    """Whether arrays of several processes differ by more than rounding."""
    if any(x is None for x in some):
        return any(x is not None for x in some)
    first, *others = [x for x in some if x is not None]
    return any(x.checksum != first.checksum and _distance(first, x) > tolerance for x in others)


def _distance(a: Fingerprint, b: Fingerprint) -> float:
    """The relative difference, as far as samples, totals and norms tell."""
    size = max(a.norm, b.norm) or 1.0
    if a.sample.shape != b.sample.shape:
        return 1.0
    largest = float(np.abs([*a.sample, *b.sample]).max()) or 1.0
    apart = float(np.abs(a.sample - b.sample).max()) / largest
    return max(abs(a.norm - b.norm) / size, abs(a.total - b.total) / size / 10, apart)


def factors(some: Sequence[Fingerprint | None]) -> list[float]:
    """By how much each gradient is the first one's multiple; [] if they are none."""
    first, *others = some
    found = [1.0]
    for x in others:
        if first is None or x is None or not first.norm or x.sample.shape != first.sample.shape:
            return []
        factor = x.norm / first.norm
        scale = float(np.abs(x.sample).max())
        if not scale or (first.sample != 0).sum() < MIN_ELEMENTS:
            return []
        if float(np.abs(x.sample - factor * first.sample).max()) > GRADIENT_ROUNDING * scale:
            return []
        found.append(factor)
    return found


def comparison(facts: dict[int, RankFacts], told: set[str]) -> list[Answer]:
    """What is wrong between the processes; `told` has the categories and symptoms that they have found themselves."""
    if len(facts) < 2:
        return []
    found = [*_same_data(facts)]
    if not told & {"ddp-bypassed", "error"}:  # then it is known why they differ
        found += _diverging(facts)
    return found


def _copies(facts: dict[int, RankFacts]) -> list[Copies]:
    keys = set.intersection(*[set(own.replicas) for own in facts.values()])
    found = [Copies(list(facts), [own.replicas[key] for own in facts.values()]) for key in sorted(keys)]
    return [copies for copies in found if len({(r.name, r.shape) for r in copies.replicas}) == 1 and copies.rounds]


def _diverging(facts: dict[int, RankFacts]) -> Iterator[Answer]:
    everything = _copies(facts)
    replicas = [copies for copies in everything if copies.is_one_weight()]
    troubles: dict[Any, tuple[Trouble, list[str]]] = {}
    for copies in replicas:
        number = copies.parts_at()
        if number is not None:
            trouble = _trouble(copies, number, facts)
            key = trouble.kind, *(() if trouble.kind == "different" else (trouble.causes[:1], trouble.number))
            troubles.setdefault(key, (trouble, []))[1].append(copies.replicas[0].name)
    if troubles:  # what comes later may follow from the first
        yield _answer(*min(troubles.values(), key=lambda pair: pair[0].number), len(facts))
    if not replicas and everything:
        yield from _independent(everything)


def _trouble(copies: Copies, number: int, facts: dict[int, RankFacts]) -> Trouble:
    """What is the first difference: of the weights before the step, of the gradients, or of the step itself."""
    steps, ranks = copies.steps(number), tuple(copies.ranks)
    stepped = next((step.stepped_at for step in steps if step.stepped_at is not None), None)
    if differ([step.before for step in steps]):
        if number == copies.rounds[0]:
            made = copies.replicas[0].made_at
            return Trouble("different", number, stepped, (made, stepped), "", ranks)
        lines = [_some(step.written_at) for step in steps]
        return Trouble("written", number, stepped, (*_only_some(lines), stepped), _where(ranks, lines), ranks)
    gradients = [step.gradient for step in steps]
    if not differ(gradients, GRADIENT_ROUNDING):
        rates = [step.rate for step in steps]
        loaded = [_some(own.state_loaded_at) for own in facts.values()]
        if len(set(rates)) > 1:
            return Trouble("rate", number, stepped, (stepped,), _each(ranks, [f"{rate:g}" for rate in rates]), ranks)
        return Trouble("state", number, stepped, (*_only_some(loaded), stepped), _where(ranks, loaded), ranks)
    lines = [step.graded_at for step in steps]
    replaced = next((r.replaced_at for r in copies.replicas if r.replaced_at is not None), None)
    some = _only_some(lines)
    if copies.is_wrapped() and replaced is not None and not some:
        return Trouble("replaced", number, stepped, (replaced, copies.replicas[0].wrapped_at, stepped), "", ranks)
    scales = factors(gradients)
    sizes = ["no gradient" if g is None else f"{g.norm:.3g}" for g in gradients]
    kind = "scaled" if scales else "gradient"
    own = some or tuple(lines[0])
    return Trouble(kind, number, stepped, (*own, stepped), _each(ranks, sizes) + _where(ranks, lines), ranks)


def _some(line: Location) -> list[SourceLocation]:
    return [] if line is None else [line]


def _only_some(lines: Sequence[list[SourceLocation]]) -> tuple[SourceLocation, ...]:
    """The lines that not all processes have."""
    return tuple(dict.fromkeys(line for own in lines for line in own if not all(line in others for others in lines)))


def _each(ranks: Sequence[int], words: Sequence[str]) -> str:
    return ", ".join(f"{word} in rank {rank}" for rank, word in zip(ranks, words, strict=True))


def _where(ranks: Sequence[int], lines: Sequence[list[SourceLocation]]) -> str:
    """ "; line 7 `g.mul_(c)` did so in rank 0 only", or ""."""
    parts = []
    for line in _only_some(lines):
        those = [str(rank) for rank, own in zip(ranks, lines, strict=True) if line in own]
        parts.append(f"{line.place} {line.quoted()} wrote it in rank{'s' if len(those) > 1 else ''} {', '.join(those)} only")
    return f"; {'; '.join(parts)}" if parts else ""


def _answer(trouble: Trouble, names: list[str], processes: int) -> Answer:
    text, fix = _text(trouble, f"{count_of(len(names), 'weight')} ({listed(names)}) of the {processes} processes")
    causes = list(dict.fromkeys(line for line in trouble.causes if line is not None))
    said = Explanation("replicas of weights differ between processes", "ranks-diverge", text, fix, causes, symptom="wrong-value",
                       parameters=names, check="replicas")
    return Answer(trouble.where or causes[0], said, ranks=list(trouble.ranks))


def _text(trouble: Trouble, weights: str) -> tuple[str, str]:
    """What happened, and the fix."""
    step, words = trouble.number + 1, trouble.words
    again = "and copy the weights of rank 0 to the others once they have parted (torch.distributed.broadcast)"
    if trouble.kind == "different":
        return ((f"{weights} differ before the first step, although they take the same steps: they were made from different "
                 "random numbers and never made equal, so that averaged gradients fit none of them."),
                ("seed all processes alike before the model is made, or broadcast the parameters of rank 0 after it "
                 "(DistributedDataParallel does so)."))
    if trouble.kind == "written":
        return ((f"{weights} were equal after the step before step {step}, and differ when it begins: somebody has written them "
                 f"in between{words}."), "write them in every process alike, or broadcast them afterwards.")
    if trouble.kind == "rate":
        return (f"{weights} part at step {step}, though their gradients are equal: the learning rate is {words}.",
                "use the same learning rate and schedule in every process.")
    if trouble.kind == "state":
        return ((f"{weights} part at step {step}, though their gradients and the learning rate are equal: the state of the "
                 f"optimizers (momentum, averages) is not the same{words}."),
                "load the optimizer's state in every process, and step schedulers and optimizers in all of them.")
    if trouble.kind == "replaced":
        return ((f"{weights} part at step {step}: the model was wrapped {_at(trouble.causes[1])}, and its parameters were "
                 f"converted or replaced afterwards {_at(trouble.causes[0])}. The hooks that average gradients were lost with "
                 "the old ones, and each process goes its own way."),
                "convert or move the model before it is wrapped in DistributedDataParallel, or wrap it anew.")
    if trouble.kind == "scaled":
        return ((f"{weights} part at step {step}: the gradients point the same way and have different lengths (norm {words}). "
                 "One process has scaled or clipped what the others have not."),
                f"scale and clip the gradients of replicas in every process, by the same factor; {again}.")
    return ((f"{weights} part at step {step}: the gradients with which it is made differ (norm {words}), so that they were not "
             "averaged, or were changed in one process afterwards."),
            ("average the gradients in every step (DistributedDataParallel, or all_reduce in every process), and change them in "
             f"all processes alike; {again}."))


def _at(line: Location) -> str:
    return "at an unknown place" if line is None else f"in {line.place} {line.quoted()}"


def _independent(everything: list[Copies]) -> Iterator[Answer]:
    """All begin equal, and no gradient was ever averaged: each process trains a model of its own."""
    rounds = everything[0].rounds
    if len(rounds) < MIN_STEPS or any(differ([s.before for s in copies.steps(copies.rounds[0])]) for copies in everything):
        return
    apart = [copies for copies in everything if copies.parts_at() is not None]
    stepped = everything[0].steps(rounds[-1])[0].stepped_at
    if len(apart) < len(everything) or stepped is None:
        return
    yield Answer(stepped, Explanation(
        "each process trains a model of its own", "ranks-diverge",
        f"The {len(everything[0].ranks)} processes have joined one group and begin with equal weights, but no gradient was equal "
        f"in {count_of(len(rounds), 'step')} that were compared, and all {count_of(len(apart), 'weight')} differ in the end: "
        "nothing is averaged.", "wrap the model in DistributedDataParallel, or all_reduce the gradients before each step.",
        [stepped], symptom="wrong-value", parameters=[copies.replicas[0].name for copies in apart], odd=True, check="replicas"),
        ranks=everything[0].ranks)


def _same_data(facts: dict[int, RankFacts]) -> Iterator[Answer]:
    common = sorted(set.intersection(*[set(own.inputs) for own in facts.values()]))
    first, *others = facts.values()
    if len(common) < MIN_STEPS or first.called_at is None:
        return
    if any(own.inputs[n].checksum != first.inputs[n].checksum for n in common for own in others):
        return
    loader = None if first.is_sampler_shared_out else first.loader_at
    how = "" if loader is None else f"The loader that is iterated {_at(loader)} has no sampler that gives each process its part. "
    yield Answer(first.called_at, Explanation(
        "all processes train on the same data", "ranks-share-data",
        f"In all {count_of(len(common), 'step')} that were compared, the {len(facts)} processes gave the wrapped model the same "
        f"inputs. {how}Their gradients are equal then, averaging changes nothing, and {len(facts)} processes do the work of one.",
        "give the DataLoader a DistributedSampler (and call its set_epoch()), or seed what draws the data with the rank.",
        [*_some(loader), first.called_at], symptom="wrong-value", odd=loader is None, check="rank-data"), ranks=list(facts))
