"""Source locations: resolves a site (code object, instruction offset) to file, line, columns and expression, on demand."""

from __future__ import annotations

import ast
import dis
import io
import itertools
import linecache
import tokenize
from dataclasses import dataclass
from types import CodeType
from typing import Any

from whygrad.why.cells import cell_name
from whygrad.why.record import Site

# Source text by file name, as it was when the program started (script, `-c` or standard input): a program may change or
# delete its own file while it runs.
_texts: dict[str, list[str]] = {}

# Characters of an expression that are quoted.
MAX_QUOTED = 160


def remember_source(file: str, source: bytes | str) -> None:
    """Keep a program's text, so that its lines can be shown even if the file changes."""
    if isinstance(source, bytes):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
            source = source.decode(encoding)
        except (SyntaxError, UnicodeDecodeError, LookupError):
            return  # Python will not run it either
    # The compiler ends lines at \n, \r\n and \r only; str.splitlines knows more line ends.
    _texts[file] = io.StringIO(source.removeprefix("\ufeff"), newline=None).readlines()


def source_lines(file: str) -> list[str]:
    """The lines of a source file; empty if it cannot be read."""
    known = _texts.get(file)
    return linecache.getlines(file) if known is None else known


@dataclass(frozen=True)
class SourceLocation:
    """A range of the user's source and its text."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    function: str
    expression: str

    def __str__(self) -> str:
        return self.where if self.function in ("<module>", "") else f"{self.where} in {self.function}"

    @property
    def where(self) -> str:
        """File and line; of a notebook, "cell 3, line 1"; the file alone if there is no line."""
        cell = cell_name(self.file)
        if self.line < 1:
            return cell or self.file or "the program"
        return f"{cell}, line {self.line}" if cell else f"{self.file}:{self.line}"

    @property
    def place(self) -> str:
        """The line in a sentence whose heading names the file."""
        return self.where if cell_name(self.file) or self.line < 1 else f"line {self.line}"

    def quoted(self) -> str:
        return f"`{shortened(self.expression)}`" if self.expression else "this line"

    def shown(self) -> str:
        """The expression, else the whole line."""
        missing = "(no line)" if self.line < 1 else "(source not available)"
        return shortened(self.expression or self.source_line.strip()) or missing

    @property
    def source_line(self) -> str:
        lines = source_lines(self.file)
        return lines[self.line - 1].rstrip("\r\n") if 0 < self.line <= len(lines) else ""


def shortened(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED - 1]}…"


def locate(site: Site | SourceLocation | None) -> SourceLocation | None:
    """Resolve a site. The expression is empty if the source cannot be read."""
    if isinstance(site, SourceLocation):
        return site
    if site is None or site[0] is None:
        return None
    code, offset = site
    # Keyed by id because hashing a code object hashes all its content; the entry keeps the code object alive.
    known = _resolved.get((id(code), offset))
    if known is not None and known[0] is code:
        return known[1]
    found = _resolve(code, offset)
    if len(_resolved) > MAX_RESOLVED:
        _resolved.clear()
    _resolved[id(code), offset] = code, found
    return found


def expression_at(site: Site | None) -> str:
    """The expression of a site; empty if it cannot be resolved."""
    found = locate(site)
    return "" if found is None else found.expression


_resolved: dict[tuple[int, int], tuple[CodeType, SourceLocation]] = {}
MAX_RESOLVED = 4096


# The latest long code objects (a program without functions) by id, with what is slow to read from them: the positions of all
# instructions, and their bytes.
_long_codes: dict[int, tuple[CodeType, list[Any], bytes]] = {}
LONG_CODE = 2000  # instructions
MAX_LONG_CODES = 4


def _instruction(code: CodeType, offset: int) -> tuple[Any, int]:
    """The position of an instruction (None if there is none), and its operation."""
    known = _long_codes.get(id(code))
    if known is None or known[0] is not code:
        compiled = code.co_code
        if len(compiled) < 2 * LONG_CODE:
            return next(itertools.islice(code.co_positions(), offset // 2, None), None), compiled[offset]
        if len(_long_codes) >= MAX_LONG_CODES:
            _long_codes.clear()
        known = _long_codes[id(code)] = code, list(code.co_positions()), compiled
    _, positions, compiled = known
    return positions[offset // 2] if 0 <= offset // 2 < len(positions) else None, compiled[offset]


def _resolve(code: CodeType, offset: int) -> SourceLocation:
    position, operation = _instruction(code, max(offset, 0))
    line, end_line, column, end_column = position or (None, None, None, None)
    line = line or code.co_firstlineno
    end_line = end_line or line
    expression = ""
    if column is not None and end_column is not None:
        if offset >= 0 and dis.opname[operation].startswith("STORE_"):
            end_line, end_column = _end_of_assignment(code.co_filename, line, column) or (end_line, end_column)
        expression = _text_between(code.co_filename, line, end_line, column, end_column)
        if end_line > line and expression.startswith(("with ", "async with ", "for ", "async for ")):
            end_line, end_column = _end_of_header(code.co_filename, line)
            expression = _text_between(code.co_filename, line, end_line, column, end_column)
    return SourceLocation(code.co_filename, line, end_line, column or 0, end_column or 0, code.co_name, expression)


def _end_of_assignment(file: str, line: int, column: int) -> tuple[int, int] | None:
    """End of the assignment statement: for `y[0] = 0` the bytecode position covers only `y[0]`."""
    from whygrad.why.program_text import statement_at

    statement = statement_at(file, line, column)
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) or statement.lineno != line:
        return None
    return (statement.end_lineno, statement.end_col_offset) if statement.end_lineno and statement.end_col_offset else None


def _end_of_header(file: str, line: int) -> tuple[int, int]:
    """End of the header of a `with` or `for` statement, before the colon."""
    for number, text in enumerate(source_lines(file)[line - 1:], line):
        code = text.partition("#")[0].rstrip()
        if code.endswith(":"):
            return number, len(code[:-1].encode())
    return line, 0


def locate_all(*sites: Site | SourceLocation | None) -> list[SourceLocation]:
    """The sites that can be resolved, without duplicates."""
    found: dict[tuple[str, int, str], SourceLocation] = {}
    for site in sites:
        here = locate(site)
        if here is not None:
            found.setdefault((here.file, here.line, here.expression), here)
    return list(found.values())


def location_of_line(file: str, line: int, function: str = "") -> SourceLocation:
    """The location of a whole line."""
    lines = source_lines(file)
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return SourceLocation(file, line, line, 0, 0, function, text.partition("  #")[0].rstrip())


def _text_between(file: str, line: int, end_line: int, column: int, end_column: int) -> str:
    lines = source_lines(file)[line - 1:end_line]
    if not any(lines):
        return ""
    # ast columns count UTF-8 bytes.
    raw = [text.encode(errors="surrogatepass") for text in lines]
    raw[-1] = raw[-1][:end_column]
    raw[0] = raw[0][column:]
    pieces = [piece.decode(errors="replace").strip() for piece in raw]
    return " ".join(piece for piece in pieces if piece)
