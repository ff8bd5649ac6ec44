"""How the losses of a run go, and whether they behave after a change of the program.

`whygrad fix` calls a problem mended only if they do: finite, and falling over the steps, as far as before at least.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from whygrad.why.answers import Edit
from whygrad.why.audit.loss_record import LossRecord
from whygrad.why.edits.apply import moved
from whygrad.why.locations import locate

# Fewer values of a loss tell nothing. The beginning of a course is its first values (of a short one, the first), its end the last
# fifth of them.
MIN_VALUES, BEGINNING, SHORT = 5, 3, 10
# Fall, relative to the beginning, below which a loss stands still; difference of two beginnings of the same loss; and share of
# the former fall that may be missing.
STILL, SAME, LESS = 1e-4, 1e-3, 0.1


@dataclass
class LossCourse:
    """The losses that one line differentiates: the very first value, and medians of the first and of the last ones."""

    file: str
    line: int
    count: int
    start: float
    first: float
    last: float
    is_finite: bool

    @property
    def is_long(self) -> bool:
        return self.count >= MIN_VALUES

    @property
    def falls(self) -> bool:
        return self.is_finite and self.last < self.first - max(STILL * abs(self.first), 1e-12)

    def __str__(self) -> str:
        if not self.is_finite:
            return "is not finite"
        how = "falls" if self.falls else "does not fall: it goes"
        return f"{how} from {self.first:.4g} to {self.last:.4g} over {self.count} backward passes"


def courses_of(losses: list[LossRecord]) -> list[dict[str, Any]]:
    """The courses of a run's losses, as data."""
    found = []
    for loss in losses:
        loss.settle()
        where, values = locate(loss.site), loss.values.values
        if where is not None and values:
            beginning = values[:BEGINNING if len(values) >= SHORT else 1]
            end = values[-max(1, len(values) // 5):]
            found.append({"file": where.file, "line": where.line, "count": loss.values.count, "start": loss.values.first,
                          "first": statistics.median(beginning), "last": statistics.median(end),
                          "is_finite": loss.nonfinite_round is None})
    return found


@dataclass
class Behaviour:
    """`is_good` is None if the run is too short to tell."""

    is_good: bool | None
    is_finite: bool
    words: str


def behaviour(before: list[LossCourse], after: list[LossCourse], edits: list[Edit]) -> Behaviour:
    """How the losses behave after some edits: all finite, one of them falls, and none falls less far than it did."""
    long = [course for course in after if course.is_long or not course.is_finite]
    if not long:
        most = max((course.count for course in after), default=0)
        return Behaviour(None, True, f"whether the loss then falls cannot be told from {most or 'no'} backward pass"
                         f"{'' if most == 1 else 'es'}")
    pairs = [(course, _before(course, before, edits)) for course in long]
    bad = [(now, was) for now, was in pairs if not now.is_finite or (was is not None and _falls_less(now, was))]
    falling = [(now, was) for now, was in pairs if now.falls]
    now, was = (bad or falling or pairs)[0]
    told = f" (before: {was})" if was is not None and was.is_long else ""
    is_finite = all(course.is_finite for course in long)
    return Behaviour(not bad and bool(falling), is_finite, f"the loss of line {now.line} {now}{told}")


def _before(course: LossCourse, before: list[LossCourse], edits: list[Edit]) -> LossCourse | None:
    """The course of the same line before the edits."""
    for known in before:
        lines = {known.line}
        for edit in edits:
            lines = {new for line in lines for new in moved(edit, known.file, line)}
        if known.file == course.file and course.line in lines:
            return known
    return None


def _falls_less(now: LossCourse, was: LossCourse) -> bool:
    """Whether a loss fell before, and now does not, or not as far. Of a loss that begins elsewhere only the former is known: the
    edit made it another quantity."""
    if not was.falls or not was.is_long:
        return False
    if not now.falls:
        return True
    is_same = math.isclose(now.start, was.start, rel_tol=SAME, abs_tol=1e-9)
    return is_same and now.last > was.last + LESS * (was.first - was.last)
