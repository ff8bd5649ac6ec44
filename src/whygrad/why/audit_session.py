"""One run of `whygrad audit`: every round is observed, and at the end there is a check-list."""

from __future__ import annotations

import fnmatch
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

from whygrad.why import ranks, terminal
from whygrad.why.answers import Answer
from whygrad.why.audit import baseline
from whygrad.why.audit.baseline import Key
from whygrad.why.audit.check_list import check_list, check_of
from whygrad.why.audit.finding import count_of
from whygrad.why.ending import Ending
from whygrad.why.engine import description
from whygrad.why.session import FOUND, Outputs, Session, write

# Seconds between two lines of progress; they double.
FIRST_PROGRESS = 4.0


class AuditSession(Session):
    """`ignore` has patterns of categories, `known` the findings of the baseline in `baseline_file`; `new_baseline` is the file to
    which the findings are written. The processes that the program starts leave their reports in `folder`."""

    def __init__(self, outputs: Outputs, *, program: str, steps: int, ignore: list[str], known: Counter[Key], baseline_file: str,
                 new_baseline: str | None, strict: bool, folder: str = "") -> None:
        super().__init__(outputs, strict=strict, steps=steps)
        self.folder = folder
        self.watch.audit.observes_all = True
        self.program = program
        self.ignore = ignore
        self.known = known
        self.baseline_folder = os.path.dirname(os.path.abspath(baseline_file))
        self.new_baseline = None if new_baseline is None else os.path.abspath(new_baseline)
        # What is reported, when it is: wrong and odd.
        self.found = 0
        self.odd = 0
        self._begun = time.monotonic()
        self._next_progress = FIRST_PROGRESS

    def _stepped(self, number: int) -> None:
        seconds = time.monotonic() - self._begun
        if seconds < self._next_progress or self.outputs.quiet:
            return
        self._next_progress = 2 * seconds
        with suppress(*terminal.STREAM_ERRORS):
            if terminal.stream().isatty():
                of = f" of {self.limit.steps}" if self.limit.steps else ""
                terminal.print_line(f"whygrad audit: step {number}{of}, after {seconds:.0f} s")

    def _report(self, answers: list[Answer], ended: Ending) -> None:
        reports = ranks.taken(self.folder)
        if reports:
            answers = [*answers, *ranks.compare(reports), *ranks.merged(reports)]
            self.outputs = replace(self.outputs, html=None)  # the ranks have written theirs
        for answer in answers:
            answer.explanation.odd |= answer.explanation.harmless
        ignored = [a for a in answers if any(fnmatch.fnmatchcase(a.explanation.category, pattern) for pattern in self.ignore)]
        rest = _without(answers, ignored)
        known = baseline.known(rest, self.known, self.baseline_folder)
        told = _without(rest, known)
        self.odd = sum(answer.explanation.odd for answer in told)
        self.found = len(told) - self.odd
        wrong = (self.found or (self.odd and self.strict)) and self.new_baseline is None
        self.status = ended.code if ended.is_final else 1 if ended.code else FOUND if wrong else 0
        implied = {check: cause for report in reports for check, cause in report.implied.items()}
        checks = check_list(self.watch, answers, [*ignored, *known], set().union(*[r.checks_seen for r in reports]), implied)
        steps = max([self.watch.audit.round, *[report.steps for report in reports]])
        parameters = max([len(self.watch.audit.parameters()), *[report.parameters for report in reports]])
        data: dict[str, Any] = {
            "program": self.program, "engine": description(), "ended": ended.words, "steps": steps, "parameters": parameters,
            "checks": [check.to_dict() for check in checks],
            "findings": [{"check": check_of(answer), **answer.to_dict()} for answer in told],
            "ignored": len(ignored), "in_baseline": len(known)}
        self.write_files(told, data, ended)
        if self.new_baseline is not None:
            write("--write-baseline", self.new_baseline, lambda path: baseline.write(path, rest))
        if not self.outputs.quiet:
            with suppress(*terminal.STREAM_ERRORS):
                sys.stdout.flush()
            terminal.print_check_list(f"whygrad audit: {self.program}", checks)
            terminal.print_failures([*self.watch.failures, *dict.fromkeys(f for report in reports for f in report.failures)])
            terminal.print_answers(told)
            terminal.print_line("\n" + self._summary(steps, parameters, len(ignored), len(known), ended.words))
        self.annotate(told)

    def _summary(self, steps: int, parameters: int, ignored: int, known: int, ended: str) -> str:
        if not steps:
            seen = "no step of an optimizer was seen"
        else:
            seen = f"{count_of(steps, 'step')} seen, {count_of(parameters, 'parameter')}"
        parts = [seen, count_of(self.found, "finding"), *([f"{self.odd} odd"] if self.odd else []),
                 *([f"{ignored} ignored"] if ignored else []), *([f"{known} in the baseline"] if known else []),
                 *([ended] if ended and not self.was_cut_short else [])]
        return f"whygrad audit: {', '.join(parts)}"


def _without(answers: list[Answer], some: list[Answer]) -> list[Answer]:
    return [answer for answer in answers if not any(answer is other for other in some)]
