"""Which rank this process is: read from the variables of an MPI launcher, of Slurm or of torchrun, before MPI is loaded."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from importlib.util import find_spec

# torchrun's variable -> what the launchers call it: torchrun itself, MPICH and Intel MPI, Open MPI, Slurm.
NAMES = {
    "RANK": ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"),
    "WORLD_SIZE": ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"),
    "LOCAL_RANK": ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"),
    "LOCAL_WORLD_SIZE": ("LOCAL_WORLD_SIZE", "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"),
}


def is_installed() -> bool:
    return find_spec("mpi4py") is not None


def from_environment(name: str, environment: MutableMapping[str, str] = os.environ) -> int | None:
    """The value of one of torchrun's variables, under the name that the launcher gives it; None if nobody gives it."""
    for known in NAMES[name]:
        if known in environment and (not known.startswith("SLURM") or _is_slurm_step(environment)):
            return int(environment[known])
    return None


def _is_slurm_step(environment: MutableMapping[str, str]) -> bool:
    """`srun` has started this process; in the batch script itself SLURM_PROCID is 0 and means nothing."""
    return "SLURM_STEP_ID" in environment and environment.get("SLURM_STEP_ID") != "4294967291"


def set_torchrun_variables(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let a program that an MPI launcher has started find RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR ... as under torchrun."""
    for name in NAMES:
        value = from_environment(name, environment)
        if value is not None:
            environment.setdefault(name, str(value))
    environment.setdefault("MASTER_ADDR", "127.0.0.1")
    environment.setdefault("MASTER_PORT", "29500")
