"""Kills ranks at random moments: `python tests/fuzz/kill_ranks.py [times] [seed]`.

Each time a rank of a program is killed (kill -9) after a random while, and `whygrad launch --restarts 1` goes on from the last
checkpoint. It must end well, with the right result, at most STEPS_BETWEEN steps lost, and no process left.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
STEPS, STEPS_BETWEEN = 60, 5
START_SECONDS = 200  # of a busy machine
PROGRAM = f"""
import os, sys, time
import torch
import torch.distributed as dist

rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
open(f"pid.{{rank}}.{{attempt}}", "w").write(str(os.getpid()))
dist.init_process_group("mpi")
step, total = 0, torch.zeros(1)
if os.path.exists("checkpoint.pt"):
    step, total = torch.load("checkpoint.pt").values()
    print(f"\\nresumed {{step}}", flush=True)
while step < {STEPS}:
    x = torch.ones(1) * (step + dist.get_rank())
    dist.all_reduce(x)
    total += x
    step += 1
    time.sleep(0.005)
    open(f"step.{{rank}}.{{attempt}}", "w").write(str(step))
    if step % {STEPS_BETWEEN} == 0 and rank == "0":
        torch.save({{"step": step, "total": total}}, "checkpoint.pt")
dist.barrier()
print(f"\\nresult {{total.item()}}", flush=True)
"""


def kill_once(folder: Path, rank: int, delay: float) -> str:
    """What went wrong; "" if nothing did."""
    (folder / "train.py").write_text(PROGRAM)
    process = subprocess.Popen([sys.executable, "-m", "whygrad", "launch", "--quiet", "-n", "2", "--restarts", "1", "train.py"],
                               cwd=folder, env={**os.environ, "PYTHONPATH": SOURCE}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    pid_file, began = folder / f"pid.{rank}.0", time.monotonic()
    while not (pid_file.exists() and pid_file.read_text()):
        time.sleep(0.01)
        if process.poll() is not None or time.monotonic() - began > START_SECONDS:
            process.kill()
            out, err = process.communicate()
            return f"it did not start, status {process.returncode}\n{out}{err}"
    time.sleep(delay)
    was_killed = True
    try:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
    except ProcessLookupError:
        was_killed = False  # it had ended
    try:
        out, err = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        process.kill()
        return "it hangs"
    expected = float(sum(2 * step + 1 for step in range(STEPS)))
    results = [float(text) for text in re.findall(r"result ([\d.]+)", out)]
    if process.returncode or results[-2:] != [expected, expected]:
        return f"status {process.returncode}, results {results}\n{err}"
    reached = max([int(path.read_text() or 0) for path in folder.glob("step.*.0")], default=0)
    resumed = [int(text) for text in re.findall(r"resumed (\d+)", out)]
    if was_killed and "restart 1 of 1" in err and reached - min(resumed, default=0) > STEPS_BETWEEN + 1:
        return f"killed in step {reached}, resumed from {resumed}"
    for path in folder.glob("pid.*"):
        if os.path.exists(f"/proc/{path.read_text()}"):
            return f"process {path.read_text()} is left"
    return ""


def main(times: int = 20, seed: int = 0) -> None:
    choose = random.Random(seed)
    failed = 0
    for i in range(times):
        rank, delay = choose.randrange(2), choose.uniform(0, 1.5)
        with tempfile.TemporaryDirectory() as folder:
            wrong = kill_once(Path(folder), rank, delay)
        failed += bool(wrong)
        print(f"{i}: rank {rank} after {delay:.2f} s: {wrong or 'well'}", flush=True)
    print(f"{times} kills, {failed} failures")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
