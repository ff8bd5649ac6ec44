"""Answers on standard error: plain when piped; in a terminal coloured, folded to its width, with the guilty expression
underlined in its line. `NO_COLOR` is honoured, and `FORCE_COLOR` for who wants colours in a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from whygrad.why.answers import Answer
from whygrad.why.places import Place
from whygrad.why.source_view import characters

_whygrad_internal_ = True

# So many answers are told in full in a terminal; of the others one line says where to look.
IN_FULL = 20
# A text is read more easily if its lines are not longer than this.
WIDEST = 100


def tell_one(answer: Answer) -> None:
    """As it happens (`--live`)."""
    console = make_console()
    if console is None:
        print(f"whygrad: {answer}", file=sys.stderr, flush=True)
    else:
        show(console, answer, "whygrad")


def tell_all(answers: Sequence[Answer]) -> None:
    """At the end."""
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

        console.print(Text(f"\n{len(rest)} more; --json=FILE or --html=FILE has them in full:", style="bold"))
        for answer in rest:
            console.print(Text.assemble("  ", (str(answer.place), "dim"), f"  {answer.place.expression}  ",
                                        (f"[{answer.explanation.category}]", "yellow")), no_wrap=True, overflow="ellipsis")


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
    except (ImportError, AttributeError, ValueError, OSError):
        # No rich, or the program has replaced or closed its streams.
        return None


def show(console: Any, answer: Answer, title: str) -> None:
    """One answer in full."""
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    told = answer.explanation
    console.print()
    console.print(Rule(Text.assemble((title, "bold cyan"), ("  " + str(answer.place), "dim")), align="left", style="dim"))
    console.print(Text.assemble((told.symptom, "bold"), "  ", (f"[{told.category}]", "yellow")))
    _excerpt(console, answer.place, "cyan")
    console.print(Padding(_prose(told.text), (1, 0, 0, 0)))
    for cause in told.causes:
        if cause != answer.place:
            _excerpt(console, cause, "red", heading="cause")
    if told.path:
        console.print(Padding(Text("path  " + " → ".join(told.path), style="dim"), (1, 0, 0, 0)))
    if told.fix:
        console.print(Padding(Text.assemble(("fix   ", "bold green"), _prose(told.fix)), (1, 0, 0, 0)))
    if told.edit is not None:
        console.print(Text.assemble((f"      line {told.edit.line}: ", "dim"), (told.edit.new, "green")))


def _prose(text: str) -> Any:
    """Text in which `code` stands out."""
    from rich.text import Text

    result = Text()
    for number, piece in enumerate(text.split("`")):
        result.append(piece, style="bold" if number % 2 else "")
    return result


def _excerpt(console: Any, place: Place, colour: str, heading: str = "") -> None:
    """The line of a place with the expression underlined."""
    from rich.text import Text

    line = place.source_line
    if heading:
        console.print()
    where = f"{os.path.basename(place.file)}:{place.line}"
    margin = f"{heading + '  ' if heading else '  '}{where} │ "
    if not line.strip():
        console.print(Text.assemble((margin, "dim"), place.expression or "(the source is not to be had)"))
        return
    start, end = _span(place, line)
    indent = len(line) - len(line.lstrip())
    text, start, end = line.strip(), max(start - indent, 0), end - indent
    room = max(console.width - len(margin), 20)
    if len(text) > room:  # keep the expression in sight
        first = max(0, min(start - 8, len(text) - room))
        text, start, end = text[first:first + room], start - first, min(end - first, room)
    code = Text(text)
    code.stylize(f"bold {colour} underline", start, end)
    console.print(Text.assemble((margin, "dim"), code), no_wrap=True, overflow="crop")
    console.print(Text(" " * (len(margin) + start) + "^" * max(end - start, 1), style=colour), no_wrap=True, overflow="crop")


def _span(place: Place, line: str) -> tuple[int, int]:
    """First and last character of the expression in its (first) line."""
    if not place.expression:
        return len(line) - len(line.lstrip()), len(line)
    start = characters(line, place.column)
    end = characters(line, place.end_column) if place.end_line == place.line else len(line)
    return (start, end) if start < end else (len(line) - len(line.lstrip()), len(line))
