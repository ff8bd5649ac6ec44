"""`python -m benchmarks.first_use`: what short programs cost besides the import of the library.

Each of examples/ (with few steps), tests/seeds and some of tests/why/cases runs in a process of its own, on both libraries in
turns. The CPU time of all its threads, from the end of the imports to the end of the program, is compared: most of it is the
first use of everything, not arithmetic. Both have one thread (`--threads`): those that wait for work would count. Modules that
a library loads lazily (the compiler of torch's optimizers takes a second, whygrad's modules and random numbers 50 ms) are
imported before; with --lazy they are part of what is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import math
import os
import pkgutil  # noqa: F401 (runpy loads it for the first program)
import runpy
import sys
import time
import warnings
from pathlib import Path

from benchmarks.__main__ import ROOT, alternate, print_ratios, run_module

STEPS = 12
SHARE_OF_CASES = 20  # one in so many

PATHS = {str(path.relative_to(ROOT)): path for path in [
    *(path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != "demo"),
    *sorted((ROOT / "tests" / "seeds").glob("*.py")),
    *sorted((ROOT / "tests" / "why" / "cases").rglob("*.py"))[::SHARE_OF_CASES]]}


# Loaded by the first use of a module, an optimizer, random numbers.
LAZY = {"torch": ("torch._dynamo", "torch.utils.data"),
        "whygrad": ("torch.nn", "torch.nn.functional", "torch.optim", "torch.utils.data", "torch.distributions")}


def measure(library: str, path: Path, steps: int, lazy: bool) -> float:
    """CPU seconds of the program. Some end with an error, which is what they show."""
    if library == "whygrad":
        from whygrad import alias

        alias.install()
    import torch

    if not lazy:
        for name in LAZY[library]:
            importlib.import_module(name)
        torch.manual_seed(0)
    sys.argv = [str(path), *(["--steps", str(steps)] if path.parent.name == "examples" else [])]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        try:
            runpy.run_path(str(path), run_name="__main__")
        finally:
            seconds = time.process_time() - begin
    return seconds


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in ("torch", "whygrad"):
        library, steps, name, *lazy = sys.argv[1:]
        print(json.dumps({name: [measure(library, PATHS[name], int(steps), bool(lazy))]}))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_use", description=__doc__)
    parser.add_argument("programs", nargs="*", help="beginnings of paths, such as examples (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds; the best of each is kept (default 3)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"training steps of each example (default {STEPS})")
    parser.add_argument("--threads", type=int, default=1, help="OMP_NUM_THREADS of both libraries (default 1)")
    parser.add_argument("--lazy", action="store_true", help="count the modules that are loaded at their first use")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    names = [name for name in PATHS if not args.programs or name.startswith(tuple(args.programs))]
    if not names:
        parser.error(f"no program begins like this; there are: {', '.join(PATHS)}")

    def all_of(library: str) -> dict[str, list[float]]:
        lazy = ["lazy"] * args.lazy
        return {name: run_module("benchmarks.first_use", library, str(args.steps), name, *lazy)[name] for name in names}

    best = alternate(args.rounds, all_of)
    print_ratios(f"CPU time after import, best of {args.rounds} rounds", names, best)
    ours, theirs = ([best[library][name][0] for name in names] for library in ("whygrad", "torch"))
    mean = math.exp(sum(math.log(a / b) for a, b in zip(ours, theirs, strict=True)) / len(names))
    print(f"\nCPU time after import, whygrad / torch: {sum(ours) / sum(theirs):.2f} in all, {mean:.2f} in the geometric mean")


if __name__ == "__main__":
    main()
