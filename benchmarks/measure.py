"""One process, one library: time the named workloads and print, as JSON, the shortest time of each and the median."""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time


def main() -> None:
    library, budget, *names = sys.argv[1:]
    start = time.perf_counter()
    module = importlib.import_module(library)
    results = {"import": [time.perf_counter() - start]}
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
        times: list[float] = []
        until = time.perf_counter() + float(budget)
        while len(times) < 3 or time.perf_counter() < until:
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        results[name] = [min(times) / operations, statistics.median(times) / operations]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
