"""Provenance: which lines made a tensor of data. Data has no graph, so calls are remembered while rounds are observed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why import record
from whygrad.why.audit.observation import Call
from whygrad.why.engine import Tensor, array_of, is_tensor, kind_of, shape_of, size_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MAX_TENSORS = 20_000
CONVERTING = {"to", "type", "byte", "bool", "char", "short", "int"}
WIDENING = CONVERTING | {"long"}
MULTIPLYING = {"mul", "__mul__", "__rmul__", "mul_", "multiply"}
DIVIDING = {"div", "__truediv__", "div_", "true_divide", "divide"}
MAX_PARENTS, MAX_DEPTH = 8, 30
# Integers whose range is kept.
MAX_LABELS = 100_000


class Made:
    """One call that made (or last wrote) a tensor without history, and what made its arguments."""

    __slots__ = ("callers", "capacity", "cut", "depth", "factor", "merged", "name", "parents", "range",
                 "reference", "round", "rows", "site")

    def __init__(self, result: Tensor, name: str, site: Site, parents: tuple[Made, ...], number: int) -> None:
        self.reference = record.Reference(result)
        self.name = name
        self.site = site
        self.callers = record.callers()
        self.round = number
        # The smallest and largest value of integers, which may be labels.
        shape = shape_of(result)
        self.rows = shape[0] if shape else 0
        self.merged: tuple[int, int, str] | None = None
        # The number of values that it could hold before it was converted from integers of 8 bits; 0 for others.
        self.capacity = 0
        # Whether it was converted from numbers with fractions to integers.
        self.cut = False
        self.factor = 1.0  # the number by which it was multiplied
        self.range: tuple[int, int] | None = None
        if kind_of(result) in "iu" and 0 < size_of(result) <= MAX_LABELS:
            array = array_of(result)
            self.range = int(array.min()), int(array.max())
        self.depth: int = 1 + max([parent.depth for parent in parents], default=0)
        self.parents = parents if self.depth < MAX_DEPTH else ()

    def ancestors(self) -> Iterator[Made]:
        """What it was made of, the nearest first."""
        queue, seen = list(self.parents), set()
        while queue:
            made = queue.pop(0)
            if id(made) not in seen:
                seen.add(id(made))
                yield made
                queue.extend(made.parents)


class Provenance:
    every_round: frozenset[str] = frozenset()

    def __init__(self, audit: Any) -> None:
        self._audit = audit
        self._made: dict[int, Made] = {}

    def called(self, call: Call) -> None:
        results = call.result if isinstance(call.result, (tuple, list)) else (call.result,)
        given = None
        for result in results:
            if is_tensor(result) and not result.requires_grad:
                if given is None:
                    given = tuple(self._of_arguments(call))
                known = self._made.pop(id(result), None)
                if known is not None and known.reference() is result and known not in given:
                    given += (known,)  # written in place
                made = self._made[id(result)] = Made(result, call.name.rpartition(".")[2], call.site, given, self._audit.round)
                made.merged = _merged(call, result)
                made.capacity = _capacity(call, result)
                made.cut = _is_cut(call, result)
                made.factor = _factor(call)
                drop_oldest(self._made, MAX_TENSORS)

    def gathered(self, sources: tuple[Any, ...], batch: list[Any], site: Site) -> None:
        """A loader has taken a batch out of the tensors of a dataset."""
        if self._audit.is_observing:
            for source, t in zip(sources, batch, strict=True):
                made = self.of(source)
                self._made[id(t)] = Made(t, "batch", site, () if made is None else (made,), self._audit.round)

    def _of_arguments(self, call: Call) -> list[Made]:
        found: list[Made] = []
        pending = [*call.args, *call.kwargs.values()]
        while pending and len(found) < MAX_PARENTS:
            x = pending.pop(0)
            if is_tensor(x):
                made = self.of(x)
                if made is not None:
                    found.append(made)
            elif isinstance(x, (tuple, list)):
                pending[:0] = x[:MAX_PARENTS]
        return found

    def of(self, t: Any) -> Made | None:
        known = self._made.get(id(t))
        return known if known is not None and known.reference() is t else None


def lines_of(made: Made | None) -> list[Site]:
    """The lines that made a tensor, the nearest first, each once."""
    return [] if made is None else list(dict.fromkeys(m.site for m in (made, *made.ancestors())))


def _capacity(call: Call, result: Tensor) -> int:
    given = call.args[0] if call.args else None
    if call.name.rpartition(".")[2] in WIDENING and is_tensor(given) and kind_of(result) in "iu" and given.dtype != result.dtype:
        return {"uint8": 256, "int8": 128}.get(str(given.dtype).removeprefix("torch."), 0)
    return 0


def _factor(call: Call) -> float:
    name, number = call.name.rpartition(".")[2], call.args[1] if len(call.args) == 2 else None
    if not isinstance(number, (int, float)) or not number:
        return 1.0
    return float(number) if name in MULTIPLYING else 1 / number if name in DIVIDING else 1.0


def _is_cut(call: Call, result: Tensor) -> bool:
    given = call.args[0] if call.args else None
    if call.name.rpartition(".")[2] not in WIDENING or not is_tensor(given) or kind_of(result) not in "iu":
        return False
    if kind_of(given) != "f" or not 0 < size_of(given) <= MAX_LABELS:
        return False
    values = array_of(given)
    return bool((values != np.floor(values)).mean() > 0.5)


def _merged(call: Call, result: Tensor) -> tuple[int, int, str] | None:
    """For a conversion of integers that lost some: how many different values there were before and after, and the dtype."""
    given = call.args[0] if call.args else None
    if call.name.rpartition(".")[2] not in CONVERTING or not is_tensor(given):
        return None
    if shape_of(given) != shape_of(result) or given.dtype == result.dtype:
        return None
    if kind_of(given) not in "iuf" or kind_of(result) not in "iub" or size_of(given) > MAX_LABELS:
        return None
    if (kind_of(given) == "f" and kind_of(result) != "b"):
        return None
    before, after = np.unique(array_of(given)).size, np.unique(array_of(result)).size
    return (before, after, str(result.dtype).removeprefix("torch.")) if after < before and before > 2 else None
