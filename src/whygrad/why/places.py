"""From a site to a place: file, line, columns and the exact source expression, looked up only when asked."""

from __future__ import annotations

import ast
import dis
import io
import itertools
import linecache
import tokenize
from dataclasses import dataclass
from types import CodeType

from whygrad.why.record import Site

# The text of programs that were handed over (a script as it was when it began, `-c`, standard input): a program may
# delete or change its own file while it runs.
_texts: dict[str, list[str]] = {}

# An expression is quoted up to here.
LONGEST = 160


def remember_source(file: str, source: bytes | str) -> None:
    """Keep a program's text, so that places in it can be shown whatever becomes of the file."""
    if isinstance(source, bytes):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            source = source.decode(encoding)
        except (SyntaxError, UnicodeDecodeError, LookupError):
            return  # Python will not run it either
    # Like the compiler, end lines at \n, \r\n and \r only.
    _texts[file] = io.StringIO(source.removeprefix("\ufeff"), newline=None).readlines()


def source_lines(file: str) -> list[str]:
    """The lines of a source file; none if it is not to be had."""
    known = _texts.get(file)
    return linecache.getlines(file) if known is None else known


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
        return f"`{shortened(self.expression)}`" if self.expression else "this line"

    def shown(self) -> str:
        """The expression, or else the line it stands in."""
        return shortened(self.expression or self.source_line.strip()) or "(source not available)"

    @property
    def source_line(self) -> str:
        lines = source_lines(self.file)
        return lines[self.line - 1].rstrip("\r\n") if 0 < self.line <= len(lines) else ""


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST - 1]}…"


def place(site: Site | Place | None) -> Place | None:
    """Resolve a site (a place is resolved already). The expression is empty if the source is not to be had."""
    if isinstance(site, Place):
        return site
    if site is None or site[0] is None:
        return None
    code, offset = site
    # A line in a loop is asked for again and again. (A code object's own hash covers all its content: the id will do.)
    known = _resolved.get((id(code), offset))
    if known is not None and known[0] is code:
        return known[1]
    found = _resolve(code, offset)
    if len(_resolved) > MOST_RESOLVED:
        _resolved.clear()
    _resolved[id(code), offset] = code, found
    return found


_resolved: dict[tuple[int, int], tuple[CodeType, Place]] = {}
MOST_RESOLVED = 4096


def _resolve(code: CodeType, offset: int) -> Place:
    position = next(itertools.islice(code.co_positions(), offset // 2, None), None)
    line, end_line, column, end_column = position or (None, None, None, None)
    line = line or code.co_firstlineno
    end_line = end_line or line
    expression = ""
    if column is not None and end_column is not None:
        if offset >= 0 and dis.opname[code.co_code[offset]].startswith("STORE_"):
            end_line, end_column = _end_of_assignment(code.co_filename, line, column) or (end_line, end_column)
        expression = _text_between(code.co_filename, line, end_line, column, end_column)
        if end_line > line and expression.startswith(("with ", "async with ")):
            end_line, end_column = _end_of_header(code.co_filename, line)
            expression = _text_between(code.co_filename, line, end_line, column, end_column)
    return Place(code.co_filename, line, end_line, column or 0, end_column or 0, code.co_name, expression)


def _end_of_assignment(file: str, line: int, column: int) -> tuple[int, int] | None:
    """For Python `y[0] = 0` happens at `y[0]`; what is to be shown is the statement."""
    from whygrad.why.source import statement_at

    statement = statement_at(file, line, column)
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or statement.lineno != line:
        return None
    return (statement.end_lineno, statement.end_col_offset) if statement.end_lineno and statement.end_col_offset else None


def _end_of_header(file: str, line: int) -> tuple[int, int]:
    """Where the `with ...` ends whose block follows."""
    for number, text in enumerate(source_lines(file)[line - 1:], line):
        code = text.partition("#")[0].rstrip()
        if code.endswith(":"):
            return number, len(code[:-1].encode())
    return line, 0


def places(*sites: Site | Place | None) -> list[Place]:
    """Those of the sites that can be resolved, each line once."""
    found: dict[tuple[str, int, str], Place] = {}
    for site in sites:
        here = place(site)
        if here is not None:
            found.setdefault((here.file, here.line, here.expression), here)
    return list(found.values())


def place_of_line(file: str, line: int, function: str = "") -> Place:
    """A place known by its line alone."""
    lines = source_lines(file)
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Place(file, line, line, 0, 0, function, text.partition("  #")[0].rstrip())


def _text_between(file: str, line: int, end_line: int, column: int, end_column: int) -> str:
    lines = source_lines(file)[line - 1:end_line]
    if not any(lines):
        return ""
    # Columns count bytes of UTF-8.
    raw = [text.encode(errors="surrogatepass") for text in lines]
    raw[-1] = raw[-1][:end_column]
    raw[0] = raw[0][column:]
    pieces = [piece.decode(errors="replace").strip() for piece in raw]
    return " ".join(piece for piece in pieces if piece)
