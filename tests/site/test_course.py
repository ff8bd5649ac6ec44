"""The programs of docs/start.md and docs/course: below each stands what PyTorch and whygrad print, and the answers.

Run as a program, this file writes the outputs and the answers into the pages.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import interpreters

DOCS = Path(__file__).parents[2] / "docs"
CHAPTERS = sorted((DOCS / "course").glob("*.md"))
PAGES = [DOCS / "start.md", DOCS / "comparison.md", DOCS / "embedding.md", *CHAPTERS]
BELIEFS = Path(__file__).parent / "beliefs.py"
LIVE = re.compile(r"```python live\n(?P<program>.*?)```\n(?:```output\n(?P<output>.*?)```\n)?"
                  r"(?:```answers\n(?P<answers>.*?)```\n)?", re.DOTALL)


def run_on_torch(program: str, folder: Path) -> str:
    (folder / "program.py").write_text(program)
    done = interpreters.run(["program.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_on_whygrad(program: str, folder: Path) -> tuple[str, str]:
    """What it printed, and the answers without their heading."""
    (folder / "program.py").write_text(program)
    done = interpreters.run(["-m", "whygrad", "run", "program.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    told = done.stderr.replace(f"{folder}/", "")
    answers = re.split(r"^whygrad \[\d+ of \d+\] ", told, flags=re.MULTILINE)[1:]
    return done.stdout, "\n".join(answer.rstrip() + "\n" for answer in answers)


def blocks() -> list[Any]:
    return [pytest.param(found, id=f"{page.stem}-{i}") for page in PAGES
            for i, found in enumerate(LIVE.finditer(page.read_text()))]


@pytest.mark.parametrize("found", blocks())
def test_block(found: re.Match[str], tmp_path: Path) -> None:
    printed, answers = run_on_whygrad(found["program"], tmp_path)
    assert run_on_torch(found["program"], tmp_path) == printed == (found["output"] or "")
    assert answers == (found["answers"] or "")


def test_every_chapter_runs_and_corrects_a_belief() -> None:
    for page in CHAPTERS:
        assert LIVE.search(page.read_text()), page.name
        assert '\n> **"' in page.read_text(), page.name


def test_every_belief_is_run(tmp_path: Path) -> None:
    def plain(belief: str) -> str:
        return re.sub(r"\s+", " ", belief.replace('"', "")).rstrip(".")

    quoted = [plain(found) for page in CHAPTERS for found in re.findall(r"^> \*\*(.*?)\*\*", page.read_text(), re.M | re.S)]
    functions = [node for node in ast.parse(BELIEFS.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert sorted(quoted) == sorted(plain(text) for node in functions if (text := ast.get_docstring(node)))
    program = BELIEFS.read_text()
    assert run_on_torch(program, tmp_path) == run_on_whygrad(program, tmp_path)[0] == f"{len(quoted)} beliefs\n"


def filled(found: re.Match[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        printed, answers = run_on_whygrad(found["program"], Path(folder))
    return (f"```python live\n{found['program']}```\n" + (f"```output\n{printed}```\n" if printed else "")
            + (f"```answers\n{answers}```\n" if answers else ""))


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(LIVE.sub(filled, page.read_text()))
