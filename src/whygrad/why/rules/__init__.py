"""The rules: each looks at one question and answers it, or leaves it to the next.

A rule is a function from a Question to an Explanation (it is certain), a Doubtful one (what happens later decides) or
None. The lists below say in which order they are asked: the more specific before the more general.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whygrad.why.answers import Explanation
from whygrad.why.question import Question


@dataclass
class Doubtful:
    """An answer that holds only if `confirmed()` says so when the program has ended."""

    explanation: Explanation
    confirmed: Callable[[], bool]


Verdict = Explanation | Doubtful
Rule = Callable[[Question], Verdict | None]


def verdicts(rules: Iterable[Rule], question: Question) -> list[Verdict]:
    """The doubtful answers in order, and the first certain one."""
    found: list[Verdict] = []
    for rule in rules:
        verdict = rule(question)
        if verdict is not None:
            found.append(verdict)
            if isinstance(verdict, Explanation):
                break
    return found


def settle(found: Iterable[Verdict]) -> Explanation | None:
    """The first answer that holds, as far as is known now."""
    for verdict in found:
        if isinstance(verdict, Explanation):
            return verdict
        if verdict.confirmed():
            return verdict.explanation
    return None
