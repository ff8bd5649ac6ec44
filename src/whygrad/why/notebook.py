"""`whygrad run x.ipynb`: runs the code cells of a notebook file, one after the other, as "Restart and run all" does."""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

from whygrad.why.cells import remember_cell
from whygrad.why.locations import remember_source

# `%matplotlib inline`, `!pip install x`, `files = !ls`, `model?`: not Python, and not needed to train.
_MAGIC = re.compile(r"\s*([%!?]|[\w.]+\?{1,2}\s*$|[\w, ]+=\s*[%!])")
# Magics that run the Python code behind or below them.
_TIMED = re.compile(r"\s*%(time|prun|memit)\s+(?=\S)")
_CELL_OF_PYTHON = re.compile(r"%%(time|timeit|capture|prun|memit)\b")


class Cell(NamedTuple):
    file: str
    text: str


class Notebook:
    """The code cells of a file, numbered as a notebook numbers them when they are run in order."""

    def __init__(self, path: str) -> None:
        """Raises ValueError if the file is no notebook."""
        with open(path, "rb") as file:
            content = file.read()
        self.path = path
        try:
            notebook = json.loads(content)
            sheets = notebook.get("worksheets") or [notebook]  # before nbformat 4
            cells = [cell for sheet in sheets for cell in sheet["cells"] if cell["cell_type"] == "code"]
            texts = [_joined(cell.get("source", cell.get("input", ""))) for cell in cells]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} is not a notebook ({type(error).__name__}: {error})") from None
        # Lines that are not Python, in the order of the notebook.
        self.skipped: list[str] = []
        self.cells: list[Cell] = []
        for number, text in enumerate([text for text in texts if text.strip()], 1):
            self.cells.append(Cell(f"{path}, cell {number}", self._python(text)))
            remember_cell(self.cells[-1].file, f"cell {number}")

    def _python(self, text: str) -> str:
        """The text of a cell with `pass` in place of magics, so that line numbers stay."""
        if _parses(text):
            return text
        lines = text.split("\n")
        if lines[0].startswith("%%"):
            self.skipped.append(lines[0].strip())
            lines = ["pass", *lines[1:]] if _CELL_OF_PYTHON.match(lines[0]) else ["pass"]
        for n, line in enumerate(lines):
            if _TIMED.match(line):
                lines[n] = _TIMED.sub(lambda magic: re.match(r"\s*", magic[0])[0], line)  # type: ignore[index]
            elif _MAGIC.match(line):
                self.skipped.append(line.strip())
                lines[n] = re.match(r"\s*", line)[0] + "pass"  # type: ignore[index]
        return "\n".join(lines)

    def run(self, namespace: dict[str, Any]) -> None:
        """Run the cells in one namespace."""
        if self.skipped:
            shown = ", ".join(self.skipped[:4]) + (", ..." if len(self.skipped) > 4 else "")
            lines = "1 line that is" if len(self.skipped) == 1 else f"{len(self.skipped)} lines that are"
            print(f"whygrad: {self.path}: skipped {lines} not Python: {shown}", file=sys.stderr)
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = traceback.print_exception  # the interpreter's own looks for the source in a file
        for cell in self.cells:
            remember_source(cell.file, cell.text)
            # For tracebacks, which read the source there.
            linecache.cache[cell.file] = (len(cell.text), None, cell.text.splitlines(keepends=True), cell.file)
            for code in _codes(cell):
                exec(code, namespace)


def _codes(cell: Cell) -> Iterator[CodeType]:
    """The code of a cell; the last expression separately, because a notebook displays its value."""
    tree = ast.parse(cell.text, cell.file)
    last = tree.body[-1] if tree.body else None
    is_shown = isinstance(last, ast.Expr) and not cell.text.rstrip().endswith(";")
    rest = ast.Module(tree.body[:-1] if is_shown else tree.body, [])
    yield _marked(compile(rest, cell.file, "exec", dont_inherit=True), cell.file)
    if is_shown and last is not None:
        yield _marked(compile(ast.Interactive([last]), cell.file, "single", dont_inherit=True), cell.file)


def _marked(code: CodeType, file: str) -> CodeType:
    """The code with an unused constant: the code of two cells with the same text would be equal, and so would their sites."""
    constants = [_marked(x, file) if isinstance(x, CodeType) else x for x in code.co_consts]
    return code.replace(co_consts=(*constants, file))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _joined(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)

