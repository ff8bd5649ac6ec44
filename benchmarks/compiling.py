"""How long kernels take to compile: `python -m benchmarks.compiling`.

Training steps and single operations in a process with an empty cache: of each object that LLVM makes, the time of its parts. Then
the same with the cache filled, and how long a program waits for the first step of a small network, with its imports, both ways.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.operations import OPERATIONS
from benchmarks.operations import WORKLOADS as SINGLE
from benchmarks.training import TRAINING, small_gpt

ROOT = Path(__file__).resolve().parent.parent

# The parts of compiling: functions of whygrad.kernels.llvm, and what they are called here.
PARTS = {"text": "write", "parsed": "parse", "improve": "passes", "emitted": "emit"}
MOST = 0.030  # seconds for one object
MOST_COLD, MOST_WARM = 2.0, 0.5  # for the first step

Times = dict[str, dict[str, float]]


def watch() -> Times:
    """From now on: what each object took, in seconds by part ("all" with linking and the cache), and its "bytes"."""
    from whygrad.kernels import code, llvm

    found: Times = {}
    under_way: list[dict[str, float]] = []

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            begin = time.perf_counter()
            result = function(*args)
            under_way[-1][name] = time.perf_counter() - begin
            if name == "emit":
                under_way[-1]["bytes"] = len(result)
            return result

        return run

    def load(key: str, build: Any, plain: Callable[..., int] = code._load) -> int:
        under_way.append({})
        address = timed("all", plain)(key, build)
        found[key] = under_way.pop()
        return address

    for function, name in PARTS.items():
        setattr(llvm, function, timed(name, getattr(llvm, function)))
    code._load = load
    return found


def compile_all(names: list[str]) -> Times:
    import whygrad

    found = watch()
    for name in names:
        (TRAINING | SINGLE)[name][0](whygrad)()
    return found


def first_step() -> dict[str, float]:
    begin = time.perf_counter()
    import whygrad

    imported = time.perf_counter()
    small_gpt(whygrad)()
    return {"import": imported - begin, "step": time.perf_counter() - imported}


def in_a_process(cache: str, kernels: str, *arguments: str) -> Any:
    # As installed packages are: with their bytecode cached.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"WHYGRAD_CACHE": cache, "WHYGRAD_KERNELS": kernels}
    done = subprocess.run([sys.executable, "-m", "benchmarks.compiling", *arguments], cwd=ROOT, env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def best(rounds: list[Times]) -> Times:
    """Of each number the smallest."""
    return {key: {part: min(times[key][part] for times in rounds) for part in parts} for key, parts in rounds[0].items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiling", description=__doc__)
    parser.add_argument("workloads", nargs="*", help="which training steps and single operations to run (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each kind; the best of each is kept (default 3)")
    parser.add_argument("--measure", choices=["objects", "first step"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.workloads or [*TRAINING, *SINGLE]
    unknown = set(names) - set(TRAINING) - set(SINGLE)
    if unknown:
        parser.error(f"no workload called {', '.join(sorted(unknown))}; there are: {', '.join(TRAINING)}; and forward or "
                     f"backward of {', '.join(OPERATIONS)}")
    if args.measure:
        print(json.dumps(first_step() if args.measure == "first step" else compile_all(names)))
        return
    cold, warm, steps = [], [], []
    for number in range(args.rounds):
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as cache:
            cold.append(in_a_process(cache, "always", "--measure", "objects", *names))
            warm.append(in_a_process(cache, "always", "--measure", "objects", *names))
        with tempfile.TemporaryDirectory() as cache:
            steps.append([in_a_process(cache, "1", "--measure", "first step") for _ in range(2)])

    compiled, loaded = best(cold), best(warm)
    columns = ["all", *PARTS.values()]
    print(f"{'ms':<10}{''.join(f'{column:>8}' for column in columns[1:])}{'bytes':>8}\n")
    for key, times in sorted(compiled.items(), key=lambda item: -item[1]["all"]):
        parts = [f"{times[column] * 1e3:.1f}" for column in columns]
        print(f"{parts[0]:>7}{' !' if times['all'] > MOST else '  '} {''.join(f'{part:>8}' for part in parts[1:])}"
              f"{times['bytes']:>8.0f}  {key[:60]}")
    slow = [times["all"] for times in compiled.values() if times["all"] > MOST]
    print(f"\n{len(compiled)} objects in {sum(times['all'] for times in compiled.values()):.2f} s, {len(slow)} of them above "
          f"{MOST * 1e3:.0f} ms; loaded from the cache in {sum(times['all'] for times in loaded.values()) * 1e3:.0f} ms")
    for which, name, most in ((0, "an empty", MOST_COLD), (1, "a filled", MOST_WARM)):
        found = min((pair[which] for pair in steps), key=lambda times: sum(times.values()))
        print(f"first step of a small GPT with {name} cache: {sum(found.values()):.2f} s (at most {most} s), of which "
              f"{found['import']:.2f} s are the import of whygrad")


if __name__ == "__main__":
    main()
