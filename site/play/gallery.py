"""The programs that the page offers: made when the site is built."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

# What the page has not: the dtypes of ml_dtypes (those of autocast), and processes.
NOT_IN_PAGE = re.compile(r"bfloat16|float8|autocast|init_process_group")
# In the order of the list.
GROUPS = ("Four questions", "Twenty puzzles", "What the audit finds")


def programs(root: Path) -> list[dict[str, Any]]:
    return [*_seeds(root / "examples/seeds.md"), *_puzzles(root / "tests/why/puzzles"),
            *_training_programs(root / "tests/why/programs")]


def _seeds(page: Path) -> list[dict[str, Any]]:
    """The first program of each claim of examples/seeds.md, under the question of its section."""
    found, question, claim = [], "", ""
    for part in re.split(r"^(?=#{2,3} |```python\n)", page.read_text(), flags=re.M):
        if part.startswith("## "):
            question = part[3:].partition("\n")[0].replace("`", "")
        elif part.startswith("### "):
            claim = part[4:].partition("\n")[0].replace("`", "")
        elif part.startswith("```python") and claim:
            source = part[10:].partition("\n```")[0] + "\n"
            found.append({"group": GROUPS[0], "name": question, "claim": claim.strip('"'), "source": source})
            claim = ""
    return found


def _puzzles(folder: Path) -> list[dict[str, Any]]:
    truths = json.loads((folder / "truths.json").read_text())
    return [{"group": GROUPS[1], "name": truth["question"], "source": (folder / f"{name}.py").read_text()}
            for name, truth in truths.items()]


def _training_programs(folder: Path) -> list[dict[str, Any]]:
    """The shortest program of each finding that runs in the page, without the lines that tell the tests what is right."""
    found = []
    for category in sorted(path for path in folder.iterdir() if path.is_dir() and path.name != "ok"):
        text = min((file.read_text() for file in category.glob("*.py")), key=preference)
        if NOT_IN_PAGE.search(text):
            continue
        found.append({"group": GROUPS[2], "name": category.name.replace("-", " "), "source": without_marks(text)})
    return found


def preference(program: str) -> tuple[bool, int]:
    """Those that run in the page come first, then the shortest."""
    return NOT_IN_PAGE.search(program) is not None, len(program)


def without_marks(program: str) -> str:
    """A program of the tests without its first lines, the marks of causes and reads, and the word before what it prints."""
    lines = program.splitlines()
    first = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    text = re.sub(r" *#[CR]\b.*$", "", "\n".join(lines[first:]), flags=re.M).strip("\n") + "\n"
    return re.sub(r'(?<=print\()"evidence:", |(?<=")evidence: ', "", text)
