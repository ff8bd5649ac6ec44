"""Process groups: an MPI communicator each, with a ledger of its collectives."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from whygrad.distributed import mpi
from whygrad.distributed.errors import NOT_INITIALIZED
from whygrad.distributed.ledger import Ledger
from whygrad.distributed.rendezvous import from_environment, is_installed, set_torchrun_variables

default_pg_timeout = timedelta(minutes=30)
_BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl")
_INIT_METHODS = ("env://", "tcp://", "file://", "mpi://")
UNDEFINED = "undefined"


class ProcessGroup:
    """Some of the ranks, which communicate with each other."""

    def __init__(self, comm: Any, ranks: Sequence[int], timeout: timedelta, backend: str, name: str, description: str) -> None:
        self.comm = comm
        self.ranks = list(ranks)
        self._rank: int = comm.rank
        self.seconds = timeout.total_seconds()
        self.backend = backend
        self.group_name, self.group_desc = name, description
        self.bound_device_id = None
        node = comm.Split_type(mpi.load().COMM_TYPE_SHARED)
        self.ledger = Ledger(mpi.board, comm, node, self.ranks)
        node.Free()  # MPI has some thousand communicators

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return len(self.ranks)

    def name(self) -> str:
        return self.backend

    def rank_of(self, global_rank: int) -> int:
        """The rank within this group of a rank of the world."""
        if global_rank not in self.ranks:
            raise ValueError(f"Global rank {global_rank} is not part of group {self}")
        return self.ranks.index(global_rank)


    def close(self, why: str) -> None:
        """From now on everything that would communicate raises."""
        self.comm = self.ledger = Closed(why)  # type: ignore[assignment]


class Closed:
    """Stands in the place of a communicator that cannot be used any more."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(self._why)


class GroupMember:
    """What `new_group` gives to a rank that is not in the new group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _WorldIsCurrent(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        GroupMember.WORLD = group


class group(metaclass=_WorldIsCurrent):
    """`dist.group.WORLD` is the default process group."""


_groups: list[ProcessGroup] = []


def is_available() -> bool:
    return is_installed()


def is_initialized() -> bool:
    return GroupMember.WORLD is not None


def is_mpi_available() -> bool:
    return is_installed()


def is_gloo_available() -> bool:
    """The name "gloo" is served by MPI."""
    return is_installed()


def is_nccl_available() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None,
                       device_id: Any = None, _ranks: Any = None) -> None:
    """Join the processes that the MPI launcher has started. Only the form of `init_method` is checked."""
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    timeout = read_timeout(timeout)
    wanted = _read_backend(backend)
    if init_method is not None and not init_method.startswith(_INIT_METHODS):
        raise RuntimeError(f"No rendezvous handler for {init_method.partition('://')[0]}://")
    MPI = mpi.load()
    set_torchrun_variables()
    total = MPI.COMM_WORLD.size
    size = world_size if world_size > 0 else from_environment("WORLD_SIZE") or total
    own = rank if rank >= 0 else from_environment("RANK")
    own = MPI.COMM_WORLD.rank if own is None else own
    if size != total:
        program = os.path.basename(sys.argv[0]) or "train.py"
        raise ValueError(f"world_size is {size}, but MPI has started {total} process{'es' if total > 1 else ''}: start the "
                         f"program with `whygrad launch -n {size} {program}` or `mpiexec -n {size} whygrad run {program}`")
    comm = MPI.COMM_WORLD.Split(0, own)  # a rank that the program chose for itself is kept
    if comm.rank != own:
        raise ValueError(f"two processes have the same rank {own}")
    mpi.board.rename(mpi.node.allgather(comm.rank), comm.rank)
    _refuse_in_forked_children()
    GroupMember.WORLD = ProcessGroup(comm, range(total), timeout, wanted, "0", "default_pg")
    _groups.append(GroupMember.WORLD)
    if own == 0 and wanted != "mpi":
        library = " ".join(MPI.Get_library_version().splitlines()[0].split(",")[0].split())
        print(f"whygrad: backend {wanted!r} is served by MPI ({library})", file=sys.stderr)


@functools.cache
def _refuse_in_forked_children() -> None:
    """A forked child, such as a DataLoader's worker, knows its parent's rank, but must not speak in its name."""
    def close_all() -> None:
        for made in _groups:
            made.close("this process was forked from a rank after init_process_group: it is no rank, and cannot communicate")

    os.register_at_fork(after_in_child=close_all)


def _read_backend(backend: str | None) -> str:
    """"cpu:gloo,cuda:nccl" is gloo: there are no other devices."""
    name = "mpi" if backend is None else str(backend).lower()
    by_device = dict(part.split(":", 1) for part in name.split(",")) if ":" in name else {}
    name = by_device.get("cpu", name)
    if name not in _BACKENDS:
        raise AssertionError(f"Unknown backend type {name}")
    return name


def read_timeout(timeout: Any) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def destroy_process_group(group: Any = None) -> None:
    """Forget a group; without one, all of them."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    if group is None and GroupMember.WORLD is None:
        raise AssertionError("Process group cannot be None")
    if group is None or group is GroupMember.WORLD:
        while _groups:
            _free(_groups.pop())
        GroupMember.WORLD = None
    else:
        if group not in _groups:
            raise ValueError("Invalid process group specified")
        _groups.remove(group)
        _free(group)


