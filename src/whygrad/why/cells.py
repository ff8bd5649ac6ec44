"""Cells: the parts of a notebook, or inputs at a prompt. Their file names say nothing to a user; "cell 3" does."""

from __future__ import annotations

import linecache
import re
import sys
from typing import Any

# File name -> "cell 3", of notebooks that `whygrad run` runs (notebook.py).
_names: dict[str, str] = {}

# IPython before 8; the REPL of Python 3.13 and later; ipykernel, whose file names are a hash of the text.
_NUMBERED = re.compile(r"<ipython-input-(\d+)-[^>]*>")
_INPUT = re.compile(r"<python-input-(\d+)>")
_TEMPORARY = re.compile(r"[/\\]ipykernel_\d+[/\\]\d+\.py$")


def remember_cell(file: str, name: str) -> None:
    _names[file] = name


def cell_name(file: str) -> str:
    """The name of a cell: "cell 3"; empty for a real file."""
    if file in _names:
        return _names[file]
    if (numbered := _NUMBERED.fullmatch(file)) is not None:
        return f"cell {numbered[1]}"
    if (numbered := _INPUT.fullmatch(file)) is not None:
        return f"input {numbered[1]}"
    if file == "<stdin>" and hasattr(sys, "ps1"):
        return "an input at the prompt"
    number = _number_in_shell(file)
    return f"cell {number}" if number else "a cell" if _TEMPORARY.search(file) else ""


def _number_in_shell(file: str) -> int:
    """The number of a cell of the running IPython; 0 if it is none."""
    shell = _shell()
    known = getattr(getattr(shell, "compile", None), "_filename_map", None)
    if isinstance(known, dict) and isinstance(known.get(file), int):
        return int(known[file])
    if shell is None or not _TEMPORARY.search(file):
        return 0
    text = "".join(linecache.getlines(file)).strip()
    inputs = getattr(shell, "user_ns", {}).get("In", [])
    return next((n for n in range(len(inputs) - 1, 0, -1) if inputs[n].strip() == text), 0) if text else 0


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return None if get is None else get()


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext whygrad`: tracebacks show the user's cells without the frames of this package."""
    from whygrad.cli import keep_program_lines

    def show(shell: Any, kind: type[BaseException], error: BaseException, traceback: Any, tb_offset: int | None = None) -> None:
        keep_program_lines(error)
        shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), show)


def unload_ipython_extension(shell: Any) -> None:
    shell.set_custom_exc((), None)
