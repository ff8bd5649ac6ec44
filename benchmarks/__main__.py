"""`python -m benchmarks`: run everything on both libraries, in turns, and print the ratios."""

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


def run_module(module: str, library: str, *arguments: str) -> dict[str, float]:
    """Seconds by name, measured by a module of ours in a process of its own."""
    command = [sys.executable, "-m", module, library, *arguments]
    # As installed packages are: with their bytecode cached.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{library} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def readable(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def alternate(rounds: int, measure: Callable[[str], dict[str, float]]) -> dict[str, dict[str, float]]:
    """Measure both libraries in turns, and keep the best time of each name."""
    best: dict[str, dict[str, float]] = {"torch": {}, "whygrad": {}}
    for number in range(rounds):
        for library in ("torch", "whygrad") if number % 2 == 0 else ("whygrad", "torch"):
            print(f"round {number + 1} of {rounds}: {library}", file=sys.stderr)
            for name, seconds in measure(library).items():
                best[library][name] = min(seconds, best[library].get(name, seconds))
    return best


def print_ratios(what: str, names: list[str], best: dict[str, dict[str, float]]) -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}; {what}\n")
    print(f"{'':<32}{'torch':>12}{'whygrad':>12}{'ratio':>8}")
    for name in names:
        theirs, ours = best["torch"][name], best["whygrad"][name]
        print(f"{name:<32}{readable(theirs):>12}{readable(ours):>12}{ours / theirs:>8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"which to run (default: all of {', '.join(WORKLOADS)})")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds; the best of each is kept (default 3)")
    parser.add_argument("--budget", type=float, default=0.6, help="seconds for each workload and round (default 0.6)")
    args = parser.parse_args()
    unknown = set(args.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload called {', '.join(sorted(unknown))}; there are: {', '.join(WORKLOADS)}")
    names = args.workloads or list(WORKLOADS)
    best = alternate(args.rounds, lambda library: run_module("benchmarks.measure", library, str(args.budget), *names))
    print_ratios(f"time per operation or step, best of {args.rounds} rounds", ["import", *names], best)


if __name__ == "__main__":
    main()
