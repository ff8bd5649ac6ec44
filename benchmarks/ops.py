"""`python -m benchmarks.ops`: time single operations, forward and backward, on both libraries, in turns."""

from __future__ import annotations

import argparse

from benchmarks.__main__ import alternate, print_ratios, run_module
from benchmarks.operations import OPERATIONS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ops", description=__doc__)
    parser.add_argument("operations", nargs="*", help=f"which to run (default: all of {', '.join(OPERATIONS)})")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds; the best of each is kept (default 3)")
    parser.add_argument("--budget", type=float, default=0.1, help="seconds for each operation and round (default 0.1)")
    args = parser.parse_args()
    unknown = set(args.operations) - set(OPERATIONS)
    if unknown:
        parser.error(f"no operation called {', '.join(sorted(unknown))}; there are: {', '.join(OPERATIONS)}")
    names = [f"{name} {direction}" for name in args.operations or OPERATIONS for direction in ("forward", "backward")]
    best = alternate(args.rounds, lambda library: run_module("benchmarks.measure", library, str(args.budget), *names))
    print_ratios(f"time per operation, best of {args.rounds} rounds", names, best)


if __name__ == "__main__":
    main()
