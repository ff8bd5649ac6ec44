"""`whygrad run --engine torch` changes nothing: a program prints the same, and ends the same, with and without it.

`why/test_cases.py` says the same of the programs there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from why.running import printed, run_on

from whygrad.for_torch.engine import ENGINE

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


def test_a_repeated_part_leaves_the_random_numbers_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.manual_seed would also seed the generators of other devices, which nothing brings back."""
    monkeypatch.setattr(torch, "manual_seed", lambda seed: pytest.fail("all devices are seeded"))
    before, drawn = torch.get_rng_state(), []
    for _ in range(2):
        with ENGINE.repeatable(3):
            drawn.append(torch.rand(3))
    assert torch.equal(*drawn)
    assert torch.equal(torch.get_rng_state(), before)
