"""`python -m benchmarks`: run everything on both libraries, in turns, and print the ratios.

First of the shortest times, which are those of an undisturbed machine; then of the medians of the calmest round.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent

Times = dict[str, list[float]]  # by name: the shortest, and perhaps the median


def run_module(module: str, library: str, *arguments: str) -> dict[str, list[float]]:
    """What a module of ours has measured in a process of its own, by name."""
    command = [sys.executable, "-m", module, library, *arguments]
    # As installed packages are: with their bytecode cached.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        missing = "No module named 'torch'" in done.stderr
        sys.exit("This compares with PyTorch: pip install '.[test]'" if missing else f"{library} failed:\n{done.stderr}")
    result: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return result


def readable(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def alternate(rounds: int, measure: Callable[[str], Times]) -> dict[str, Times]:
    """Measure both libraries in turns, and keep the best times of each name."""
    best: dict[str, Times] = {"torch": {}, "whygrad": {}}
    for number in range(rounds):
        for library in ("torch", "whygrad") if number % 2 == 0 else ("whygrad", "torch"):
            print(f"round {number + 1} of {rounds}: {library}", file=sys.stderr)
            for name, times in measure(library).items():
                best[library][name] = list(map(min, times, best[library].get(name, times)))
    return best


def print_ratios(what: str, names: list[str], best: dict[str, Times]) -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}; {what}\n")
    print(f"{'':<32}{'torch':>12}{'whygrad':>12}{'ratio':>8}{'medians':>10}")
    for name in names:
        theirs, ours = best["torch"][name], best["whygrad"][name]
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        print(f"{name:<32}{readable(theirs[0]):>12}{readable(ours[0]):>12}{ratios[0]:>8.2f}"
              f"{''.join(f'{ratio:>10.2f}' for ratio in ratios[1:])}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"which to run (default: all of {', '.join(WORKLOADS)})")
    parser.add_argument("--rounds", type=int, default=4, help="alternating rounds; the best of each is kept (default 4)")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each workload and round (default 1)")
    args = parser.parse_args()
    unknown = set(args.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload called {', '.join(sorted(unknown))}; there are: {', '.join(WORKLOADS)}")
    names = args.workloads or list(WORKLOADS)
    best = alternate(args.rounds, lambda library: run_module("benchmarks.measure", library, str(args.budget), *names))
    print_ratios(f"time per operation or step, best of {args.rounds} rounds", ["import", *names], best)


if __name__ == "__main__":
    main()
