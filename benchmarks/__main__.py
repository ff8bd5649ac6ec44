"""`python -m benchmarks`: run everything on both libraries, in turns, and print the ratios."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent


def measure(library: str, budget: float, names: list[str]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.measure", library, str(budget), *names]
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
    best: dict[str, dict[str, float]] = {"torch": {}, "whygrad": {}}
    for number in range(args.rounds):
        for library in ("torch", "whygrad") if number % 2 == 0 else ("whygrad", "torch"):
            print(f"round {number + 1} of {args.rounds}: {library}", file=sys.stderr)
            for name, seconds in measure(library, args.budget, names).items():
                best[library][name] = min(seconds, best[library].get(name, seconds))
    print(f"{platform.machine()}, Python {platform.python_version()}; time per operation or step, best of {args.rounds} rounds\n")
    print(f"{'workload':<22}{'torch':>12}{'whygrad':>12}{'ratio':>8}")
    for name in ["import", *names]:
        theirs, ours = best["torch"][name], best["whygrad"][name]
        print(f"{name:<22}{readable(theirs):>12}{readable(ours):>12}{ours / theirs:>8.2f}")


if __name__ == "__main__":
    main()
