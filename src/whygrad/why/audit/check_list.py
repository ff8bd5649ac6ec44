"""The check-list of an audit: of each check whether it is passed, or what was found."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whygrad.why.answers import Answer
from whygrad.why.audit.audit import Audit

# What is found without the audit: by rules that look at reads, errors and calls. Category -> its check.
CHECK_OF = {
    "grad-accumulated": "cleared", "grad-cleared": "cleared", "stale-grad-after-freeze": "cleared",
    "step-missing": "stepped", "returned-not-stored": "stepped", "leaf-replaced": "stepped",
    "broadcast-loss": "shapes", "clip-misplaced": "clip", "scaler-misuse": "scaler", "not-in-optimizer": "not-held",
}
# Categories after which another check cannot be passed.
IMPLIES = {"learning-rate-zero": "moves", "step-missing": "moves", "grad-cleared": "moves"}
LOOP = {
    "cleared": "gradients are cleared once between steps, and not before they are used",
    "stepped": "every optimizer steps, and its steps have an effect",
    "shapes": "predictions and targets have the same shape",
}
PROGRAM = {
    "reads": "the gradients that the program reads are what they seem",
    "errors": "autograd raises no error",
}


@dataclass
class Check:
    """One line of the check-list.

    `status` is "found", "odd", "passed", "not seen" (the run had nothing to look at), or "ignored": what was found is ignored or
    in the baseline.
    """

    subject: str
    id: str
    title: str
    status: str
    # Categories of what was found; and the category of another check's finding from which this one follows.
    categories: list[str] = field(default_factory=list)
    follows_from: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"subject": self.subject, "check": self.id, "title": self.title, "status": self.status,
                "categories": self.categories, "follows_from": self.follows_from or None}


def check_list(watch: Any, answers: Sequence[Answer], suppressed: Collection[Answer] = (), seen: Collection[str] = (),
               follows_from: Mapping[str, str] | None = None) -> list[Check]:
    """The checks in the order of the subjects; `suppressed` are those of the answers that are not reported. `seen` and
    `follows_from` are of other processes: the checks that had something to look at, and those that follow from a category."""
    audit: Audit = watch.audit
    found: dict[str, list[Answer]] = {}
    implied = {**audit.implied, **(follows_from or {})}
    for answer in answers:
        found.setdefault(check_of(answer), []).append(answer)
        for other in _implied_by(answer):
            implied.setdefault(other, answer.explanation.category)
    if any(loss.nonfinite_round is not None for loss in audit.losses.values()) and "finite" not in found:
        causes = [answer.explanation.category for answer in answers if not answer.explanation.odd]
        implied.setdefault("finite", next((c for c in ("diverged", *causes) if c in causes), ""))
    stepped = any(record.steps for record in audit.optimizers.values())
    lines = [(_spaced(type(subject).__name__), check, title, check in seen or audit.was_seen(subject, check))
             for subject in audit.subjects for check, title in subject.checks.items()]
    lines += [("training loop", check, title, stepped or bool(seen)) for check, title in LOOP.items()]
    lines += [("program", "reads", PROGRAM["reads"], watch.was_read()),
              ("program", "errors", PROGRAM["errors"], bool(watch.traces_latest_first()))]
    return [_check(line, found.get(line[1], []), suppressed, implied.get(line[1], "")) for line in lines]


def check_of(answer: Answer) -> str:
    """The check to which an answer belongs."""
    explanation = answer.explanation
    if explanation.check:
        return explanation.check
    if explanation.symptom == "error":
        return "errors"
    return CHECK_OF.get(explanation.category, "stepped" if explanation.symptom == "no-update" else "reads")


def _implied_by(answer: Answer) -> list[str]:
    """Checks that are not passed after a finding, though their own subjects leave it to that."""
    category = answer.explanation.category
    if answer.explanation.odd:
        return []
    if category in IMPLIES:
        return [IMPLIES[category]]
    is_without_effect = check_of(answer) == "stepped" and answer.explanation.symptom == "no-update"
    return ["no-gradient", "moves"] if is_without_effect else []


def _check(line: tuple[str, str, str, bool], found: list[Answer], suppressed: Collection[Answer], follows_from: str) -> Check:
    subject, check, title, was_seen = line
    told = [answer for answer in found if not any(answer is other for other in suppressed)]
    if any(not answer.explanation.odd for answer in told) or (follows_from and not found):
        status = "found"
    elif told:
        status = "odd"
    elif found:
        status = "ignored"
    else:
        status = "passed" if was_seen else "not seen"
    categories = list(dict.fromkeys(answer.explanation.category for answer in told or found))
    return Check(subject, check, title, status, categories, follows_from if status == "found" and not told else "")


def _spaced(name: str) -> str:
    """"GradientScale" as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
