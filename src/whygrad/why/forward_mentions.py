"""The line of a model's forward() that uses one of its parts, from the source text."""

from __future__ import annotations

import re
from typing import Any

from whygrad.why.locations import SourceLocation, location_of_line, source_lines


def mention_of(model: Any, name: str) -> SourceLocation | None:
    """Where forward() uses the parameter of this dotted name, or the innermost module that has it."""
    parts = name.split(".")
    owners = [model]
    for part in parts[:-1]:
        owners.append(getattr(owners[-1], part, None))
    for owner, part in reversed(list(zip(owners, parts, strict=True))):
        code = getattr(getattr(type(owner), "forward", None), "__code__", None)
        if code is None or "site-packages" in code.co_filename or part.isdigit():
            continue
        last = max(line for *_, line in code.co_lines() if line is not None)
        for number, line in enumerate(source_lines(code.co_filename)[:last], 1):
            if number > code.co_firstlineno and re.search(rf"\bself\.{part}\b", line):
                return location_of_line(code.co_filename, number)
    return None
