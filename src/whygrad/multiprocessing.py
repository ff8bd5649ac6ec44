"""torch.multiprocessing: Python's multiprocessing. Tensors moved by `share_memory_` and passed when a process is started share
their memory with it; tensors sent through a queue are copied."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing import get_context
from typing import Any

from whygrad.base.on_demand import on_demand
from whygrad.base.unsupported import absent_from

__getattr__ = absent_from("torch.multiprocessing")

__all__ = [*multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
           "spawn", "start_processes"]


def get_all_sharing_strategies() -> set[str]:
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"new_strategy {new_strategy!r} is not one of {get_all_sharing_strategies()}")


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> Any:
    """`start_processes` with the start method "spawn", a new interpreter for each process.

    Where there is MPI its launcher starts them, so that they can form a process group.
    """
    if start_method != "spawn":
        warnings.warn(f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method "
                      "use:\n\t\t torch.multiprocessing.start_processes(...)", FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, "spawn")


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
                    daemon: bool = False, start_method: str = "spawn") -> Any:
    """Run `fn(i, *args)` in `nprocs` processes; with `join`, raise if one of them fails."""
    if join and start_method == "spawn" and nprocs > 1:
        spawned = on_demand.load_distributed().spawning
        if spawned.can_spawn(fn, args):
            return spawned.spawn(fn, args, nprocs)
    context: Any = get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    for i, process in enumerate(processes):
        process.join()
        if process.exitcode:
            for other in processes:
                other.terminate()
            raise RuntimeError(f"process {i} terminated with exit code {process.exitcode}")
    return None
