"""Starts the ranks of a program through `mpiexec`: that of the wheel beside this Python, or the one on the PATH."""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from whygrad.distributed.rendezvous import is_installed

# One machine alone: nothing leaves it. MPICH's process manager and its network layer; Open MPI lets root run, and more ranks than
# cores. Who has set one of them has the last word.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_prte_silence_shared_fs": "1"}
ON_LINUX = {"HYDRA_IFACE": "lo", "FI_TCP_IFACE": "lo"}
_PR_SET_PDEATHSIG = 1
# Options of torchrun: how processes find each other, which MPI knows; and what is done with their output and their start.
WITHOUT_EFFECT = ("node_rank", "master_addr", "master_port", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf",
                  "local_addr")
IGNORED = ("monitor_interval", "start_method", "log_dir", "tee", "redirects", "role", "local_ranks_filter", "logs_specs",
           "event_log_handler", "duplicate_stdout_filters", "duplicate_stderr_filters", "numa_binding", "signals_to_handle",
           "shutdown_timeout")
SHORT = {"tee": ("-t",), "redirects": ("-r",)}


def mpiexec_path() -> str | None:
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    return beside if os.path.exists(beside) else shutil.which("mpiexec") or shutil.which("mpirun")


def find_mpiexec() -> str:
    """The path of mpiexec; ends the program with advice if there is none, or no mpi4py."""
    found = mpiexec_path()
    if found is None or not is_installed():
        missing = "mpiexec" if found is None else "mpi4py"
        raise SystemExit(f"whygrad launch: there is no {missing}: pip install 'whygrad[mpi]', or use the MPI of your cluster")
    return found


def rank_environment(ranks: int, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of the ranks: the cores are shared out between them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ours = {**ENVIRONMENT, **(ON_LINUX if sys.platform == "linux" else {}), "OMP_NUM_THREADS": str(max(1, cores // ranks))}
    return {**ours, **environment}


def run(ranks: int, command: Sequence[str], restarts: int = 0, environment: Mapping[str, str] | None = None) -> int:
    """Run `command` as so many ranks, and again if they fail; gives the exit status of the last time."""
    mpiexec = find_mpiexec()
    for attempt in range(restarts + 1):
        counts = {"TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(restarts),
                  "TORCHELASTIC_RUN_ID": "none", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1"}
        status = _run_once([mpiexec, "-n", str(ranks), *command], {**rank_environment(ranks), **(environment or {}), **counts})
        if status == 0 or status == 128 + signal.SIGINT:
            break
        if attempt < restarts:
            print(f"whygrad launch: the ranks have ended with status {status}: restart {attempt + 1} of {restarts}",
                  file=sys.stderr, flush=True)
    return status


def _run_once(command: Sequence[str], environment: dict[str, str]) -> int:
    process = subprocess.Popen(command, env=environment, preexec_fn=_end_with_parent)
    handlers = {number: signal.signal(number, lambda number, frame: process.send_signal(number))
                for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = process.wait()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


def _end_with_parent() -> None:
    """Let mpiexec, and with it the ranks, be ended when this process is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `whygrad launch`: -n, --restarts, and torchrun's."""
    parser.add_argument("-n", "--nproc_per_node", "--nproc-per-node", dest="ranks", default="1", metavar="N",
                        help="number of processes (auto: one for each core)")
    parser.add_argument("--restarts", "--max_restarts", "--max-restarts", type=int, default=0, metavar="K",
                        help="start all again, at most K times, if one fails")
    parser.add_argument("--nnodes", default="1", help=argparse.SUPPRESS)
    for name in WITHOUT_EFFECT:
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", help=argparse.SUPPRESS)
    for name in IGNORED:
        parser.add_argument(*SHORT.get(name, ()), f"--{name}", f"--{name.replace('_', '-')}", dest="ignored",
                            help=argparse.SUPPRESS, action=_Ignored)
    for name in ("standalone", "use_env"):
        parser.add_argument(f"--{name}", f"--{name.replace('_', '-')}", action="store_true", help=argparse.SUPPRESS)


class _Ignored(argparse.Action):
    """An option of torchrun that has no effect here, which is said."""

    def __call__(self, parser: argparse.ArgumentParser, options: argparse.Namespace, value: Any, name: str | None = None) -> None:
        print(f"{parser.prog}: {name} has no effect: all ranks write to this terminal, in processes of mpiexec", file=sys.stderr)


def number_of_ranks(options: Any) -> int:
    """How many ranks the options ask for."""
    if str(options.nnodes).rpartition(":")[2] != "1":
        raise SystemExit("whygrad launch: it starts the processes of one machine; on several use the cluster's own launcher, "
                         "`srun whygrad run train.py` or `mpiexec -n N --host ... whygrad run train.py`")
    if options.ranks in ("auto", "cpu", "gpu"):
        return os.cpu_count() or 1
    try:
        ranks = int(options.ranks)
    except ValueError:
        ranks = 0
    if ranks < 1:
        raise SystemExit(f"whygrad launch: -n {options.ranks}: give a positive number")
    return ranks
