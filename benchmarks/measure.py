"""One process, one library: time the named workloads and print the results as JSON."""

from __future__ import annotations

import importlib
import json
import sys
import time


def main() -> None:
    library, budget, *names = sys.argv[1:]
    start = time.perf_counter()
    module = importlib.import_module(library)
    results = {"import": time.perf_counter() - start}
    importlib.import_module(f"{library}.nn")
    importlib.import_module(f"{library}.optim")
    importlib.import_module(f"{library}.func")

    from benchmarks import operations as single
    from benchmarks import workloads

    known = {**workloads.WORKLOADS, **single.WORKLOADS}
    for name in names:
        make, operations = known[name]
        run = make(module)
        run()
        best, until = float("inf"), time.perf_counter() + float(budget)
        repeats = 0
        while repeats < 3 or time.perf_counter() < until:
            begin = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - begin)
            repeats += 1
        results[name] = best / operations
    print(json.dumps(results))


if __name__ == "__main__":
    main()
