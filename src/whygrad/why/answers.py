"""What an explanation is."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from whygrad.why.places import Place, shortened


@dataclass
class Edit:
    """A mechanical change of the source: line `line` of `file` becomes `new`, which may be several lines, or "": it goes.

    Where one line is not enough, `also` has the changes of the other lines (numbered as they are before any change).
    """

    file: str
    line: int
    new: str
    also: list[Edit] = field(default_factory=list)

    def changes(self) -> list[tuple[str, str]]:
        """What happens to each line, to be shown: ("line 7 becomes", the new text), in the order of the lines."""
        ordered = sorted([self, *self.also], key=lambda edit: edit.line)
        return [(f"line {edit.line} becomes" if edit.new else f"line {edit.line} goes", edit.new) for edit in ordered]

    def to_dict(self) -> dict[str, Any]:
        own = {"file": self.file, "line": self.line, "new": self.new}
        return {**own, "also": [edit.to_dict() for edit in self.also]} if self.also else own


@dataclass
class Explanation:
    """An answer: what is seen, why, where, and what to do about it."""

    # What is seen, in words; `symptom` says it in one: none, zero, partly-zero, nan, wrong-value, stale, unwanted,
    # not-tracked, no-update, error or ok.
    headline: str
    category: str
    text: str
    fix: str = ""
    causes: list[Place] = field(default_factory=list)
    # The ops from the tensor towards the loss, up to where the path is cut.
    path: list[str] = field(default_factory=list)
    # An edit that whoever explains knows already; else it is worked out from the source.
    known_edit: Edit | None = None
    # The puzzling read or the raising call, and the last backward() before it, where they are known.
    read: Place | None = field(default=None, repr=False, compare=False)
    backward: Place | None = field(default=None, repr=False, compare=False)
    symptom: str = "none"
    # Worth knowing, but what the program does may well be meant: there is nothing to mend.
    harmless: bool = False

    @property
    def edit(self) -> Edit | None:
        """The change of the source that mends it, where that is mechanical; worked out when asked for."""
        return next(iter(self.edits()), None)

    def edits(self) -> list[Edit]:
        """Changes of the source that may mend it, the likeliest first."""
        if self.known_edit is not None:
            return [self.known_edit]
        if self.harmless:
            return []
        from whygrad.why.edits import edits_for

        try:
            return edits_for(self)
        except Exception:  # an answer without an edit is better than none
            return []

    def __str__(self) -> str:
        lines = [f"{self.headline} [{self.category}]", self.text]
        for cause in self.causes:
            lines.append(f"  {cause}: {cause.shown()}")
        if self.path:
            lines.append("  path: " + " -> ".join(self.path))
        if self.fix:
            lines.append(f"Fix: {self.fix}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rest = str(self).split("\n")
        return f"<div><b>{html.escape(head)}</b><pre>{html.escape(chr(10).join(rest))}</pre></div>"

    def to_dict(self) -> dict[str, Any]:
        edit = self.edit
        return {"symptom": self.symptom, "headline": self.headline, "category": self.category, "text": self.text, "fix": self.fix,
                "path": self.path,
                "causes": [{"file": c.file, "line": c.line, "column": c.column, "end_line": c.end_line,
                            "end_column": c.end_column, "function": c.function, "expression": c.expression}
                           for c in self.causes],
                "edit": None if edit is None else edit.to_dict()}


@dataclass
class Answer:
    """An explanation of something that a program did at one place: a puzzling read, or a call that raised."""

    place: Place
    explanation: Explanation
    # Answers are told in the order in which the program ran into what they are about.
    moment: int = 0

    def __post_init__(self) -> None:
        from whygrad.core.modes import process_state
        from whygrad.why.places import place

        last = process_state.last_backward
        self.explanation.read = self.place
        if self.explanation.backward is None:  # an answer that had to wait knows it already
            self.explanation.backward = None if last is None else place(last.site)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` writes it."""
        told = self.explanation.to_dict()
        return {"symptom": told["symptom"], "expression": self.place.expression, "file": self.place.file,
                "line": self.place.line, "category": told["category"],
                "causes": [{"file": c["file"], "line": c["line"], "expression": c["expression"]} for c in told["causes"]],
                "text": told["text"], "fix": told["fix"], "edit": told["edit"]}

    def __str__(self) -> str:
        told = self.explanation
        lines = [f"{self.place}: {self.place.shown()}", f"  {told.headline} [{told.category}]", f"  {told.text}"]
        lines += [f"    cause: {cause}: {cause.shown()}" for cause in told.causes]
        if told.fix:
            lines.append(f"  fix: {told.fix}")
        edit = told.edit
        for what, new in edit.changes() if edit is not None else ():
            lines += [f"    {what}{':' if new else ''}", *(f"      {shortened(line)}" for line in new.splitlines())]
        return "\n".join(lines)
