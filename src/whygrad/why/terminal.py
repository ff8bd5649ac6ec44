"""Answers on standard error: plain text in a pipe; in a terminal colored, wrapped, with the expression underlined.

`NO_COLOR` and `FORCE_COLOR` are honored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from whygrad.why.answers import Answer
from whygrad.why.audit.check_list import Check
from whygrad.why.locations import SourceLocation
from whygrad.why.source_html import characters

# Above answers that are unusual rather than wrong.
ODD_HEADING = "Odd, but perhaps meant:"
# How each status of a check is shown: mark and style.
MARKS = {"passed": ("✓", "green"), "found": ("✗", "bold red"), "odd": ("!", "yellow"), "not seen": ("-", "dim"),
         "ignored": ("·", "dim")}
# Answers printed in full in a terminal; one line each for the others.
MAX_IN_FULL = 20
# Characters in a line of text, for readability.
MAX_WIDTH = 100
# Errors of streams that the program closed or replaced, or that a signal interrupted while they were written; they must not
# change how the program ends.
STREAM_ERRORS = (AttributeError, OSError, ValueError, RuntimeError)


# Standard error as it was when the session began: the program may redirect `sys.stderr`, even to its standard output.
_stream: Any = None


def print_to(stream: Any) -> None:
    """Print to this stream; to the present standard error if it is None."""
    global _stream
    _stream = stream


def stream() -> Any:
    return sys.stderr if _stream is None else _stream


class Prefixed:
    """A stream in which every line begins with a prefix."""

    def __init__(self, plain: Any, prefix: str) -> None:
        self._plain = plain
        self._prefix = prefix
        self._is_at_start = True

    def write(self, text: str) -> int:
        lines = text.splitlines(keepends=True)
        written = "".join([(self._prefix if self._is_at_start or i else "") + line for i, line in enumerate(lines)])
        if lines:
            self._is_at_start = lines[-1].endswith("\n")
        self._plain.write(written)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


def print_answer(answer: Answer) -> None:
    """Print one answer at once (`--live`)."""
    with suppress(*STREAM_ERRORS):
        console = make_console()
        if console is None:
            print(f"whygrad: {answer}", file=stream(), flush=True)
        else:
            _print_in_full(console, answer, "whygrad")


def print_answers(answers: Sequence[Answer]) -> None:
    """Print all answers at the end of the run."""
    with suppress(*STREAM_ERRORS):
        _print_answers(answers)


def print_check_list(title: str, checks: Sequence[Check]) -> None:
    """Print the check-list of an audit, grouped by subject."""
    with suppress(*STREAM_ERRORS):
        console = make_console()
        _print_heading(console, title)
        subject = ""
        for check in checks:
            if check.subject != subject:
                subject = check.subject
                _print_heading(console, subject, "bold cyan")
            _print_check(console, check)


def _print_check(console: Any, check: Check) -> None:
    told = ", ".join(check.categories) or (f"follows from {check.follows_from}" if check.follows_from else "")
    if console is None:
        print(f"  {check.status:<8}  {check.title}{f' [{told}]' if told else ''}", file=stream())
        return
    from rich.table import Table
    from rich.text import Text

    mark, style = MARKS[check.status]
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=12, no_wrap=True)
    grid.add_column()
    title = Text(check.title, style="dim" if check.status == "not seen" else "")
    if told:
        title.append(f"  [{told}]", style="yellow")
    grid.add_row(Text(f"  {mark} {check.status}", style=style), title)
    console.print(grid)


def print_line(text: str) -> None:
    with suppress(*STREAM_ERRORS):
        print(text, file=stream(), flush=True)


def print_failures(failures: Sequence[str]) -> None:
    """Print errors of the watch itself."""
    with suppress(*STREAM_ERRORS):
        for failure in failures:
            print(f"whygrad: a question could not be resolved ({failure})", file=stream())


def _print_answers(answers: Sequence[Answer]) -> None:
    """What is wrong, then what is odd under a heading of its own; numbered throughout."""
    console = make_console()
    odd = [answer for answer in answers if answer.explanation.odd]
    ordered = [answer for answer in answers if not answer.explanation.odd] + odd
    for number, answer in enumerate(ordered[:MAX_IN_FULL] if console is not None else ordered, 1):
        if odd and answer is odd[0]:
            _print_heading(console, ODD_HEADING)
        if console is None:
            print(f"\nwhygrad [{number} of {len(answers)}] {answer}", file=stream())
        else:
            _print_in_full(console, answer, f"whygrad {number} of {len(answers)}")
    rest = ordered[MAX_IN_FULL:] if console is not None else []
    if rest:
        from rich.text import Text

        console.print(Text(f"\n{len(rest)} more; --json FILE or --html FILE has them in full:", style="bold"))
        for answer in rest:
            where = f"  {_short(answer.location)}  "
            console.print(Text.assemble((_printable(where), "dim"), (f"[{answer.explanation.category}]  ", "yellow"),
                                        ("(odd)  " if answer.explanation.odd else "", "dim"),
                                        _printable(answer.location.expression)), no_wrap=True, overflow="ellipsis")


def _print_heading(console: Any, text: str, style: str = "bold") -> None:
    if console is None:
        print(f"\n{text}", file=stream())
        return
    from rich.text import Text

    console.print(Text(f"\n{_printable(text)}", style=style))


def make_console() -> Any:
    """A rich console on standard error; None for plain text."""
    file = stream()
    try:
        if not (file.isatty() or os.environ.get("FORCE_COLOR")):
            return None
        from rich.console import Console

        console = Console(file=file, highlight=False, soft_wrap=False, force_terminal=True,
                          no_color=bool(os.environ.get("NO_COLOR")), legacy_windows=False)
        if console.width > MAX_WIDTH:
            console.width = MAX_WIDTH
        return console
    except (ImportError, *STREAM_ERRORS):
        return None


def _print_in_full(console: Any, answer: Answer, title: str) -> None:
    """Print one answer in full."""
    from rich.rule import Rule
    from rich.text import Text

    explanation = answer.explanation
    console.print()
    heading = Text.assemble((title, "bold cyan"), ("  " + _printable(answer.of_ranks + _near(answer.location)), "dim"))
    console.print(Rule(heading, align="left", style="dim"))
    console.print(Text.assemble((_printable(explanation.headline), "bold"), "  ", (f"[{explanation.category}]", "yellow")))
    _excerpt(console, answer.location, "     ", "cyan")
    console.print()
    concerned = explanation.concerned()
    _entry(console, "why", "bold", _prose(explanation.text + (f"\nIt concerns {concerned}." if concerned else "")))
    for cause in explanation.causes:
        if cause != answer.location:
            console.print()
            _excerpt(console, cause, "cause", "red")
    if explanation.path or explanation.fix:
        console.print()
    if explanation.path:
        _entry(console, "path", "dim", Text(" → ".join(explanation.path), style="dim"))
    if explanation.fix:
        _entry(console, "fix", "bold green", _prose(explanation.fix))
    edit = explanation.edit
    for what, new in edit.changes() if edit is not None else ():
        between = "\n" if "\n" in new else "  "
        _entry(console, "", "", Text.assemble((what + between, "dim"), (_printable(new), "green")))


def _near(location: SourceLocation) -> str:
    """A location, its file relative to the working directory."""
    here = os.getcwd() + os.sep
    return str(location).removeprefix(here)


def _short(location: SourceLocation) -> str:
    """The file without its folder, and the line if there is one."""
    return f"{os.path.basename(location.file)}{f':{location.line}' if location.line > 0 else ''}"


def _entry(console: Any, label: str, style: str, text: Any) -> None:
    """Print a label and, beside it, a wrapped text."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=5, no_wrap=True)
    grid.add_column()
    grid.add_row(Text(label, style=style), text)
    console.print(grid)


