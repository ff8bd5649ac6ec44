"""From a site to a place: file, line, columns and the exact source expression, looked up only when asked."""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass

from whygrad.why.record import Site

_whygrad_internal_ = True


@dataclass(frozen=True)
class Place:
    """Where in the user's source something happened."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    function: str
    expression: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        if self.function not in ("<module>", ""):
            where += f" in {self.function}"
        return where

    def quoted(self) -> str:
        return f"`{self.expression}`" if self.expression else "this line"

    @property
    def source_line(self) -> str:
        return linecache.getline(self.file, self.line).rstrip("\n")


def place(site: Site | None) -> Place | None:
    """Resolve a site. The expression is empty if the source is not to be had."""
    if site is None or site[0] is None:
        return None
    code, offset = site
    position = next(itertools.islice(code.co_positions(), offset // 2, None), None)
    line, end_line, column, end_column = position or (None, None, None, None)
    line = line or code.co_firstlineno
    end_line = end_line or line
    expression = ""
    if column is not None and end_column is not None:
        expression = _text_between(code.co_filename, line, end_line, column, end_column)
    return Place(code.co_filename, line, end_line, column or 0, end_column or 0, code.co_name, expression)


def _text_between(file: str, line: int, end_line: int, column: int, end_column: int) -> str:
    lines = [linecache.getline(file, n) for n in range(line, end_line + 1)]
    if not any(lines):
        return ""
    # Columns count bytes of UTF-8.
    raw = [text.encode() for text in lines]
    raw[-1] = raw[-1][:end_column]
    raw[0] = raw[0][column:]
    pieces = [piece.decode(errors="replace").strip() for piece in raw]
    return " ".join(piece for piece in pieces if piece)
