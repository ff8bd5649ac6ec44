"""examples/seeds.md: each program prints what its comments say, on PyTorch and here, and whygrad answers what stands below it.

Run as a program, this file writes the answers into the page.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_ask import asked

PAGE = Path(__file__).parents[2] / "examples" / "seeds.md"
SECTION = re.compile(r'### "(?P<claim>[^\n]*)"\n.*?```python\n(?P<program>.*?)```\n\n'
                     r"Asked `(?P<question>[^`\n]*)`, whygrad answers:\n\n```text\n(?P<answer>.*?)```", re.DOTALL)


class Section(NamedTuple):
    claim: str
    program: str
    question: str
    answer: str


SECTIONS = [Section(**found.groupdict()) for found in SECTION.finditer(PAGE.read_text())]


def printed(program: str, library: str) -> list[str]:
    output = io.StringIO()
    text = program if library == "torch" else program.replace("import torch\n", f"import {library} as torch\n")
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "snippet.py", "exec"), {"__name__": "program"})
    return output.getvalue().splitlines()


def answer(section: Section) -> str:
    with contextlib.redirect_stdout(io.StringIO()):
        text, found = asked(section.question, section.program, "snippet.py")
    assert found, text
    return text + "\n"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.claim[:40])
def test_section(section: Section) -> None:
    promised = re.findall(r"^(?! *#).*  # (.*)$", section.program, re.MULTILINE)
    assert promised
    assert printed(section.program, "torch") == promised
    assert printed(section.program, "whygrad") == promised
    assert answer(section) == section.answer


def test_all_four_are_there() -> None:
    text = PAGE.read_text()
    assert len(SECTIONS) == text.count("\n### ") == 16
    assert text.count("\n## ") == 4


def write() -> None:
    def filled(found: re.Match[str]) -> str:
        section = Section(**found.groupdict())
        start = found.start("answer") - found.start()
        whole = found.group()
        return whole[:start] + answer(section) + whole[start + len(section.answer):]

    PAGE.write_text(SECTION.sub(filled, PAGE.read_text()))


if __name__ == "__main__":
    write()
