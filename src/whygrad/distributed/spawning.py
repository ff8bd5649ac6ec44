"""torch.multiprocessing.spawn through MPI's launcher: the processes it starts can form a process group.

Each of them reads from a file what Python's own spawned processes get: how to prepare the interpreter, the function and its
arguments.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import current_process
from multiprocessing import spawn as python_spawn
from pathlib import Path
from typing import Any

from whygrad.base.engine_choice import is_launched_by_mpi
from whygrad.distributed import launcher
from whygrad.distributed.rendezvous import is_installed

SOURCE = str(Path(__file__).parents[2])


def can_spawn(fn: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether there is MPI, and nothing in the arguments that Python hands on to its own children only: queues, shared memory."""
    if not is_installed() or is_launched_by_mpi() or launcher.mpiexec_path() is None:
        return False
    try:
        pickle.dumps((fn, args))
    except Exception:
        return False
    return True


def spawn(fn: Callable[..., Any], args: tuple[Any, ...], nprocs: int) -> None:
    """Run `fn(rank, *args)` in so many processes; raises if one fails, after it has printed its traceback."""
    preparation = {**python_spawn.get_preparation_data("rank"), "authkey": bytes(current_process().authkey)}
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(pickle.dumps(preparation))
        file.write(pickle.dumps((fn, args)))
        file.flush()
        path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-c", f"from {__name__} import run; run({file.name!r})"]
        status = launcher.run(nprocs, command, environment={"PYTHONPATH": path})
    if status:
        raise RuntimeError(f"a spawned process ended with status {status}: its traceback is above")


def run(path: str) -> None:
    """What a spawned process does."""
    from whygrad import alias

    with open(path, "rb") as file:
        preparation = pickle.load(file)
        if preparation["sys_path"][0] == alias._SHIM:
            alias.install()
        python_spawn.prepare(preparation)
        fn, args = pickle.load(file)
    fn(int(os.environ["PMI_RANK"] if "PMI_RANK" in os.environ else os.environ["OMPI_COMM_WORLD_RANK"]), *args)
