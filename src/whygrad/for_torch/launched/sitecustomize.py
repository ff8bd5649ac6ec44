"""Found first by the interpreters that a launcher such as torchrun starts: runs the program of a rank under `whygrad run`.

for_torch/launching.py puts this folder into PYTHONPATH. The interpreter of a rank is replaced by one with the environment as it
was before that; every other one goes on as it is, with the `sitecustomize` that it would have found.
"""

import contextlib
import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = "WHYGRAD_RANK_COMMAND"


def run_rank() -> None:
    """Replace this interpreter, if it runs the program of a rank."""
    import json

    flags, program = split(sys.orig_argv[1:])
    if not program or "RANK" not in os.environ or COMMAND not in os.environ or os.name == "nt":
        return
    environment = dict(os.environ)
    command = json.loads(environment.pop(COMMAND))
    paths = [path for path in environment.pop("PYTHONPATH", "").split(os.pathsep) if path and os.path.abspath(path) != HERE]
    if paths:
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    os.execve(sys.executable, [sys.executable, *flags, *command, *program], environment)


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split the arguments of Python into its flags and the program: a script or a module."""
    flags: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "-c" or argument == "-":
            return flags, []
        if argument == "-m" or not argument.startswith("-"):
            return flags, [argument, *rest]
        flags.append(argument)
        if argument in ("-W", "-X"):
            flags.append(next(rest, ""))
    return flags, []


def go_on() -> None:
    """Import the `sitecustomize` in whose place this file was found."""
    own = sys.modules.pop("sitecustomize")
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != HERE]
    try:
        importlib.import_module("sitecustomize")
    except ImportError:
        sys.modules.setdefault("sitecustomize", own)


with contextlib.suppress(Exception):  # otherwise the program runs unobserved
    run_rank()
go_on()
