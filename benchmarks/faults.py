"""Fresh pages: how many a step asks the system for, and the share of its processor time that the system takes.

`python -m benchmarks.faults` prints both for training steps and large arrays, on both libraries.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import time

from benchmarks.__main__ import run_module
from benchmarks.workloads import WORKLOADS

NAMES = [name for name in WORKLOADS if "step" in name or "Adam" in name or name in (
    "residual block", "gradient penalty", "pointwise, 4M floats", "gelu", "softmax", "layer_norm", "cross_entropy", "dropout",
    "embedding", "max_pool2d")]
WARM_UP, SECONDS = 20, 1.0


def measure(library: str) -> dict[str, list[float]]:
    """By name: fresh pages of a step, and the share of the system in its time."""
    module = importlib.import_module(library)
    importlib.import_module(f"{library}.optim")
    results = {}
    for name in NAMES:
        make, operations = WORKLOADS[name]
        run = make(module)
        for _ in range(WARM_UP):
            run()
        before, until, steps = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() + SECONDS, 0
        while time.perf_counter() < until:
            run()
            steps += 1
        after = resource.getrusage(resource.RUSAGE_SELF)
        system, own = after.ru_stime - before.ru_stime, after.ru_utime - before.ru_utime
        results[name] = [(after.ru_minflt - before.ru_minflt) / steps / operations, system / (system + own)]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("library", nargs="?", choices=("torch", "whygrad"), help="measure one, and print JSON")
    library = parser.parse_args().library
    if library is not None:
        print(json.dumps(measure(library)))
        return
    both = {library: run_module("benchmarks.faults", library) for library in ("torch", "whygrad")}
    print(f"{'':<28}{'fresh pages per step':>26}{'share of the system':>26}")
    print(f"{'':<28}{'torch':>13}{'whygrad':>13}{'torch':>13}{'whygrad':>13}")
    for name in NAMES:
        pages = [f"{found[name][0]:>13.1f}" for found in both.values()]
        shares = [f"{found[name][1]:>13.1%}" for found in both.values()]
        print(f"{name:<28}{''.join((*pages, *shares))}")


if __name__ == "__main__":
    main()
