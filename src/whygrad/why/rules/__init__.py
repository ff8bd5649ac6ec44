"""Rules: functions from a Question to an Explanation (certain), a Provisional one (later events decide) or None.

explain.py lists the rules for each kind of tensor, the more specific before the more general.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whygrad.why.answers import Explanation
from whygrad.why.question import Question


@dataclass
class Provisional:
    """An explanation that holds only if `confirmed()` is true at the end of the run."""

    explanation: Explanation
    confirmed: Callable[[], bool]


Verdict = Explanation | Provisional
Rule = Callable[[Question], Verdict | None]


def explanation_of(verdict: Verdict) -> Explanation:
    return verdict if isinstance(verdict, Explanation) else verdict.explanation


def verdicts(rules: Iterable[Rule], question: Question) -> list[Verdict]:
    """The provisional verdicts up to and including the first certain one."""
    found: list[Verdict] = []
    for rule in rules:
        verdict = rule(question)
        if verdict is not None:
            found.append(verdict)
            if isinstance(verdict, Explanation):
                break
    return found


def first_confirmed(found: Iterable[Verdict]) -> Explanation | None:
    """The first verdict that is certain or confirmed by now."""
    for verdict in found:
        if isinstance(verdict, Explanation):
            return verdict
        if verdict.confirmed():
            return verdict.explanation
    return None
