"""`whygrad run --engine torch` changes nothing: a program prints the same, and ends the same, with and without it.

`why/test_cases.py` says the same of the programs there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from why.running import printed, run_on

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def error_of(stderr: str) -> list[str]:
    """Type and first line of the errors that ended the program."""
    printed = stderr.partition("\nwhygrad [")[0]
    return re.findall(r"^(?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit)(?::.*)?$", printed, re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_does_not_notice(program: Path) -> None:
    plain, explained = (run_on(engine, program) for engine in ("torch", "torch-explained"))
    assert printed(explained["stdout"]) == printed(plain["stdout"]), explained["stderr"]
    assert explained["code"] == plain["code"], explained["stderr"]
    assert error_of(explained["stderr"]) == error_of(plain["stderr"])
    assert "could not be resolved" not in explained["stderr"]


def test_how_many_programs_there_are() -> None:
    assert len(PROGRAMS) >= 18
