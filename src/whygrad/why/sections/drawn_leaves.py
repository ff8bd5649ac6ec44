"""What the leaves of the drawings mean for the verdict: which answers are about them, and which are in no answer.

A drawing shows one backward pass; an answer is about the whole run. A leaf that this pass leaves out but another one reaches
gets a state of its own, so that a drawing does not show as a problem what is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from whygrad.why.answers import Answer
from whygrad.why.audit.finding import listed
from whygrad.why.graph_snapshot import CUT, ELSEWHERE, FLOWS, NAN, NOTHING, ZERO, GraphSnapshot, Link
from whygrad.why.html_watch import DrawnBackward
from whygrad.why.locations import locate
from whygrad.why.run_facts import ledger_of

# States of a leaf that call for a reason.
SUSPICIOUS = {CUT: "cut off from the loss", ZERO: "with gradients of zeros only", NAN: "with gradients that are not finite",
              NOTHING: "without a gradient"}

# Why such a leaf may be in no answer.
REASONS = {
    "held": "an optimizer holds {them}, but too little was seen to call it wrong",
    "not held": "no optimizer holds {them}, so nothing here was meant to train {them}",
    "left out": "what was found is not shown here",
    "no optimizer": "the run has no optimizer, so it is not known what was meant to be trained",
}


@dataclass
class DrawnLeaves:
    # For each backward pass, the numbers of the answers that are about a leaf, by item.
    told: list[dict[int, list[int]]]
    # Names of leaves that look suspicious and are in no answer, by (state, key of REASONS).
    unexplained: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def count(self, *, meant: bool) -> int:
        """How many leaves are in no answer because nothing was meant to train them (`meant`), or for another reason."""
        return sum(len(names) for (_, reason), names in self.unexplained.items() if (reason == "not held") == meant)

    def remarks(self) -> Iterator[str]:
        """A sentence for each kind of unexplained leaf."""
        for (state, reason), names in self.unexplained.items():
            be, them = ("is", "it") if len(names) == 1 else ("are", "them")
            why = REASONS[reason].format(them=them)
            yield f"{listed(names)} {be} drawn {SUSPICIOUS[state]}; no answer is about {them}: {why}."


def settle(backwards: Sequence[DrawnBackward], shown: Sequence[Answer], left_out: Sequence[Answer], watch: Any) -> DrawnLeaves:
    """Name the leaves, set their states by what happened in the whole run, and match them with the answers."""
    found = DrawnLeaves([{} for _ in backwards])
    if watch is None:
        return found
    held = {id(p) for p in watch.audit.parameters()}
    answers = [*shown, *left_out]
    by_name = answers_by_name(answers)
    for backward, told in zip(backwards, found.told, strict=True):
        snapshot = backward.snapshot
        caused = _spoiled_by(snapshot, answers)
        for number, reference in snapshot.leaves.items():
            leaf, item = reference(), snapshot.items[number]
            if leaf is None:
                continue
            ledger = ledger_of(leaf)
            name = watch.audit.name_of(leaf)
            item.label = item.label or name
            numbers = {*by_name.get(name, ()), *caused.get(number, ())}
            visible = sorted(n for n in numbers if n < len(shown))
            if visible:
                told[number] = visible
            elif not numbers and item.state in (CUT, ZERO, NOTHING) and ledger is not None and ledger.last_nonzero:
                item.state = ELSEWHERE
            elif item.state in SUSPICIOUS and leaf.requires_grad and (numbers or leaf not in watch.explained):
                reason = "left out" if numbers else "held" if id(leaf) in held else "not held" if held else "no optimizer"
                names = found.unexplained.setdefault((item.state, reason), [])
                label = item.label or f"a leaf of shape {item.shape}"
                if label not in names:
                    names.append(label)
        _settle_cuts(snapshot)
    return found


def answers_by_name(answers: Sequence[Answer]) -> dict[str, list[int]]:
    """The numbers of the answers that concern a parameter, by its name."""
    found: dict[str, list[int]] = {}
    for number, answer in enumerate(answers):
        for name in answer.explanation.parameters:
            found.setdefault(name, []).append(number)
    return found


def _settle_cuts(snapshot: GraphSnapshot) -> None:
    """A cut whose leaves are all reached on another path is no problem either."""
    behind: dict[int, list[Link]] = {}
    for link in snapshot.links:
        behind.setdefault(link.source, []).append(link)
    for number, item in enumerate(snapshot.items):
        links = behind.get(number, [])
        if item.kind == "cut" and item.state == CUT and links and all(
                snapshot.items[link.target].state in (ELSEWHERE, FLOWS) for link in links):
            item.state = ELSEWHERE
            for link in links:
                link.state = ELSEWHERE


def _spoiled_by(snapshot: GraphSnapshot, answers: Sequence[Answer]) -> dict[int, list[int]]:
    """The answers whose causes made the gradient of a leaf suspicious, by item of the leaf."""
    below: dict[int, list[int]] = {}
    for link in snapshot.links:
        if link.state in SUSPICIOUS:
            below.setdefault(link.source, []).append(link.target)
    by_line: dict[tuple[str, int], list[int]] = {}
    for number in below:
        where = locate(snapshot.items[number].site)
        if where is not None:
            by_line.setdefault((where.file, where.line), []).append(number)
    found: dict[int, list[int]] = {}
    for number, answer in enumerate(answers):
        pending = [item for cause in answer.explanation.causes for item in by_line.get((cause.file, cause.line), ())]
        seen = set(pending)
        while pending:
            for target in below.get(pending.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        for item in seen:
            if snapshot.items[item].kind == "leaf" and snapshot.items[item].state in SUSPICIOUS:
                found.setdefault(item, []).append(number)
    return found
