"""Locations as other tools read them: file names relative to the repository, lines and columns counted from 1."""

from __future__ import annotations

import os
from typing import NamedTuple

from whygrad.why.cells import cell_name
from whygrad.why.locations import SourceLocation, source_lines
from whygrad.why.source_html import characters


class Region(NamedTuple):
    """Columns count characters; `end_column` is that behind the last one. They are 0 if the source is not available."""

    line: int
    column: int
    end_line: int
    end_column: int


def repository() -> str:
    """The root of what is checked: the checkout of a GitHub workflow, else the working directory."""
    return os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.getcwd())


def file_on_disk(file: str) -> str:
    """The file; for a cell that of its notebook; "" if there is none (`-c`, standard input)."""
    path = file.removesuffix(f", {cell_name(file)}")
    return path if os.path.isabs(path) else ""


def relative(file: str, root: str) -> str:
    """The file name relative to the root, with slashes; the absolute one if the file is elsewhere."""
    path = os.path.realpath(file) if os.path.isabs(file) else file
    return os.path.relpath(path, root).replace(os.sep, "/") if path.startswith(root.rstrip(os.sep) + os.sep) else path


def region_of(location: SourceLocation) -> Region | None:
    """The region in the file of the location; None in a notebook, whose cells count their own lines."""
    if cell_name(location.file) or location.line < 1:
        return None
    end_line = max(location.line, location.end_line)
    lines = [line.rstrip("\r\n") for line in source_lines(location.file)[location.line - 1:end_line]]
    if not lines:
        return Region(location.line, 0, end_line, 0)
    start, end = characters(lines[0], location.column), characters(lines[-1], location.end_column)
    if end == 0 or (start >= end and end_line == location.line):  # the whole line
        start, end = len(lines[0]) - len(lines[0].lstrip()), len(lines[-1].rstrip())
    return Region(location.line, start + 1, end_line, end + 1)
