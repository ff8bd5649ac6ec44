"""One process, one library: time the named programs of examples/ and print the results as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(program: str, steps: int, torch: Any) -> float:
    """Seconds for the program, imports of the library not counted."""
    path = str(EXAMPLES / f"{program}.py")
    sys.argv = [path, "--steps", str(steps)]
    with contextlib.redirect_stdout(io.StringIO()):
        begin = time.perf_counter()
        runpy.run_path(path, run_name="__main__")
        seconds = time.perf_counter() - begin
    torch.set_default_dtype(torch.float32)
    return seconds


def main() -> None:
    library, steps, *programs = sys.argv[1:]
    if library == "whygrad":
        from whygrad import alias

        alias.install()
    import torch

    results = {}
    for program in programs:
        run(program, 2, torch)  # what is loaded or prepared at the first use is not part of a step
        results[program] = [run(program, int(steps), torch)]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
