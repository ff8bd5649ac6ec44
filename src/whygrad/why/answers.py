"""Explanations, the edits that may fix what they explain, and answers (an explanation of one location)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from whygrad.why import engine
from whygrad.why.engine import last_backward
from whygrad.why.locations import SourceLocation, locate, location_of_line, shortened

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def escaped(text: str) -> str:
    """As html.escape, whose module takes 1 ms to load."""
    return text.translate(_HTML)


@dataclass
class Edit:
    """A change of the source: line `line` of `file` is replaced by `new` (possibly several lines), or deleted if `new` is "".

    `also` has the changes of further lines; all line numbers are those of the unchanged file.
    """

    file: str
    line: int
    new: str
    also: list[Edit] = field(default_factory=list)

    def changes(self) -> list[tuple[str, str]]:
        """The changes in order of lines, for display: ("line 7 becomes", the new text)."""
        ordered = sorted([self, *self.also], key=lambda edit: edit.line)
        return [(f"{location_of_line(edit.file, edit.line).place} {'becomes' if edit.new else 'goes'}", edit.new)
                for edit in ordered]

    def to_dict(self) -> dict[str, Any]:
        own = {"file": self.file, "line": self.line, "new": self.new}
        return {**own, "also": [edit.to_dict() for edit in self.also]} if self.also else own


@dataclass(repr=False)
class Explanation:
    """What was observed, why, where, and how to fix it."""

    # The observation in words; `symptom` is its kind: none, zero, partly-zero, nan, wrong-value, stale, unwanted,
    # not-tracked, no-update, error or ok.
    headline: str
    category: str
    text: str
    fix: str = ""
    causes: list[SourceLocation] = field(default_factory=list)
    # The ops from the tensor towards the loss, up to where the path is cut.
    path: list[str] = field(default_factory=list)
    # An edit given by the rule itself; otherwise fixers derive edits from the source.
    known_edit: Edit | None = None
    # The read or the raising call that is explained, and the last backward() before it, if known.
    read: SourceLocation | None = field(default=None, repr=False, compare=False)
    backward: SourceLocation | None = field(default=None, repr=False, compare=False)
    symptom: str = "none"
    # True if the program may well do this on purpose: there is nothing to fix.
    harmless: bool = False
    # Names of the parameters that it concerns; and whether it is unusual rather than wrong (findings of the audit).
    parameters: list[str] = field(default_factory=list)
    odd: bool = False
    # The line of the audit's check-list that it belongs to; "" if a rule found it.
    check: str = ""

    @property
    def edit(self) -> Edit | None:
        """The likeliest edit, or None; computed on each access."""
        return next(iter(self.edits()), None)

    def concerned(self) -> str:
        """How many parameters it concerns, and which ("4 parameters: `a`, `b` and 2 more"), unless they are named already."""
        from whygrad.why.audit.finding import count_of, listed

        is_known = all(f"`{name}`" in self.text for name in self.parameters) or (len(self.parameters) == 1 and not self.check)
        return "" if is_known else f"{count_of(len(self.parameters), 'parameter')}: {listed(self.parameters)}"

    def edits(self) -> list[Edit]:
        """Edits that may fix it, the likeliest first."""
        if self.known_edit is not None:
            return [self.known_edit]
        if self.harmless:
            return []
        from whygrad.why.edits import edits_for

        try:
            return edits_for(self)
        except Exception:  # a failing fixer must not cost the answer
            return []

    def __str__(self) -> str:
        concerned = self.concerned()
        lines = [f"{self.headline} [{self.category}]", self.text, *([f"It concerns {concerned}."] if concerned else [])]
        for cause in self.causes:
            lines.append(f"  {cause}: {cause.shown()}")
        if self.path:
            lines.append("  path: " + " -> ".join(self.path))
        if self.fix:
            lines.append(f"Fix: {self.fix}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        head, *rest = str(self).split("\n")
        return f"<div><b>{escaped(head)}</b><pre>{escaped(chr(10).join(rest))}</pre></div>"

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
    """The explanation of one location of the program: a read, or a call that raised."""

    location: SourceLocation
    explanation: Explanation
    # Position in the order of the program's events; answers are reported in this order.
    moment: int = 0
    # The processes of a distributed program that it is about; [] if there is one only.
    ranks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        last = last_backward()
        self.explanation.read = self.location
        if self.explanation.backward is None:  # a provisional answer has it from the time of the read
            self.explanation.backward = None if last is None else locate(last.site)

    @property
    def of_ranks(self) -> str:
        """ "[rank 1] ", "[ranks 0, 1] " or ""."""
        if not self.ranks:
            return ""
        return f"[rank{'s' if len(self.ranks) > 1 else ''} {', '.join(map(str, self.ranks))}] "

    def to_dict(self) -> dict[str, Any]:
        """The entry that `--json` writes."""
        fields = self.explanation.to_dict()
        return {"symptom": fields["symptom"], "headline": fields["headline"], "expression": self.location.expression,
                "file": self.location.file, "line": self.location.line, "category": fields["category"],
                "causes": [{"file": c["file"], "line": c["line"], "expression": c["expression"]} for c in fields["causes"]],
                "text": fields["text"], "fix": fields["fix"], "edit": fields["edit"],
                "parameters": self.explanation.parameters, "odd": self.explanation.odd, "engine": engine.current.name}

    def __str__(self) -> str:
        explanation = self.explanation
        lines = [f"{self.of_ranks}{self.location}: {self.location.shown()}", f"  {explanation.headline} [{explanation.category}]",
                 f"  {explanation.text}"]
        concerned = explanation.concerned()
        lines += [f"    concerns {concerned}"] if concerned else []
        lines += [f"    cause: {cause}: {cause.shown()}" for cause in explanation.causes]
        if explanation.fix:
            lines.append(f"  fix: {explanation.fix}")
        edit = explanation.edit
        for what, new in edit.changes() if edit is not None else ():
            lines += [f"    {what}{':' if new else ''}", *(f"      {shortened(line)}" for line in new.splitlines())]
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        where = escaped(f"{self.location}: {self.location.shown()}")
        return f"<div><code>{where}</code>{self.explanation._repr_html_()}</div>"


class Answers(list[Answer]):
    """The answers of a run; shown in full, what is only odd last."""

    def _ordered(self) -> list[Answer]:
        return sorted(self, key=lambda answer: answer.explanation.odd)

    def __str__(self) -> str:
        texts = [f"{'(odd, but perhaps meant) ' if answer.explanation.odd else ''}{answer}" for answer in self._ordered()]
        return "\n\n".join(texts) or "nothing to explain"

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return "".join(answer._repr_html_() for answer in self._ordered()) or "<div>nothing to explain</div>"
