"""Source text as HTML: numbered lines, highlighted tokens, and marks for the expressions that answers refer to."""

from __future__ import annotations

import html
import io
import itertools
import keyword
import tokenize
from typing import NamedTuple

from whygrad.why.locations import SourceLocation, source_lines

# A file with more lines is shown only AROUND its marks; a longer line is cut.
MAX_LINES, AROUND, MAX_LINE_LENGTH = 1500, 25, 400


class Mark(NamedTuple):
    """An expression that answer number `answer` refers to; `role` is "read" or "cause"."""

    location: SourceLocation
    answer: int
    role: str


def lines_of(file: str) -> list[str]:
    return [line.rstrip("\n") for line in source_lines(file)]


def rendered(lines: list[str], marks: list[Mark], prefix: str) -> str:
    """One element for each line; the anchor of a line is `#<prefix>-<number>`."""
    words = _token_classes(lines)
    marked: dict[int, list[tuple[int, int, Mark]]] = {}
    for mark in marks:
        for number, start, end in _spans(mark.location, lines):
            marked.setdefault(number, []).append((start, end, mark))
    shown = range(1, len(lines) + 1) if len(lines) <= MAX_LINES else _near(marked, len(lines))
    parts, last = [], 0
    for number in shown:
        if number != last + 1:
            parts.append(f'<div class="gap">{number - last - 1} lines</div>')
        parts.append(_line(number, lines[number - 1], words.get(number, []), marked.get(number, []), prefix))
        last = number
    if last < len(lines):
        parts.append(f'<div class="gap">{len(lines) - last} lines</div>')
    return "".join(parts)


def _near(marked: dict[int, list[tuple[int, int, Mark]]], count: int) -> list[int]:
    near = {n for number in marked or [1] for n in range(max(1, number - AROUND), min(count, number + AROUND) + 1)}
    return sorted(near)


def characters(text: str, column: int) -> int:
    """Convert a column in UTF-8 bytes to characters."""
    return len(text.encode()[:column].decode(errors="ignore"))


def _spans(location: SourceLocation, lines: list[str]) -> list[tuple[int, int, int]]:
    """(line, first character, last character) for each line of a location."""
    spans = []
    for number in range(location.line, max(location.line, location.end_line) + 1):
        if not 0 < number <= len(lines):
            continue
        text = lines[number - 1]
        start = characters(text, location.column) if number == location.line else len(text) - len(text.lstrip())
        end = characters(text, location.end_column) if number == location.end_line and location.end_column else len(text)
        if not location.expression:
            start, end = len(text) - len(text.lstrip()), len(text)
        if start < end:
            spans.append((number, start, end))
    return spans


def _token_classes(lines: list[str]) -> dict[int, list[tuple[int, int, str]]]:
    """(start, end, CSS class) of the tokens of each line, up to the first tokenizer error."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            kind = ("c" if token.type == tokenize.COMMENT else "s" if token.type == tokenize.STRING else
                    "d" if token.type == tokenize.NUMBER else
                    "k" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else "")
            if not kind:
                continue
            for number in range(token.start[0], token.end[0] + 1):
                start = token.start[1] if number == token.start[0] else 0
                end = token.end[1] if number == token.end[0] else len(lines[number - 1])
                found.setdefault(number, []).append((start, end, kind))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass
    return found


def _line(number: int, text: str, words: list[tuple[int, int, str]], marks: list[tuple[int, int, Mark]], prefix: str) -> str:
    cut = "" if len(text) <= MAX_LINE_LENGTH else f'<span class="gap">… {len(text) - MAX_LINE_LENGTH} characters</span>'
    text = text[:MAX_LINE_LENGTH]
    borders = {0, len(text)}
    for start, end, _ in (*words, *marks):
        borders.update((min(start, len(text)), min(end, len(text))))
    edges = sorted(borders)
    pieces = []  # (text, the marks over it)
    for start, end in itertools.pairwise(edges):
        piece = html.escape(text[start:end])
        kind = next((k for a, b, k in words if a <= start and end <= b), "")
        over = tuple(mark for a, b, mark in marks if a <= start and end <= b)
        pieces.append((f'<span class="{kind}">{piece}</span>' if kind else piece, over))
    parts = []
    for over, group in itertools.groupby(pieces, key=lambda piece: piece[1]):
        inside = "".join(piece for piece, _ in group)
        if over:
            answers = " ".join(str(n) for n in sorted({mark.answer for mark in over}))
            role = "cause" if any(mark.role == "cause" for mark in over) else "read"
            inside = f'<mark class="{role}" data-answers="{answers}">{inside}</mark>'
        parts.append(inside)
    classes = "line marked" if marks else "line"
    return (f'<div class="{classes}" id="{prefix}-{number}"><span class="number">{number}</span>'
            f'<code>{"".join(parts)}{cut}</code></div>')
