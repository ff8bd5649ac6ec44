"""Distributed programs on torch, with two processes on the CPU: each rank is watched, and the answers are printed together."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import whygrad
from whygrad.why import ranks, terminal
from whygrad.why.answers import Answer, Explanation
from whygrad.why.locations import SourceLocation
from whygrad.why.session import Outputs

SOURCE = str(Path(whygrad.__file__).parents[1])

# One parameter is cut off in all ranks, another in rank 1 only; a DataLoader's workers, and a forked process.
PROGRAM = '''\
import os
import sys
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.last(self.first(x).detach())


def train(rank, *setting):
    dist.init_process_group("gloo", *setting)
    torch.manual_seed(0)
    net = DDP(Net(), find_unused_parameters=True)
    scale = torch.ones(4, requires_grad=True)
    for x in DataLoader(torch.randn(4, 4), batch_size=2, num_workers=1):
        net.zero_grad()
        factor = scale.detach() if dist.get_rank() == 1 else scale
        (net(x) * factor).pow(2).mean().backward()
    if os.fork() == 0:
        print(net.module.first.weight.grad)
        os._exit(0)
    os.wait()
    print(net.module.first.weight.grad)
    print(scale.grad)
    before = [name for name in os.environ if name.startswith("WHYGRAD")]
    print(f"rank {dist.get_rank()}", before, os.environ.get("PYTHONPATH", "").count("launched"), sys.argv[1:], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    START
'''
LAUNCHED = PROGRAM.replace("START", "train(0)")
SPAWNED = PROGRAM.replace("START", 'torch.multiprocessing.spawn(in_rank, nprocs=2)').replace("def train", '''\
def in_rank(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29677", RANK=str(rank), WORLD_SIZE="2")
    train(rank)


def train''')


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    (folder / "sitecustomize.py").write_text("import sys\nsys.own_customization = True\n")
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "whygrad", "run", "--json", "answers.json", *arguments], cwd=folder,
                          env=environment, capture_output=True, text=True, timeout=300, check=False)


def answers(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / name).read_text())
    return found


@pytest.mark.parametrize(("program", "arguments"), [
    (LAUNCHED, ["-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=29678", "program.py", "--lr", "1"]),
    (SPAWNED, ["--engine=torch", "program.py", "--lr", "1"])], ids=["torchrun", "spawn"])
def test_two_ranks(program: str, arguments: list[str], tmp_path: Path) -> None:
    done = run(tmp_path, program, *arguments)
    assert done.returncode == 0, done.stderr
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank"))
    assert said == [f"rank {rank} [] 0 ['--lr', '1']" for rank in range(2)]
    told = [[(a["category"], a["expression"]) for a in answers(tmp_path, name)]
            for name in ("answers.json", "answers.rank1.json")]
    assert told == [[("detach", "net.module.first.weight.grad")],
                    [("detach", "net.module.first.weight.grad"), ("detach", "scale.grad")]]
    # What both say is printed once.
    heads = [line for line in done.stderr.splitlines() if line.startswith("whygrad [")]
    assert [line.partition("] [")[2].partition("]")[0] for line in heads] == ["ranks 0, 1", "rank 1"], done.stderr
    assert "could not be resolved" not in done.stderr
    assert not [line for line in done.stderr.splitlines() if "rank-report" in line]


def test_the_error_of_one_rank(tmp_path: Path) -> None:
    failing = LAUNCHED.replace("    before = ", '    assert dist.get_rank() == 0, "only rank 0"\n    before = ')
    done = run(tmp_path, failing, "--engine=torch", "torchrun", "--nproc_per_node=2", "--master_port=29679", "program.py")
    assert done.returncode == 1
    assert "AssertionError: only rank 0" in done.stderr
    assert "ChildFailedError" in done.stderr
    assert "[ranks 0, 1] " in done.stderr.partition("ChildFailedError")[2]


def location(line: int) -> SourceLocation:
    return SourceLocation("/nowhere/p.py", line, line, 0, 1, "<module>", "w.grad")


def test_reports(tmp_path: Path) -> None:
    for rank, lines in enumerate(([1, 2], [2, 3])):
        found = [Answer(location(line), Explanation("none", "detach", f"in rank {rank}")) for line in lines]
        ranks.leave(str(tmp_path), ranks.RankReport(rank, found, []))
    (tmp_path / "7.pickle").write_bytes(b"torn")
    reports = ranks.collect(str(tmp_path))
    assert [report.rank for report in reports] == [0, 1]
    told = ranks.merged(reports)
    assert [(answer.location.line, answer.of_ranks) for answer in told] == [
        (1, "[rank 0] "), (2, "[ranks 0, 1] "), (3, "[rank 1] ")]
    assert str(told[1]).startswith("[ranks 0, 1] /nowhere/p.py:2: w.grad")


def test_names_of_files() -> None:
    outputs = Outputs(json="/a/answers.json", sarif="/a/log")
    assert ranks.outputs_of_rank(outputs, 0) is outputs
    other = ranks.outputs_of_rank(outputs, 12)
    assert (other.json, other.html, other.sarif) == ("/a/answers.rank12.json", None, "/a/log.rank12")


@pytest.mark.parametrize(("environment", "is_launched", "rank"), [
    ({}, False, None), ({"RANK": "1", "WORLD_SIZE": "2"}, False, 1), ({"RANK": "0", "WORLD_SIZE": "1"}, False, None),
    ({"RANK": "0", "WORLD_SIZE": "1"}, True, 0), ({"RANK": "x", "WORLD_SIZE": "2"}, False, None)])
def test_rank_of_environment(environment: dict[str, str], is_launched: bool, rank: int | None,
                             monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ranks.rank_of_environment(is_launched) == rank


def test_every_line_has_its_rank() -> None:
    plain = io.StringIO()
    stream = terminal.Prefixed(plain, "[rank 1] ")
    for text in ("a", "b\nc\n", "\n", "d"):
        stream.write(text)
    assert plain.getvalue() == "[rank 1] ab\n[rank 1] c\n[rank 1] \n[rank 1] d"
