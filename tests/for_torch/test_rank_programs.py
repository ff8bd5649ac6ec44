"""Whole training programs of two processes with one bug each, or none: `whygrad run` names it, once for both.

A program lies in `rank_programs/<category>/`, with the truth in its first lines and `#C` at the lines of the cause, as those
of `tests/why/programs`. The silent errors among them that TrainCheck (OSDI 2025) has collected are listed in docs/pytorch.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import interpreters
import pytest
from why.running import run_on
from why.test_training_programs import truth_of

import whygrad

PROGRAMS = sorted((Path(__file__).parent / "rank_programs").glob("*/*.py"))
SOURCE = str(Path(whygrad.__file__).parents[1])


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "whygrad", *arguments], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=300, check=False)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_program(program: Path) -> None:
    truth, done = truth_of(program), run_on("torch-explained", program, spawned=2)
    assert done["code"] == 0, done["stderr"]
    assert truth.evidence & set(done["stdout"].splitlines()), done["stdout"]
    assert "could not be resolved" not in done["stderr"], done["stderr"]
    # Each rank has a file, and what shows between them only is in that of the launcher.
    found = done["answers"]
    shown = json.dumps(found, indent=1)
    if truth.categories == ["ok"]:
        assert not [answer for answer in found if not answer["odd"]], shown
        return
    right = [answer for answer in found if answer["category"] in truth.categories
             and {cause["line"] for cause in answer["causes"]} & truth.cause]
    assert right, shown + done["stderr"]
    told = f"{right[0]['text']} {right[0]['fix']}".lower()
    assert not [words for words in truth.words if not any(word in told for word in words)], told
    assert {answer["category"] for answer in found if not answer["odd"]} <= set(truth.categories), shown
    # It is printed once.
    assert done["stderr"].count(f"[{right[0]['category']}]") == 1, done["stderr"]


def answer_to(program: Path, folder: Path) -> str:
    """What is printed, without the heading, for the program without the lines and marks of the tests."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "site"))
    from play.gallery import without_marks

    (folder / "program.py").write_text(without_marks(program.read_text()))
    done = run_on("torch-explained", folder / "program.py", spawned=2)
    text = re.split(r"^whygrad \[1 of 1\] ", done["stderr"].replace(f"{folder}/", ""), flags=re.MULTILINE)[1]
    return text.rstrip() + "\n"


@pytest.mark.parametrize("told", sorted((Path(__file__).parent / "rank_programs").glob("*/*.answer")), ids=lambda path: path.stem)
def test_answer_in_the_catalogue(told: Path, tmp_path: Path) -> None:
    """The site cannot run them: their answers are kept beside them."""
    assert answer_to(told.with_suffix(".py"), tmp_path) == told.read_text()


def test_audit_of_spawned_ranks(tmp_path: Path) -> None:
    """One check-list for both, with what shows between them; the program ends after the steps that were asked for."""
    program = next(path for path in PROGRAMS if path.stem == "converted_after_wrapping")
    done = interpreters.run(["-m", "whygrad", "audit", "--engine=torch", "--steps=3", "--json=audit.json", str(program)],
                            cwd=tmp_path, spawned=2)
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.json"]
    told = json.loads((tmp_path / "audit.json").read_text())
    assert [finding["category"] for finding in told["findings"]] == ["ranks-diverge"]
    status = {check["check"]: check["status"] for check in told["checks"]}
    assert (status["replicas"], status["rank-data"], status["moves"]) == ("found", "passed", "not seen")
    assert (told["steps"], told["parameters"]) == (3, 4)
    assert done.stderr.count("whygrad audit: converted_after_wrapping.py") == 1
    assert "Traceback" not in done.stderr


def test_audit_of_launched_ranks(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LAUNCHED)
    done = run(tmp_path, "audit", "--engine=torch", "--steps=7", "--json=audit.json", "-m", "torch.distributed.run",
               "--nproc_per_node=2", "--master_port=29681", "program.py")
    told = json.loads((tmp_path / "audit.json").read_text())
    assert [(finding["category"], finding["line"]) for finding in told["findings"]] == [("learning-rate-zero", 14)], done.stderr
    assert done.returncode == 3
    assert {check["check"]: check["status"] for check in told["checks"]}["replicas"] == "passed"


LAUNCHED = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
net = DDP(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
for step in range(8):
    x = torch.randn(16, 3)
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""