def _printable(text: str) -> str:
    """Text without control characters, which must not reach the terminal."""
    return "".join([" " if x == "\t" else x if x.isprintable() or x == "\n" else "\ufffd" for x in text])


def _prose(text: str) -> Any:
    """Text with `code` in bold."""
    from rich.text import Text

    result = Text()
    for number, piece in enumerate(_printable(text).split("`")):
        result.append(piece, style="bold" if number % 2 else "")
    return result


def _excerpt(console: Any, location: SourceLocation, label: str, colour: str) -> None:
    """Print the line of a location with the expression underlined."""
    from rich.cells import cell_len
    from rich.text import Text

    line = location.source_line
    margin = f"{label}  {_printable(_short(location))} │ "
    if not line.strip():
        console.print(Text.assemble((margin, "dim"), _printable(location.shown())))
        return
    start, end = _span(location, line)
    indent = len(line) - len(line.lstrip())
    text, start, end = _printable(line.strip()), max(start - indent, 0), end - indent
    room = max(console.width - len(margin), 20)
    if len(text) > room:  # cut so that the expression stays visible
        first = max(0, min(start - 8, len(text) - room))
        text, start, end = text[first:first + room], start - first, min(end - first, room)
    code = Text(text)
    code.stylize(f"bold {colour} underline", start, end)
    console.print(Text.assemble((margin, "dim"), code), no_wrap=True, overflow="crop")
    before, under = cell_len(margin + text[:start]), cell_len(text[start:end])
    console.print(Text(" " * before + "^" * max(under, 1), style=colour), no_wrap=True, overflow="crop")


def _span(location: SourceLocation, line: str) -> tuple[int, int]:
    """First and last character of the expression in its (first) line."""
    if not location.expression:
        return len(line) - len(line.lstrip()), len(line)
    start = characters(line, location.column)
    end = characters(line, location.end_column) if location.end_line == location.line else len(line)
    return (start, end) if start < end else (len(line) - len(line.lstrip()), len(line))
