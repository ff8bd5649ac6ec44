"""Runs programs, each in a process of its own that is forked from this one.

`python case_server.py torch` runs them on PyTorch, `whygrad` under `whygrad run`, `torch-explained` under
`whygrad run --engine torch`.

A line of standard input is the path of a program; the answer is a line of JSON: what it printed, how it ended and, of
whygrad, the answers of `whygrad run`. Forking saves the time to import torch hundreds of times.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import pkgutil
import runpy
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any


def in_torch(path: str, _: str) -> int:
    runpy.run_path(path, run_name="__main__")
    return 0


def in_whygrad(path: str, answers: str) -> int:
    from whygrad import cli

    return cli.main(["run", f"--json={answers}", path]) or 0


def explained(path: str, answers: str) -> int:
    from whygrad import cli

    return cli.main(["run", "--engine=torch", f"--json={answers}", path]) or 0


def load_explanations() -> None:
    """What every program would load for itself."""
    import whygrad.why

    for module in pkgutil.walk_packages(whygrad.why.__path__, "whygrad.why."):
        importlib.import_module(module.name)


def child(run: Any, path: str, folder: str) -> None:
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY), number)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    warnings.simplefilter("ignore")
    code = 1
    try:
        code = run(path, f"{folder}/answers")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve(run: Any) -> None:
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            process = os.fork()
            if process == 0:
                child(run, line.strip(), folder)
            _, status = os.waitpid(process, 0)
            found = Path(folder)
            answers = json.loads((found / "answers").read_text()) if (found / "answers").exists() else None
            print(json.dumps({"stdout": (found / "stdout").read_text(), "stderr": (found / "stderr").read_text(),
                              "code": os.waitstatus_to_exitcode(status), "answers": answers}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "torch-explained":
        import whygrad.for_torch.engine

        load_explanations()
    if sys.argv[1] != "whygrad":
        import torch

        torch.set_num_threads(1)
        torch.optim.SGD([torch.zeros(1)])  # the first optimizer imports torch's compiler
        serve(in_torch if sys.argv[1] == "torch" else explained)
    else:
        import whygrad.nn
        import whygrad.optim

        load_explanations()
        whygrad.manual_seed(0)
        serve(in_whygrad)
