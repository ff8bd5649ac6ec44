"""Compiled training steps: torch eager, torch.compile, jax.jit if it is installed, whygrad eager and compiled.

`python -m benchmarks.compiled [--rounds N] [--threads N] [--torch-compile] [NAME ...]`. Each measurement is a process of its own,
with two threads unless told otherwise; processes alternate, and the shortest step counts. `--one ENGINE NAME` is one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

ENGINES = ("torch", "torch.compile", "whygrad", "compiled")
# Of torch eager at most, as ratios of step times.
GOALS = {"tiny MLP": 0.08, "gradient penalty": 0.30, "pointwise": 0.14, "MLP, Adam": 0.35, "wide MLP, AdamW": 0.55, "GPT": 0.52,
         "LSTM": 0.65, "CNN": 0.28, "PINN": 0.25, "REINFORCE": 0.25, "MAML": 0.25, "neural ODE": 0.25}


def measure(engine: str, name: str, seconds: float) -> dict[str, float]:
    """The first step's time, and the shortest of the following ones, in microseconds."""
    if engine in ("torch", "torch.compile"):
        import torch as library
    else:
        import whygrad as library
    library.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    from benchmarks.steps import STEPS

    library.manual_seed(0)
    step, arguments, _ = STEPS[name](library)
    run: Any = step if engine in ("torch", "whygrad") else library.compile(step)
    batches = [arguments() for _ in range(4)]
    begin = time.perf_counter()
    run(*batches[0])
    first = time.perf_counter() - begin
    for i in range(2):
        run(*batches[i])
    warm = time.perf_counter() + seconds / 2
    calls = 0
    while time.perf_counter() < warm or (calls < 400 and time.perf_counter() < warm + seconds):
        run(*batches[calls % 4])
        calls += 1
    each = max(1, calls // 200)
    best = float("inf")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        begin = time.perf_counter()
        for i in range(each):
            run(*batches[i % 4])
        best = min(best, (time.perf_counter() - begin) / each)
    return {"first": first * 1e6, "step": best * 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--torch-compile", action="store_true", help="takes 8 to 60 s for each workload, and a C++ compiler")
    parser.add_argument("--one", metavar="ENGINE")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.names[0], given.seconds)))
        return
    engines = [engine for engine in ENGINES if engine != "torch.compile" or given.torch_compile]
    from benchmarks.steps import STEPS

    environment = {**os.environ, **{f"{library}_NUM_THREADS": str(given.threads) for library in ("OMP", "MKL", "OPENBLAS")}}
    columns = "".join(f"{engine:>15}" for engine in engines[1:])
    print(f"{'':18}{'torch (us)':>12}{columns}{'goal':>8}{'first call (ms)':>18}")
    for name in given.names or STEPS:
        best: dict[str, dict[str, float]] = {}
        for _ in range(given.rounds):
            for engine in engines:
                command = [sys.executable, "-m", "benchmarks.compiled", "--one", engine, "--seconds", str(given.seconds), name]
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
                if done.returncode:
                    continue
                found = json.loads(done.stdout.splitlines()[-1])
                known = best.setdefault(engine, found)
                best[engine] = {key: min(value, found[key]) for key, value in known.items()}
        base = best["torch"]["step"]
        ratios = [f"{best[engine]['step'] / base:15.3f}" if engine in best else f"{'-':>15}" for engine in engines[1:]]
        first = best["compiled"]["first"] / 1e3 if "compiled" in best else float("nan")
        print(f"{name:18}{base:12.1f}{''.join(ratios)}{GOALS.get(name, float('nan')):8.2f}{first:18.1f}", flush=True)


if __name__ == "__main__":
    main()
