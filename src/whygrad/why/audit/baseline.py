"""The baseline of an audit: findings that are known, in a JSON file, and are not reported again.

A finding is known by its category, its file and the text of the line that is its cause, so that it stays known when lines move.
"""

from __future__ import annotations

import io
import json
import os
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whygrad.why.answers import Answer

# Category, file, source of the cause.
Key = tuple[str, str, str]
VERSION = 1


class BadBaseline(ValueError):
    """The file is no baseline."""


def read(path: str) -> Counter[Key]:
    """How often each finding is in a baseline. A second one like it is a new one."""
    try:
        data = json.loads(Path(path).read_text("utf-8"))
        return Counter((entry["category"], entry["file"], entry["source"]) for entry in data["findings"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadBaseline(f"{path} is no baseline (--write-baseline writes one): {error}") from error


def write(path: str, answers: Iterable[Answer]) -> None:
    keys = sorted(key_of(answer, os.path.dirname(path)) for answer in answers)
    entries: list[dict[str, Any]] = [{"category": category, "file": file, "source": source} for category, file, source in keys]
    Path(path).write_text(json.dumps({"version": VERSION, "findings": entries}, indent=2, ensure_ascii=False) + "\n", "utf-8")


def known(answers: Iterable[Answer], baseline: Counter[Key], folder: str) -> list[Answer]:
    """The answers that are in a baseline, whose file lies in `folder`."""
    left = Counter(baseline)
    found = []
    for answer in answers:
        key = key_of(answer, folder)
        if left[key] > 0:
            left[key] -= 1
            found.append(answer)
    return found


def key_of(answer: Answer, folder: str) -> Key:
    """File names are relative to the folder of the baseline, with slashes: it may be checked in."""
    cause = (answer.explanation.causes or [answer.location])[0]
    is_file = os.path.isabs(cause.file)
    file = os.path.relpath(os.path.realpath(cause.file), os.path.realpath(folder or ".")) if is_file else cause.file
    return answer.explanation.category, file.replace(os.sep, "/"), normalised(cause.source_line or cause.expression)


def normalised(line: str) -> str:
    """A line of source without its comment, its tokens separated by one space."""
    words = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type != tokenize.COMMENT and token.string.strip():
                words.append(token.string)
    except (tokenize.TokenError, SyntaxError):
        pass  # the line is a part of a longer statement: what was read until then
    return " ".join(words)
