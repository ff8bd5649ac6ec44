"""Programs with one puzzling gradient each, or none (`cases/`): `whygrad run` names the cause, its line and the fix.

The first line of a program tells the truth about it: the category (and others that are right as well), the symptom and
the words that the answer must have, alternatives separated by slashes. The second line is a line of its output under
PyTorch, which is run beside it. `#R` marks the puzzling read or the call that raises, `#C` the lines of the cause.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
SERVER = Path(__file__).parent / "case_server.py"


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


class Server:
    """A process that runs programs on one engine."""

    def __init__(self, engine: str) -> None:
        self.process = subprocess.Popen([sys.executable, str(SERVER), engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def run(self, program: Path) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{program}\n")
        self.process.stdin.flush()
        done: dict[str, Any] = json.loads(self.process.stdout.readline())
        return done

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module", params=["whygrad"])
def servers(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Server]]:
    both = Server("torch"), Server(request.param)
    yield both
    for server in both:
        server.stop()


@pytest.mark.parametrize("program", CASES, ids=lambda path: path.stem)
def test_case(program: Path, servers: tuple[Server, Server]) -> None:
    truth = truth_of(program)
    torch, done = servers[0].run(program), servers[1].run(program)
    assert truth.evidence in torch["stdout"].splitlines(), f"PyTorch says {torch['stdout']}{torch['stderr']}"
    assert truth.evidence in done["stdout"].splitlines(), done["stdout"] + done["stderr"]
    assert done["code"] == torch["code"] == 0
    shown = json.dumps(done["answers"], indent=1) + done["stderr"]
    assert "could not be resolved" not in done["stderr"], shown
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


@pytest.mark.parametrize("name", QUIET)
def test_no_alarm_in_the_examples(name: str, servers: tuple[Server, Server]) -> None:
    done = servers[1].run(Path(__file__).parents[2] / "examples" / f"{name}.py")
    assert done["code"] == 0, done["stderr"]
    assert done["answers"] == [], done["answers"]


def test_there_are_cases_of_every_category() -> None:
    found = [truth_of(program).categories[0] for program in CASES]
    for category in CATEGORIES:
        assert found.count(category) >= 3, category
    assert found.count("ok") >= 20


CATEGORIES = str.split(
    "non-leaf-no-retain never-required-grad frozen stale-grad-after-freeze grad-mode-off detach value-copied-out "
    "non-differentiable-op unused-in-loss leaf-replaced parameter-rewrapped loss-requires-grad-patch grad-accumulated "
    "grad-cleared not-in-optimizer graph-freed non-scalar-backward gradient-shape-mismatch leaf-inplace inplace-saved-tensor "
    "silent-data-edit custom-backward no-create-graph hook-modified missing-detach broadcast-loss zero-local-derivative "
    "zero-factor nan-derivative")
