"""Two ranks that stay: of whygrad on MPI, and of PyTorch on gloo. They run functions of the tests and send back what these give.

`outcomes("whygrad", function)` is the list of what both ranks say. A function takes (torch, dist, rank).
"""

from __future__ import annotations

import atexit
import functools
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
SOURCE = str(HERE.parents[1] / "src")
MPIEXEC = next((path for path in (os.path.join(sys.prefix, "bin", "mpiexec"), shutil.which("mpiexec") or "")
                if os.path.exists(path)), "")
needs_mpi = pytest.mark.skipif(not (MPIEXEC and find_spec("mpi4py")), reason="there is no MPI: pip install 'whygrad[mpi]'")


SECONDS = 30


class Pair:
    def __init__(self, kind: str) -> None:
        self.folder = tempfile.mkdtemp()
        listener = Listener(os.path.join(self.folder, "socket"), "AF_UNIX")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((SOURCE, str(HERE), str(HERE.parent))), "OMP_NUM_THREADS": "1",
                       "MEETING": os.path.join(self.folder, "meeting")}
        command = [sys.executable, __file__, kind, listener.address]
        if kind == "whygrad":
            self.processes = [subprocess.Popen([MPIEXEC, "-n", "2", *command], env=environment, stdin=subprocess.DEVNULL)]
        else:
            self.processes = [subprocess.Popen(command, env={**environment, "RANK": str(rank)}) for rank in range(2)]
        connections = [listener.accept() for _ in range(2)]
        self.ranks = [connection for _, connection in sorted((connection.recv(), connection) for connection in connections)]
        listener.close()
        atexit.register(self.stop)

    def ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> list[Any]:
        for rank in self.ranks:
            rank.send((function.__module__, function.__qualname__, arguments))
        for rank in self.ranks:
            assert rank.poll(SECONDS), f"{function.__qualname__}{arguments} hangs"
        return [rank.recv() for rank in self.ranks]

    def stop(self) -> None:
        for rank in self.ranks:
            rank.close()
        for process in self.processes:
            process.wait(20)
        shutil.rmtree(self.folder)


pair = functools.cache(Pair)


def outcomes(kind: str, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return pair(kind).ask(function, arguments)


def plain(value: Any) -> Any:
    """A result in a form that is the same for both libraries."""
    if hasattr(value, "detach"):
        dtype = str(value.dtype).removeprefix("torch.")
        whole = value.detach().double() if dtype in ("bfloat16", "float16") else value.detach()
        return dtype, whole.resolve_conj().numpy().copy() if hasattr(whole, "resolve_conj") else whole.numpy()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def same(ours: Any, theirs: Any, tolerance: float = 1e-6) -> bool:
    if isinstance(theirs, np.ndarray):
        return ours.shape == theirs.shape and np.allclose(ours, theirs, tolerance, tolerance, equal_nan=True)
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(same(a, b, tolerance) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key], tolerance) for key in theirs)
    if isinstance(theirs, float):
        return bool(np.isclose(ours, theirs, tolerance, tolerance))
    return bool(ours == theirs)


def _serve(kind: str, address: str) -> None:
    if kind == "whygrad":
        import whygrad as torch
        import whygrad.distributed as dist
    else:
        import torch  # type: ignore[no-redef]
        import torch.distributed as dist  # type: ignore[no-redef]

        torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if kind == "whygrad":
        dist.init_process_group("mpi")
    else:
        dist.init_process_group("gloo", init_method=f"file://{os.environ['MEETING']}", rank=int(os.environ["RANK"]), world_size=2)
    rank = dist.get_rank()
    connection = Client(address, "AF_UNIX")
    connection.send(rank)
    while True:
        try:
            module, name, arguments = connection.recv()
        except EOFError:
            break
        torch.manual_seed(0)
        try:
            result = plain(functools.reduce(getattr, name.split("."), importlib.import_module(module))(
                torch, dist, rank, *arguments))
        except Exception as error:
            if os.environ.get("RANK_TRACEBACKS"):
                traceback.print_exc()
            result = type(error).__mro__[-4 if isinstance(error, RuntimeError) else 0].__name__, str(error).splitlines()[:1]
        connection.send(result)
    dist.destroy_process_group()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