def _free(group: ProcessGroup) -> None:
    group.comm.Free()
    group.close("this process group was destroyed")


def the_group(group: Any) -> ProcessGroup | None:
    """The group a collective is for; None if this rank is not in it, after a warning."""
    if group is None:
        if GroupMember.WORLD is None:
            raise ValueError(NOT_INITIALIZED)
        return GroupMember.WORLD
    if group is GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise ValueError(f"Process group {group} is not initialized in the world group map. Please initialize the group first.")
    return group


def member(group: Any, function: str) -> ProcessGroup | None:
    found = the_group(group)
    if found is None:
        rank = -1 if GroupMember.WORLD is None else GroupMember.WORLD.rank()
        warnings.warn(f"Running {function} on global rank {rank} which does not belong to the given group.", stacklevel=4)
    return found


def get_rank(group: Any = None) -> int:
    """The rank of this process in a group; -1 if it is not in it."""
    found = the_group(group)
    if found is not None and found not in _groups:
        raise ValueError(f"Group {found} is not registered, please create group with torch.distributed.new_group API")
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    found = the_group(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    found = the_group(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    if found not in _groups:
        raise ValueError(f"Process group {found} is not initialized in the world group map. Please initialize the group first.")
    return found.backend


def get_default_backend_for_device(device: Any) -> str:
    return "gloo"


def _get_default_group() -> ProcessGroup:
    if GroupMember.WORLD is None:
        raise ValueError(NOT_INITIALIZED)
    return GroupMember.WORLD


def get_backend_config(group: Any = None) -> str:
    backend = get_backend(group)
    return f"cpu:{backend},cuda:{backend}"


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` "
                           "to work, assuming you are not running in a multi-device context and want the code to run locally "
                           "instead.")
    return int(fallback_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    if not 0 <= group_rank < group.size() and group is not GroupMember.WORLD:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group_rank if group is GroupMember.WORLD else group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    return global_rank if group is GroupMember.WORLD else group.rank_of(global_rank)


def get_process_group_ranks(group: Any) -> list[int]:
    found = the_group(group)
    return [] if found is None else list(found.ranks)


def get_pg_count() -> int:
    return len(_groups)


_created = 0


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: Any = None) -> Any:
    """A group of some of the ranks. All ranks call this; with `use_local_synchronization`, the members alone."""
    from whygrad.distributed.collectives import synchronize

    global _created
    world = the_group(None)
    assert world is not None
    size = world.size()
    chosen = list(range(size)) if ranks is None else sorted(ranks)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {list(ranks or ())}")
    for rank in chosen:
        if not 0 <= rank < size:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    seconds = timedelta(seconds=world.seconds) if timeout is None else read_timeout(timeout)
    if not use_local_synchronization:
        synchronize(world, ("new_group", *chosen))
    _created += 1
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    comm = world.comm.Create_group(world.comm.group.Incl(chosen))
    made = ProcessGroup(comm, chosen, seconds, _read_backend(backend or world.backend), str(_created), group_desc or UNDEFINED)
    _groups.append(made)
    return made


def new_subgroups(group_size: int | None = None, group: Any = None, timeout: timedelta | None = None, backend: str | None = None,
                  pg_options: Any = None, group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """Groups of `group_size` consecutive ranks: the one this process is in, and all."""
    world_size = get_world_size()
    group_size = int(os.environ.get("LOCAL_WORLD_SIZE", world_size)) if group_size is None else group_size
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if world_size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({world_size})")
    if world_size % group_size:
        raise ValueError(f"The world size ({world_size}) must be divisible by 'group_size={group_size}'")
    return new_subgroups_by_enumeration([list(range(i, i + group_size)) for i in range(0, world_size, group_size)],
                                        timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None,
                                 backend: str | None = None, pg_options: Any = None,
                                 group_desc: str | None = None) -> tuple[Any, list[Any]]:
    """The groups of these ranks, which must not overlap: the one this process is in, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for ranks in ranks_per_subgroup_list:
        if not seen.isdisjoint(ranks):
            raise ValueError(f"Rank {min(seen & set(ranks))} has appeared in more than one subgroup")
        seen.update(ranks)
    groups = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    own = next((made for made in groups if made is not GroupMember.NON_GROUP_MEMBER), None)
    return own, groups
