"""What `whygrad run` costs a training program: `python -m benchmarks.watching`.

The same program, plain (`python program.py`) and under `whygrad run`, in alternating processes. The figure is the ratio of the
shortest CPU times (user and system) of all steps, the closely watched first ones included, but without imports and the very first
call, which compiles kernels; on one thread, since threads that wait for each other spend CPU time. `--memory` prints the resident
memory of a watched run after 1, 10, 25 and 50 thousand steps.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The training workloads, and how often a run calls each: five seconds or so, and at least 500 steps of an optimizer.
CALLS = {"tiny MLP step": 1000, "MLP + Adam step": 600, "MLP 784-256-128-10 + Adam": 3000,
         "wide MLP + AdamW": 500, "small GPT + AdamW": 500, "LSTM + Adam": 500, "CNN + Adam": 1500, "residual block": 500,
         "gradient penalty": 5000}
MEMORY = (1000, 10_000, 25_000, 50_000)

TIMED = """\
import os, sys
import whygrad as torch
from benchmarks.training import TRAINING
from benchmarks.workloads import WORKLOADS

run = {**WORKLOADS, **TRAINING}[sys.argv[1]][0](torch)
run()
begin = os.times()
for _ in range(int(sys.argv[2])):
    run()
end = os.times()
print(end.user + end.system - begin.user - begin.system)
"""

# A small model, with what training loops have beside: a schedule, clipping, a log of numbers, validation.
GROWING = """\
import sys
import whygrad as torch
from benchmarks.recording import resident

nn = torch.nn
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10_000)
marks = [int(mark) for mark in sys.argv[1:]]
for number in range(1, max(marks) + 1):
    x, y = torch.randn(16, 32), torch.randint(0, 10, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    schedule.step()
    if number % 500 == 0:
        model.eval()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        model.train()
    if number in marks:
        print(f"{number:>6} steps: {resident() / 2**20:.1f} MiB", flush=True)
"""


def output_of(program: str, watched: bool, *arguments: str) -> str:
    """What a program prints, plain or under `whygrad run`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")
        file.write_text(program)
        how = ["-m", "whygrad", "run", "--engine", "whygrad", "--quiet"] if watched else []
        paths = filter(None, [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        # As installed packages are: with their bytecode cached.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run([sys.executable, *how, str(file), *arguments], cwd=ROOT, capture_output=True, text=True,
                              env={**environment, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watching", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"which to run (default: all of {', '.join(CALLS)})")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds; the best of each is kept (default 3)")
    parser.add_argument("--share", type=float, default=1.0, help="of the calls of each run (default 1)")
    parser.add_argument("--memory", nargs="*", type=int, metavar="STEPS", help="instead, the memory after these steps")
    args = parser.parse_args()
    if args.memory is not None:
        print(output_of(GROWING, True, *map(str, args.memory or MEMORY)), end="")
        return
    unknown = set(args.workloads) - set(CALLS)
    if unknown:
        parser.error(f"no workload called {', '.join(sorted(unknown))}; there are: {', '.join(CALLS)}")
    print(f"{'':<32}{'plain':>10}{'run':>10}{'ratio':>8}   (at most 1.10)")
    for name in args.workloads or CALLS:
        calls = max(1, int(CALLS[name] * args.share))
        best = {False: float("inf"), True: float("inf")}
        for number in range(args.rounds):
            for watched in (False, True) if number % 2 == 0 else (True, False):
                best[watched] = min(best[watched], float(output_of(TIMED, watched, name, str(calls))))
        print(f"{name:<32}{best[False]:>8.2f} s{best[True]:>8.2f} s{best[True] / best[False]:>8.3f}", flush=True)


if __name__ == "__main__":
    main()
