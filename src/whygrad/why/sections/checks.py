"""Section Checks: the check-list of the audit, by status."""

from __future__ import annotations

import html
from collections.abc import Sequence

from whygrad.why.answers import Answer
from whygrad.why.audit.check_list import Check, check_of

# status -> (mark, heading)
STATUSES = {
    "found": ("✗", "Found wrong"),
    "odd": ("!", "Odd, but perhaps meant"),
    "ignored": ("·", "Found, but not shown (--only, --ignore or the baseline)"),
    "passed": ("✓", "Passed"),
    "not seen": ("-", "Not seen: the run had nothing to look at"),
}


def checks_section(checks: Sequence[Check], answers: Sequence[Answer]) -> str:
    numbers: dict[str, list[int]] = {}
    for number, answer in enumerate(answers, 1):
        numbers.setdefault(check_of(answer), []).append(number)
    groups = []
    for status, (mark, heading) in STATUSES.items():
        some = [check for check in checks if check.status == status]
        if some:
            items = "".join(_item(check, mark, numbers.get(check.id, [])) for check in some)
            groups.append(f'<h3 class="status {_class(status)}">{heading} <span>{len(some)}</span></h3>'
                          f'<ul class="checks">{items}</ul>')
    body = "".join(groups) or '<p class="empty">No check was made.</p>'
    return f'<section id="checks" class="sheet" aria-label="Checks"><h2>Check-list</h2>{body}</section>'


def _class(status: str) -> str:
    return status.replace(" ", "-")


def _item(check: Check, mark: str, numbers: list[int]) -> str:
    told = "".join(f' <a class="told" href="#answer-{n}">answer {n}</a>' for n in numbers)
    if check.follows_from:
        told += f' <span class="category">follows from {html.escape(check.follows_from)}</span>'
    return (f'<li class="{_class(check.status)}"><span class="mark" aria-hidden="true">{mark}</span>'
            f'<span><span class="hidden">{check.status}: </span>{html.escape(check.title)} '
            f'<span class="subject">{html.escape(check.subject)}</span>{told}</span></li>')
