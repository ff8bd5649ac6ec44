"""Whole training programs with one bug each, or none: the audit of `whygrad run` notices it without being asked.

A program lies in `programs/<category>/`; `programs/ok` has correct ones that look suspicious. The first line tells the truth
about it: the category (and others that are right as well) and the words that the explanation must have, alternatives separated
by slashes. The second line is a line that it prints under PyTorch, which shows that the bug is real. A third line may name the
parameters concerned. `#C` marks the lines of the cause. Nobody reads `.grad`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from why.running import run_on

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*/*.py"))


class Truth(NamedTuple):
    categories: list[str]
    words: list[list[str]]
    evidence: set[str]
    parameters: set[str]
    cause: set[int]


def truth_of(program: Path) -> Truth:
    lines = program.read_text().splitlines()
    categories, _, words = lines[0].removeprefix("#").partition("|")
    evidence = lines[1].removeprefix("# ")
    named = next((line.removeprefix("# parameters:") for line in lines[2:4] if line.startswith("# parameters:")), "")
    return Truth([category.strip() for category in categories.split(",")],
                 [[word.strip() for word in group.split("/")] for group in words.split(",") if group.strip()],
                 {evidence, evidence.removeprefix("evidence: ")}, {name.strip() for name in named.split(",") if name.strip()},
                 {number for number, line in enumerate(lines, 1) if "#C" in line})


# Programs that real PyTorch answers at another line: an LSTM's dropout is inside of its own kernel there.
ELSEWHERE_ON_TORCH = {"engine_fault_lstm": "zero-factor"}


@pytest.mark.parametrize("engine", ["whygrad", "torch-explained"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_program(program: Path, engine: str) -> None:
    truth, done = truth_of(program), run_on(engine, program)
    assert done["code"] == 0, done["stderr"]
    assert truth.evidence & set(done["stdout"].splitlines()), done["stdout"]
    assert "could not be resolved" not in done["stderr"], done["stderr"]
    shown = json.dumps(done["answers"], indent=1)
    if truth.categories == ["ok"]:
        assert not [answer for answer in done["answers"] if not answer["odd"]], shown
        return
    if engine == "torch-explained" and program.stem in ELSEWHERE_ON_TORCH:
        assert [answer["category"] for answer in done["answers"]] == [ELSEWHERE_ON_TORCH[program.stem]], shown
        return
    right = [answer for answer in done["answers"] if answer["category"] in truth.categories
             and {cause["line"] for cause in answer["causes"]} & truth.cause]
    assert right, shown
    told = f"{right[0]['text']} {right[0]['fix']}".lower()
    assert not [words for words in truth.words if not any(word in told for word in words)], told
    if right[0]["parameters"]:
        told = {name for path in right[0]["parameters"] for name in (path, path.partition(".")[2])}  # the model may be named too
        assert not truth.parameters or truth.parameters & told, shown
    assert {answer["category"] for answer in done["answers"] if not answer["odd"]} <= set(truth.categories), shown


def test_how_many_programs_there_are() -> None:
    kinds = {program.parent.name for program in PROGRAMS}
    assert len(kinds) >= 60
    assert len([program for program in PROGRAMS if program.parent.name == "ok"]) >= 100
