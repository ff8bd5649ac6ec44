"""The head of the report: what was found, what is odd, and what was not seen."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from whygrad.why.answers import Answer
from whygrad.why.audit.check_list import Check
from whygrad.why.sections.drawn_leaves import DrawnLeaves
from whygrad.why.sections.text import count_of, prose

SECTIONS = {"answers": "Answers", "checks": "Checks", "training": "Training", "layers": "Layers", "run": "Run"}


def is_odd(answer: Answer) -> bool:
    return answer.explanation.odd or answer.explanation.harmless


class Verdict(NamedTuple):
    """`steps` and `backwards` are how much there was to look at."""

    found: int
    odd: int
    # Number of checks by status.
    checks: Counter[str]
    leaves: DrawnLeaves
    steps: int
    backwards: int

    @property
    def words(self) -> str:
        if self.found:
            return count_of(self.found, "thing to explain", "things to explain")
        if not self.steps and not self.backwards:
            return "nothing was seen: no backward pass ran"
        return "nothing is shown" if self.checks["ignored"] else "nothing found wrong"

    @property
    def kind(self) -> str:
        """"good" only if every check was made and passed, and the drawings show nothing else."""
        if self.found:
            return "bad"
        if self.odd or self.leaves.count(meant=False) or self.checks["ignored"]:
            return "odd"
        return "good" if self.checks["passed"] and not self.checks["not seen"] and not self.leaves.unexplained else "open"


def verdict_of(answers: Sequence[Answer], checks: Sequence[Check], leaves: DrawnLeaves, steps: int, backwards: int) -> Verdict:
    odd = sum(map(is_odd, answers))
    return Verdict(len(answers) - odd, odd, Counter(check.status for check in checks), leaves, steps, backwards)


def header(name: str, verdict: Verdict, ended: str) -> str:
    how = f'<span class="ended" title="{html.escape(ended)}">{html.escape(ended)}</span>' if ended else ""
    counts = [("odd", verdict.odd, "odd", "#odd"),
              ("odd", verdict.leaves.count(meant=False), "drawn without a gradient", "#graph"),
              ("not-held", verdict.leaves.count(meant=True), "cut off and in no optimizer", "#graph"),
              ("ignored", verdict.checks["ignored"], "found but not shown", "#checks"),
              ("passed", verdict.checks["passed"], "checks passed", "#checks"),
              ("not-seen", verdict.checks["not seen"], "not seen", "#checks")]
    chips = "".join(f'<a class="chip {kind}" href="{where}"><b>{count}</b> {words}</a>'
                    for kind, count, words, where in counts if count)
    links = "".join(f'<a href="#{name}">{words}</a>' for name, words in SECTIONS.items())
    return (f'<header><span class="brand">whygrad</span><h1>{html.escape(name)}</h1>{how}'
            f'<span class="verdict {verdict.kind}">{verdict.words}</span>{chips}<nav aria-label="Sections">{links}</nav>'
            '<button type="button" id="theme" hidden>dark</button>'
            '<span id="status" class="hidden" role="status"></span></header>')


def nothing_found(verdict: Verdict) -> str:
    """What stands in the place of the answers if there are none."""
    passed, unseen = verdict.checks["passed"], verdict.checks["not seen"]
    if not verdict.steps and not verdict.backwards:
        text = "No backward pass and no step of an optimizer were seen: there was nothing to judge."
    elif passed:
        text = (f"{count_of(passed, 'check')} passed on {count_of(verdict.steps, 'step')} of optimizers"
                + (f"; {count_of(unseen, 'check')} had nothing to look at in this run" if unseen else "") + ".")
    else:
        text = "No gradient that the program looked at is surprising; no training was seen."
    remarks = "".join(f"<p>{prose(remark)}</p>" for remark in verdict.leaves.remarks())
    return f'<div class="empty"><p>{text} <a href="#checks">Check-list</a></p>{remarks}</div>'
