"""send and recv, with their nonblocking forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.distributed import mpi
from whygrad.distributed.collectives import check_tensor, moved_in, octets
from whygrad.distributed.groups import ProcessGroup, member, the_group
from whygrad.distributed.work import Work


class Received(Work):
    """A message on its way here; afterwards it knows where it came from."""

    def __init__(self, group: ProcessGroup, *parts: Any) -> None:
        super().__init__(*parts)
        self._group = group
        self._status = mpi.load().Status()
        self._request = _WithStatus(self._request, self._status)

    def source_rank(self) -> int:
        return self._group.ranks[self._status.Get_source()]


class _WithStatus:
    def __init__(self, request: Any, status: Any) -> None:
        self._request, self._status = request, status

    def Test(self) -> bool:
        return self._request.Test(self._status)  # type: ignore[no-any-return]


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Begin to send a tensor to rank `dst`."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "isend")
    if found is None:
        return None
    peer = _peer(found, dst, group_dst, "destination")
    buffer, _ = moved_in(array)
    call = "send", array.dtype.name, array.size, f"dst={found.ranks[peer]}", f"tag={tag}"
    return Work(found.comm.Isend(octets(buffer), peer, tag), found.ledger, 0, call, found.seconds, None, [tensor], buffer)


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Begin to receive a tensor from rank `src`, or from any."""
    array = check_tensor(tensor, "tensor")
    found = member(group, "irecv")
    if found is None:
        return None
    is_any = src is None and group_src is None
    peer = mpi.load().ANY_SOURCE if is_any else _peer(found, src, group_src, "source")
    buffer, finish = moved_in(array)
    origin = "src=any" if is_any else f"src={found.ranks[peer]}"
    call = "recv", array.dtype.name, array.size, origin, f"tag={tag}"
    return Received(found, found.comm.Irecv(octets(buffer), peer, tag), found.ledger, 0, call, found.seconds, finish, [tensor],
                    buffer)


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    if rank is None and group_rank is None:
        raise ValueError(f"Must specify {'dst or group_dst' if name == 'destination' else 'src or group_src'}")
    peer = group.rank_of(rank) if group_rank is None else group_rank  # type: ignore[arg-type]
    if peer == group.rank():
        raise ValueError(f"Invalid {name} rank: {name} rank should not be the same as the rank of the current process.")
    return peer


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to rank `dst`."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor, and give the rank it came from."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One of the messages of `batch_isend_irecv`."""

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
                 group_peer: int | None = None) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                             "``torch.distributed.irecv``.")
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        found = the_group(group)
        assert found is not None
        self.group_peer = found.rank_of(peer) if group_peer is None else group_peer  # type: ignore[arg-type]
        self.peer = found.ranks[self.group_peer]


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Begin all these messages."""
    if not all(isinstance(message, P2POp) for message in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if not p2p_op_list:
        raise IndexError("list index out of range")
    return [message.op(message.tensor, message.peer, message.group, message.tag) for message in p2p_op_list]
