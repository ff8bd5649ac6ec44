"""What explanations cost: `python -m benchmarks.recording`.

The chain of small operations, with the recording of sites and causes and with it compiled out of the rows, timed in
alternating processes; and the memory that a million operations under `no_grad` leave behind.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.workloads import small_chain

ROOT = Path(__file__).resolve().parent.parent

# What the function of a row does only for explanations: the beginnings of its lines.
RECORDING = ("frame = getframe", "try:", "while internal_modules", "except (KeyError", "node.site_code =", "node.lasti =",
             "node.cuts =", "t0._cause = ()")


def compile_recording_out() -> None:
    """From now on rows are compiled without it. Not fit for anything but timing."""
    from whygrad.core import record

    plain = record.recorder_source

    def without(spec: record.RowSpecialization, **options: bool) -> str:
        lines = plain(spec, **options).splitlines(keepends=True)
        return "".join(line for line in lines if not line.lstrip().startswith(RECORDING) or "forward" in line)

    assert ("mul", "tt") not in record._specializations, "the row is compiled already"
    text = plain(record.specialization_of(record.TABLE["mul"], "tt"))
    assert all(any(line.lstrip().startswith(start) for line in text.splitlines()) for start in RECORDING), "a line has changed"
    record.recorder_source = without


def seconds_per_op(recording: bool, budget: float) -> float:
    import whygrad

    if not recording:
        compile_recording_out()
    run = small_chain(whygrad)
    run()
    best, until = float("inf"), time.perf_counter() + budget
    while time.perf_counter() < until:
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best / 1000


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth_without_grad(operations: int) -> int:
    """Bytes by which a loop of small operations under `no_grad`, on tensors that want gradients, makes the process larger."""
    import whygrad as torch

    w = torch.ones(8, requires_grad=True)

    def loop(count: int) -> None:
        y = w
        with torch.no_grad():
            for _ in range(count // 2):
                y = y * w + 0.5

    loop(10_000)
    before = resident()
    loop(operations)
    return resident() - before


def in_a_process(*arguments: str) -> float:
    done = subprocess.run([sys.executable, "-m", "benchmarks.recording", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    result: float = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds; the best of each is kept (default 5)")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each measurement (default 1)")
    parser.add_argument("--measure", choices=["with", "without", "memory"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure == "memory":
        print(json.dumps(growth_without_grad(1_000_000)))
        return
    if args.measure:
        print(json.dumps(seconds_per_op(args.measure == "with", args.budget)))
        return
    best = {"with": float("inf"), "without": float("inf")}
    for number in range(args.rounds):
        for which in ("with", "without") if number % 2 else ("without", "with"):
            best[which] = min(best[which], in_a_process("--measure", which, "--budget", str(args.budget)))
    extra = best["with"] / best["without"] - 1
    print(f"a small operation, forward and backward: {best['with'] * 1e6:.2f} µs with recording, {best['without'] * 1e6:.2f} µs "
          f"without: {extra:+.1%} (at most 8%)")
    grown = in_a_process("--measure", "memory")
    print(f"a million operations under no_grad: {grown / 2**20:+.2f} MiB (less than 1)")


if __name__ == "__main__":
    main()
