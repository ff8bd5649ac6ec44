"""Answers on standard error: plain when piped; in a terminal coloured, folded to its width, with the guilty expression
underlined in its line. `NO_COLOR` is honoured, and `FORCE_COLOR` for who wants colours in a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from whygrad.why.answers import Answer, Explanation
from whygrad.why.places import Place
from whygrad.why.source_view import characters

# So many answers are told in full in a terminal; of the others one line says where to look.
IN_FULL = 20
# A text is read more easily if its lines are not longer than this.
WIDEST = 100
# A program may have closed its streams, or put something of its own in their place; that must not change how it ends.
UNUSABLE = (AttributeError, OSError, ValueError)


def tell_one(answer: Answer) -> None:
    """As it happens (`--live`)."""
    with suppress(*UNUSABLE):
        console = make_console()
        if console is None:
            print(f"whygrad: {answer}", file=sys.stderr, flush=True)
        else:
            show(console, answer, "whygrad")


def tell_all(answers: Sequence[Answer]) -> None:
    """At the end."""
    with suppress(*UNUSABLE):
        _tell_all(answers)


def tell_failures(failures: Sequence[str]) -> None:
    """Questions that the watch could not answer for a fault of its own."""
    with suppress(*UNUSABLE):
        for failure in failures:
            print(f"whygrad: a question could not be resolved ({failure})", file=sys.stderr)


def _tell_all(answers: Sequence[Answer]) -> None:
    console = make_console()
    if console is None:
        for number, answer in enumerate(answers, 1):
            print(f"\nwhygrad [{number} of {len(answers)}] {answer}", file=sys.stderr)
        return
    for number, answer in enumerate(answers[:IN_FULL], 1):
        show(console, answer, f"whygrad {number} of {len(answers)}")
    rest = answers[IN_FULL:]
    if rest:
        from rich.text import Text

        console.print(Text(f"\n{len(rest)} more; --json FILE or --html FILE has them in full:", style="bold"))
        for answer in rest:
            where = f"  {os.path.basename(answer.place.file)}:{answer.place.line}  "
            console.print(Text.assemble((_shown(where), "dim"), (f"[{answer.explanation.category}]  ", "yellow"),
                                        _shown(answer.place.expression)), no_wrap=True, overflow="ellipsis")


def make_console() -> Any:
    """A rich console on standard error, or None if plain text is wanted (or all that can be had)."""
    stream = sys.stderr
    try:
        if not (stream.isatty() or os.environ.get("FORCE_COLOR")):
            return None
        from rich.console import Console

        console = Console(file=stream, highlight=False, soft_wrap=False, force_terminal=True,
                          no_color=bool(os.environ.get("NO_COLOR")), legacy_windows=False)
        if console.width > WIDEST:
            console.width = WIDEST
        return console
    except (ImportError, *UNUSABLE):
        return None


def show(console: Any, answer: Answer, title: str) -> None:
    """One answer in full."""
    from rich.rule import Rule
    from rich.text import Text

    told = answer.explanation
    console.print()
    heading = Text.assemble((title, "bold cyan"), ("  " + _shown(_near(answer.place)), "dim"))
    console.print(Rule(heading, align="left", style="dim"))
    console.print(Text.assemble((_shown(headline(told)), "bold"), "  ", (f"[{told.category}]", "yellow")))
    _excerpt(console, answer.place, "     ", "cyan")
    console.print()
    _entry(console, "why", "bold", _prose(told.text))
    for cause in told.causes:
        if cause != answer.place:
            console.print()
            _excerpt(console, cause, "cause", "red")
    if told.path or told.fix:
        console.print()
    if told.path:
        _entry(console, "path", "dim", Text(" → ".join(told.path), style="dim"))
    if told.fix:
        _entry(console, "fix", "bold green", _prose(told.fix))
    edit = told.edit
    for what, new in edit.changes() if edit is not None else ():
        between = "\n" if "\n" in new else "  "
        _entry(console, "", "", Text.assemble((what + between, "dim"), (_shown(new), "green")))


def headline(told: Explanation) -> str:
    """What is seen, in words."""
    words: str = getattr(told, "headline", told.symptom)
    return words


def _near(place: Place) -> str:
    """A place, its file named as seen from here."""
    here = os.getcwd() + os.sep
    return str(place).removeprefix(here)


def _entry(console: Any, label: str, style: str, text: Any) -> None:
    """A label, and beside it a text folded to what is left of the width."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=5, no_wrap=True)
    grid.add_column()
    grid.add_row(Text(label, style=style), text)
    console.print(grid)


def _shown(text: str) -> str:
    """Text of a program that may hold anything: control characters must not reach the terminal."""
    return "".join([" " if x == "\t" else x if x.isprintable() or x == "\n" else "\ufffd" for x in text])


def _prose(text: str) -> Any:
    """Text in which `code` stands out."""
    from rich.text import Text

    result = Text()
    for number, piece in enumerate(_shown(text).split("`")):
        result.append(piece, style="bold" if number % 2 else "")
    return result


def _excerpt(console: Any, place: Place, label: str, colour: str) -> None:
    """The line of a place with the expression underlined."""
    from rich.cells import cell_len
    from rich.text import Text

    line = place.source_line
    margin = f"{label}  {_shown(os.path.basename(place.file))}:{place.line} │ "
    if not line.strip():
        console.print(Text.assemble((margin, "dim"), _shown(place.expression) or "(source not available)"))
        return
    start, end = _span(place, line)
    indent = len(line) - len(line.lstrip())
    text, start, end = _shown(line.strip()), max(start - indent, 0), end - indent
    room = max(console.width - len(margin), 20)
    if len(text) > room:  # keep the expression in sight
        first = max(0, min(start - 8, len(text) - room))
        text, start, end = text[first:first + room], start - first, min(end - first, room)
    code = Text(text)
    code.stylize(f"bold {colour} underline", start, end)
    console.print(Text.assemble((margin, "dim"), code), no_wrap=True, overflow="crop")
    before, under = cell_len(margin + text[:start]), cell_len(text[start:end])
    console.print(Text(" " * before + "^" * max(under, 1), style=colour), no_wrap=True, overflow="crop")


def _span(place: Place, line: str) -> tuple[int, int]:
    """First and last character of the expression in its (first) line."""
    if not place.expression:
        return len(line) - len(line.lstrip()), len(line)
    start = characters(line, place.column)
    end = characters(line, place.end_column) if place.end_line == place.line else len(line)
    return (start, end) if start < end else (len(line) - len(line.lstrip()), len(line))
