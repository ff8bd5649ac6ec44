"""Programs that run in several processes (ranks): each watches itself, and the process that started them prints the answers.

A rank leaves its answers in a folder. They are printed together at the end of the run, those that several ranks have only once.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from whygrad.why import engine, terminal
from whygrad.why.answers import Answer
from whygrad.why.audit.subjects.replicas import RankFacts, Replicas
from whygrad.why.ending import Ending
from whygrad.why.rank_comparison import comparison
from whygrad.why.sections.verdict import is_odd
from whygrad.why.session import FOUND, Outputs, Session


@dataclass
class RankReport:
    """What one rank has found, and the errors of its watch; what is compared with other ranks; and for the check-list of an audit
    how much there was to look at."""

    rank: int
    answers: list[Answer]
    failures: list[str]
    facts: RankFacts = field(default_factory=RankFacts)
    checks_seen: set[str] = field(default_factory=set)
    implied: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    parameters: int = 0


def rank_of_environment(is_launched: bool) -> int | None:
    """The rank that a launcher has given to this process; None if it is alone, and not launched by `whygrad run`."""
    try:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None
    return rank if size > 1 or is_launched else None


def outputs_of_rank(outputs: Outputs, rank: int | str) -> Outputs:
    """`--json answers.json` is answers.rank1.json for rank 1; rank 0 keeps the name."""
    if rank == 0:
        return outputs
    name = f"rank{rank}" if isinstance(rank, int) else rank

    def renamed(path: str | None) -> str | None:
        if path is None:
            return None
        stem, suffix = os.path.splitext(path)
        return f"{stem}.{name}{suffix}"

    return replace(outputs, json=renamed(outputs.json), html=renamed(outputs.html), sarif=renamed(outputs.sarif))


class RankSession(Session):
    """The session of one rank. Its answers go to `folder`; without one it prints them itself, each line with its rank."""

    def __init__(self, outputs: Outputs, rank: int, folder: str = "", observes_all: bool = False, **options: Any) -> None:
        super().__init__(outputs_of_rank(outputs, rank), **options)
        self.watch.audit.observes_all = observes_all
        self.watch.audit.subject(Replicas).is_compared = bool(folder)
        self.rank = rank
        self.folder = folder
        terminal.print_to(terminal.Prefixed(terminal.stream(), f"[rank {rank}] "))

    def _report(self, answers: list[Answer], ended: Ending) -> None:
        if not self.folder:
            super()._report(answers, ended)
            return
        # A process that trains nothing is no rank: what it was started for does not matter here.
        if not (answers or self.watch.failures or engine.count_backwards()):
            self.status = ended.code
            return
        self.status = ended.code
        self.write_files(answers, [answer.to_dict() for answer in answers], ended)
        try:
            leave(self.folder, self._own_report(answers))
        except OSError:  # the process that would print them is gone
            super()._report(answers, ended)


    def _own_report(self, answers: list[Answer]) -> RankReport:
        audit = self.watch.audit
        seen = {check for subject in audit.subjects for check in subject.checks if audit.was_seen(subject, check)}
        return RankReport(self.rank, answers, list(self.watch.failures), audit.subject(Replicas).facts, seen, audit.implied,
                          audit.round, len(audit.parameters()))


class LauncherSession(Session):
    """The session of a process that may start ranks."""

    def __init__(self, outputs: Outputs, **options: Any) -> None:
        super().__init__(outputs, **options)
        self.folder = new_folder()

    def _report(self, answers: list[Answer], ended: Ending) -> None:
        reports = taken(self.folder)
        if not reports:
            super()._report(answers, ended)
            return
        compared = compare(reports)
        answers = [*answers, *[answer for answer in compared if self.wanted(answer)]]
        both = [*answers, *merged(reports)]
        found = self.strict and not all(is_odd(answer) for answer in both)
        self.status = FOUND if found and not (ended.code or ended.is_final) else ended.code
        if answers:  # the ranks have written their own
            self.outputs = outputs_of_rank(self.outputs, "launcher")
            self.write_files(answers, [answer.to_dict() for answer in answers], ended)
        if not self.outputs.quiet:
            terminal.print_failures([*self.watch.failures, *dict.fromkeys(f for report in reports for f in report.failures)])
            if not self.live:
                terminal.print_answers(both)
        self.annotate(both)


def new_folder() -> str:
    return tempfile.mkdtemp(prefix="whygrad-ranks-")


def leave(folder: str, report: RankReport) -> None:
    """It is complete when it has its name."""
    path = Path(folder, f"{report.rank}.pickle")
    Path(f"{path}.part").write_bytes(pickle.dumps(report))
    os.replace(f"{path}.part", path)


def taken(folder: str) -> list[RankReport]:
    """The reports that were left in a folder, which is removed."""
    reports = collect(folder) if folder else []
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    return reports


def collect(folder: str) -> list[RankReport]:
    reports = []
    for path in Path(folder).glob("*.pickle"):
        with suppress(OSError, pickle.UnpicklingError, EOFError):
            reports.append(pickle.loads(path.read_bytes()))
    return sorted(reports, key=lambda report: report.rank)


def compare(reports: list[RankReport]) -> list[Answer]:
    """What shows between the ranks only."""
    found = [answer.explanation for report in reports for answer in report.answers]
    told = {words for explanation in found for words in (explanation.category, explanation.symptom)}
    return comparison({report.rank: report.facts for report in reports}, told)


def merged(reports: Iterable[RankReport]) -> list[Answer]:
    """The answers of all ranks: one for what several ranks say of the same line."""
    by_place: dict[Any, Answer] = {}
    for report in reports:
        for answer in report.answers:
            said = answer.explanation
            key = (answer.location.where, answer.location.expression, said.category, tuple([c.where for c in said.causes]))
            by_place.setdefault(key, answer).ranks.append(report.rank)
    return list(by_place.values())
