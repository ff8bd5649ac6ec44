"""A finding of the audit: an explanation, the check it belongs to, and the parameters it concerns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.locations import SourceLocation, locate, locate_all

# Names of parameters that a text lists; the JSON has all.
MAX_LISTED = 4


@dataclass
class Finding:
    """`check` is the line of the check-list, `where` the line of the program at which the effect shows."""

    check: str
    where: SourceLocation | None
    explanation: Explanation
    # Categories of findings that follow from this one, if others than usual (see CONSEQUENCES in audit.py).
    hides: set[str] | None = None
    # Categories of more particular findings, beside which this general one is not told.
    unless: set[str] | None = None


def finding(check: str, category: str, headline: str, text: str, fix: str, *, at: Any = None, causes: tuple[Any, ...] = (),
            parameters: list[str] | None = None, symptom: str = "no-update", odd: bool = False) -> Finding:
    """`at` and `causes` are sites or locations; without `at` the first cause is where it shows."""
    located = locate_all(*causes)
    where = locate(at) or (located[0] if located else None)
    explanation = Explanation(headline, category, text, fix, located or ([where] if where is not None else []), symptom=symptom,
                              parameters=parameters or [], odd=odd)
    return Finding(check, where, explanation)


def listed(names: list[str]) -> str:
    """Names in a sentence: "`a`, `b` and 3 more"."""
    shown = [f"`{name}`" for name in names[:MAX_LISTED]]
    rest = len(names) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def count_of(things: int, noun: str) -> str:
    return f"{things} {noun}" if things == 1 else f"{things} {noun}s"
