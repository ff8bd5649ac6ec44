"""Programs with one puzzling gradient each, or none: `whygrad run` names the cause, its line and the fix.

A program lies in `cases/<category>/`; `cases/ok` has those without a puzzle. The first line of a program tells the truth
about it: the category, which is the folder's name (and others that are right as well), the symptom and
the words that the answer must have, alternatives separated by slashes. The second line is a line of its output under
PyTorch, which is run beside it. `#R` marks the puzzling read or the call that raises, `#C` the lines of the cause.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from why.running import printed, run_on, run_on_torch

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.py"))


class Truth(NamedTuple):
    categories: list[str]
    symptoms: list[str]
    words: list[list[str]]
    evidence: str
    read: list[int]
    cause: list[int]


def truth_of(program: Path) -> Truth:
    lines = program.read_text().splitlines()
    parts = [part.strip() for part in lines[0].removeprefix("#").split("|")]
    parts += [""] * (3 - len(parts))
    return Truth([x.strip() for x in parts[0].split(",")], [x.strip() for x in parts[1].split(",")],
                 [[word.strip() for word in group.split("/")] for group in parts[2].split(",") if group.strip()],
                 lines[1].removeprefix("# "), [i for i, line in enumerate(lines, 1) if "#R" in line],
                 [i for i, line in enumerate(lines, 1) if "#C" in line])


# What real PyTorch cannot tell: its nodes keep what they saved in single precision, and cannot be run again in double.
NOT_ON_TORCH = {"underflow_of_power"}


@pytest.mark.parametrize("engine", ["whygrad", "torch-explained"])
@pytest.mark.parametrize("program", CASES, ids=lambda path: path.stem)
def test_case(program: Path, engine: str) -> None:
    truth = truth_of(program)
    torch, done = run_on_torch(program), run_on(engine, program)
    assert truth.evidence in torch["stdout"].splitlines(), f"PyTorch says {torch['stdout']}{torch['stderr']}"
    assert truth.evidence in done["stdout"].splitlines(), done["stdout"] + done["stderr"]
    assert done["code"] == torch["code"] == 0
    if engine == "torch-explained":
        assert printed(done["stdout"]) == printed(torch["stdout"])
    shown = json.dumps(done["answers"], indent=1) + done["stderr"]
    assert "could not be resolved" not in done["stderr"], shown
    if engine == "torch-explained" and program.stem in NOT_ON_TORCH:
        assert done["answers"] == [], shown
        return
    if truth.categories == ["ok"]:
        assert done["answers"] == [], shown
        return
    fitting = [a for a in done["answers"] if a["line"] in truth.read and a["category"] in truth.categories]
    assert fitting, shown
    answer = fitting[0]
    assert {c["line"] for c in answer["causes"]} & set(truth.cause), shown
    assert answer["symptom"] in truth.symptoms, shown
    told = f"{answer['text']} {answer['fix']}".lower()
    assert not [words for words in truth.words if not any(word in told for word in words)], told
    assert answer["fix"], shown
    # One cause, one category: further answers may only say the same of other reads.
    assert {a["category"] for a in done["answers"]} <= set(truth.categories), shown


QUIET = ("autoencoder_conv", "custom_function", "gan", "maml", "mlp_classifier", "normalizing_flow", "reinforce", "siamese",
         "vae_frozen_encoder", "wgan_gp")


@pytest.mark.parametrize("engine", ["whygrad", "torch-explained"])
@pytest.mark.parametrize("name", QUIET)
def test_no_alarm_in_the_examples(name: str, engine: str) -> None:
    done = run_on(engine, Path(__file__).parents[2] / "examples" / f"{name}.py")
    assert done["code"] == 0, done["stderr"]
    assert done["answers"] == [], done["answers"]


@pytest.mark.parametrize("program", CASES, ids=lambda path: path.stem)
def test_a_case_lies_in_the_folder_of_its_category(program: Path) -> None:
    assert truth_of(program).categories[0] == program.parent.name


# Categories with fewer than five programs. Further ones are welcome.
FEW = {"checkpoint-no-grad-input": 1, "clip-misplaced": 4, "deepcopy-nonleaf": 1, "no-backward": 4, "non-leaf-requires-grad": 1,
       "returned-not-stored": 1, "stale-grad-after-freeze": 4, "step-missing": 2, "view-inplace": 1}


def test_how_many_cases_there_are() -> None:
    found = Counter(program.parent.name for program in CASES)
    assert {category: count for category, count in found.items() if count < 5} == FEW
    assert len(found) == 38
    assert found["ok"] >= 128
    assert len({program.name for program in CASES}) == len(CASES), "two programs of one name"
