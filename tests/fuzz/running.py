"""A kind of cases: how one is made from random numbers, what is wrong with it, smaller ones, and its script."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

MOST_ATTEMPTS = 400  # to make a finding smaller


class Kind(Protocol):
    name: str

    def make(self, choose: random.Random) -> Any: ...

    def problem(self, case: Any) -> str | None:
        """What is wrong, in words that do not depend on the numbers in it: the same words are the same finding."""

    def smaller(self, case: Any) -> Iterable[Any]: ...

    def script(self, case: Any) -> str: ...


def kinds() -> dict[str, Kind]:
    """Every module of this folder that has a KIND."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith(("_", "test_")) and path.stem not in ("running", "leaks"):
            kind = getattr(importlib.import_module(f".{path.stem}", __package__), "KIND", None)
            if kind is not None:
                found[kind.name] = kind
    return found


@dataclass
class Finding:
    kind: Kind
    seed: int
    number: int
    case: Any
    problem: str

    @property
    def words(self) -> str:
        """What is wrong, whatever the variables and numbers are."""
        return re.sub(r"\d+", "N", self.problem)

    def __str__(self) -> str:
        head = f"# {self.kind.name}, --seed {self.seed} --case {self.number}: {self.problem}"
        return f"{'#' * 20}\n{head}\n{self.kind.script(self.case)}"


def find(kind: Kind, seed: int, number: int) -> Finding | None:
    case = kind.make(random.Random(f"{kind.name} {seed} {number}"))
    problem = kind.problem(case)
    return None if problem is None else Finding(kind, seed, number, *_minimised(kind, case, problem))


def _minimised(kind: Kind, case: Any, problem: str) -> tuple[Any, str]:
    """The first smaller case that has a problem, again and again. It may be another problem: then that one is found."""
    attempts = 0
    while True:
        for smaller in kind.smaller(case):
            attempts += 1
            if attempts > MOST_ATTEMPTS:
                return case, problem
            found = kind.problem(smaller)
            if found is not None:
                case, problem = smaller, found
                break
        else:
            return case, problem
