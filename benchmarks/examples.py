"""`python -m benchmarks.examples`: time the programs of examples/ on both libraries, in turns, and print the ratios."""

from __future__ import annotations

import argparse

from benchmarks.__main__ import alternate, print_ratios, run_module
from benchmarks.measure_examples import EXAMPLES

PROGRAMS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "demo")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.examples", description=__doc__)
    parser.add_argument("programs", nargs="*", help=f"which to run (default: all of {', '.join(PROGRAMS)})")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds; the best of each is kept (default 3)")
    parser.add_argument("--steps", type=int, default=50, help="training steps of each program (default 50)")
    args = parser.parse_args()
    unknown = set(args.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"no program called {', '.join(sorted(unknown))}; there are: {', '.join(PROGRAMS)}")
    programs = args.programs or PROGRAMS
    best = alternate(args.rounds, lambda library: run_module("benchmarks.measure_examples", library, str(args.steps), *programs))
    print_ratios(f"{args.steps} training steps, best of {args.rounds} rounds", programs, best)


if __name__ == "__main__":
    main()
