"""`whygrad launch`: ranks that raise or are killed end all; restarts go on from a checkpoint; torchrun's lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rank_pairs import SOURCE, needs_mpi

from whygrad.for_whygrad import launching

pytestmark = needs_mpi

PROGRAM = '''\
import os, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
step, total = 0, torch.zeros(1)
if os.path.exists("checkpoint.pt"):
    step, total = torch.load("checkpoint.pt").values()
    print(f"rank {rank} goes on from step {step}", flush=True)
while step < 20:
    x = torch.ones(1) * (step + rank)
    dist.all_reduce(x)
    total += x
    step += 1
    if sys.argv[1] == "raise" and rank == 1 and step == 3:
        raise ValueError("rank 1 breaks")
    if sys.argv[1] == "kill" and rank == 1 and step == 13 and attempt == 0:
        os.kill(os.getpid(), 9)
    if step % 5 == 0:
        if rank == 0:
            torch.save({"step": step, "total": total}, "checkpoint.pt")
        dist.barrier()
weight = torch.ones(3, requires_grad=True)
(weight * 2).detach().sum()
(weight * 0 + 1).sum().backward()
unused = torch.ones(1, requires_grad=True)
print(f"rank {rank} of {os.environ['WORLD_SIZE']}: {total.item()}", unused.grad, sys.argv[2:], flush=True)
'''


def launch(folder: Path, *arguments: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run([sys.executable, "-m", "whygrad", *arguments], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=120, check=False)


def test_a_rank_that_raises(tmp_path: Path) -> None:
    done = launch(tmp_path, "launch", "-n", "2", "train.py", "raise")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if not line.startswith("whygrad: backend")]
    assert said[0] == "Traceback (most recent call last):"
    assert "ValueError: rank 1 breaks" in said
    assert done.stderr.count("Traceback") == 1, done.stderr


# What fails in rank 1, and where: rank 0 waits for it in MPI, or computes.
FAILING = '''\
import os, sys, time
def fail():
    if os.environ["RANK"] == "1":
        {how}
{early}
import torch.distributed as dist
dist.init_process_group("mpi")
{late}
time.sleep(60)
'''
RAISES, EXITS = "raise ValueError('early')", "sys.exit(3)"
EARLY = {"raises before MPI": ("fail()", RAISES, "", 1), "exits before MPI": ("fail()", EXITS, "", 3),
         "exits in a group": ("", EXITS, "fail()", 3)}


@pytest.mark.parametrize("case", EARLY)
def test_a_rank_that_fails_early(tmp_path: Path, case: str) -> None:
    early, how, late, status = EARLY[case]
    done = launch(tmp_path, "launch", "--quiet", "-n", "2", "train.py", program=FAILING.format(early=early, how=how, late=late))
    assert done.returncode == status, done.stderr
    assert ("ValueError: early" in done.stderr) == ("raises" in case)


def test_a_killed_rank_and_a_restart(tmp_path: Path) -> None:
    done = launch(tmp_path, "launch", "-n", "2", "--restarts", "1", "train.py", "kill", "--lr", "1")
    assert done.returncode == 0, done.stderr
    for rank in range(2):  # their lines may be mixed
        assert f"rank {rank} goes on from step 10" in done.stdout
        assert f"rank {rank} of 2: 400.0" in done.stdout
    assert done.stdout.count("None ['--lr', '1']") == 2
    assert "restart 1 of 1" in done.stderr
    heads = [line for line in done.stderr.splitlines() if line.startswith("whygrad [")]
    assert len(heads) == 1, done.stderr  # what both ranks have to say is said once
    assert "[ranks 0, 1]" in heads[0]


def test_a_line_of_torchrun(tmp_path: Path) -> None:
    done = launch(tmp_path, "run", "--engine=whygrad", "--quiet", "torchrun", "--standalone", "--nproc_per_node=2", "train.py",
                  "x")
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"rank . of 2", done.stdout)) == ["rank 0 of 2", "rank 1 of 2"]


@pytest.mark.parametrize(("line", "told"), [(["torchrun"], []), (["-m", "torch.distributed.launch"], ["--local-rank=0"]),
                                            (["-m", "torch.distributed.launch", "--use-env"], [])])
def test_lines_of_launchers(tmp_path: Path, line: list[str], told: list[str]) -> None:
    program = "import sys\nimport torch.distributed as dist\nprint(dist.is_torchelastic_launched(), *sys.argv[1:])\n"
    done = launch(tmp_path, "run", "--engine", "whygrad", "--quiet", *line, "--nproc-per-node", "1", "train.py", "x",
                  program=program)
    assert done.stdout.split() == ["True", *told, "x"], done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (["-n", "0", "train.py"], "give a positive number"),
    (["-n", "2", "--nnodes=2", "train.py"], "srun whygrad run train.py")])
def test_refusals(arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit, match=words):
        launching.main(arguments)


def test_options_without_effect_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="give a positive number"):
        launching.main(["-n", "0", "--log-dir", "logs", "-t", "3", "--rdzv-endpoint=localhost:0", "train.py"])
    said = capsys.readouterr().err
    assert "--log-dir has no effect" in said
    assert "-t has no effect" in said
    assert "rdzv" not in said


SPAWNING = '''\
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size, text):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("gloo", rank=rank, world_size=size)
    x = torch.ones(1) * (rank + 1)
    dist.all_reduce(x)
    print(f"[{text} {rank} {x.item()} {torch.__name__}]", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2, "it"), nprocs=2)
'''
DRIFTING = '''\
import torch
import torch.distributed as dist

dist.init_process_group("mpi")
torch.manual_seed(dist.get_rank())
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).square().mean().backward()
    for p in model.parameters():
        dist.all_reduce(p.grad, dist.ReduceOp.AVG)
    optimizer.step()
'''


def test_spawned_processes_form_a_group(tmp_path: Path) -> None:
    done = launch(tmp_path, "run", "--engine=whygrad", "--quiet", "train.py", program=SPAWNING)
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"\[it . 3.0 torch\]", done.stdout)) == ["[it 0 3.0 torch]", "[it 1 3.0 torch]"]


def test_ranks_that_drift_apart(tmp_path: Path) -> None:
    done = launch(tmp_path, "launch", "-n", "2", "train.py", program=DRIFTING)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("[ranks-diverge]") == 1
    assert "differ before the first step" in done.stderr
    assert "train.py:6: torch.nn.Linear(3, 1)" in done.stderr
