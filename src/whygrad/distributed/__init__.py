"""torch.distributed on MPI, through mpi4py (`pip install 'whygrad[mpi]'`); README.md tells how it works."""

from __future__ import annotations

from typing import Self

from whygrad.base.engine_choice import is_launched_by_mpi
from whygrad.base.unsupported import absent_from
from whygrad.distributed import batch_norm, data_parallel, mpi, spawning
from whygrad.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from whygrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from whygrad.distributed.errors import DistBackendError, DistError, DistNetworkError, DistStoreError
from whygrad.distributed.groups import (
    GroupMember,
    ProcessGroup,
    _get_default_group,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from whygrad.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from whygrad.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from whygrad.distributed.reduce_op import ReduceOp, reduce_op
from whygrad.distributed.reducer import GradBucket
from whygrad.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from whygrad.distributed.work import Work

all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor
_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor


class Backend(str):
    """The name of a backend. All are served by MPI."""

    GLOO, NCCL, MPI, UCC, XCCL, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "xccl", "undefined"

    def __new__(cls, name: str) -> Self:
        return super().__new__(cls, name.lower())


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    return is_available() and backend.lower() in ("gloo", "mpi")


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether complex numbers can be reduced so."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT)


if is_launched_by_mpi():
    mpi.watch_failures()

__getattr__ = absent_from("torch.distributed")
