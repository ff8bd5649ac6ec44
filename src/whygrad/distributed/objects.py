"""Collectives of pickled objects: first their sizes, then their bytes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from whygrad.core.tensor import wrap
from whygrad.distributed import collectives, point_to_point
from whygrad.distributed.groups import ProcessGroup, member


def _pickled(thing: Any) -> np.ndarray:
    return np.frombuffer(bytearray(pickle.dumps(thing)), np.uint8)


def _unpickled(octets: np.ndarray) -> Any:
    return pickle.loads(octets.tobytes())


def _sizes(group: ProcessGroup, own: int) -> np.ndarray:
    sizes = np.empty(group.size(), np.int64)
    collectives.all_gather_into_tensor(wrap(sizes), wrap(np.asarray([own])), group)
    return sizes


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill `object_list` with the objects of all ranks."""
    found = member(group, "all_gather_object")
    if found is None:
        return
    sent = _pickled(obj)
    sizes = _sizes(found, sent.size)
    buffer = np.empty(sizes.sum(), np.uint8)
    collectives.begin(found, ("all_gather_object",), lambda: found.comm.Iallgatherv(sent, [buffer, sizes.tolist()]), []).wait()
    for i, part in enumerate(np.split(buffer, np.cumsum(sizes)[:-1])):
        object_list[i] = _unpickled(part)


def gather_object(obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
                  group_dst: int | None = None) -> None:
    """Fill the list of rank `dst` with the objects of all ranks."""
    found = member(group, "gather_object")
    if found is None:
        return
    root = collectives.root_of(found, "gather", dst, group_dst)
    is_root = root == found.rank()
    if is_root != bool(object_gather_list):
        raise ValueError("Argument ``gather_list`` must be specified on destination rank." if is_root else
                         "Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    sent = _pickled(obj)
    sizes = _sizes(found, sent.size)
    buffer = np.empty(sizes.sum(), np.uint8)
    receive = [buffer, sizes.tolist()] if is_root else None
    collectives.begin(found, ("gather_object", f"dst={root}"), lambda: found.comm.Igatherv(sent, receive, root), []).wait()
    if is_root:
        assert object_gather_list is not None
        object_gather_list[:] = [_unpickled(part) for part in np.split(buffer, np.cumsum(sizes)[:-1])]


def broadcast_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
                          group_src: int | None = None) -> None:
    """Give all ranks the objects of rank `src`."""
    found = member(group, "broadcast_object_list")
    if found is None:
        return
    root = collectives.root_of(found, "broadcast", src, group_src)
    is_root = root == found.rank()
    sent = _pickled(object_list) if is_root else np.empty(0, np.uint8)
    size = np.asarray([sent.size])
    collectives.broadcast(wrap(size), group=found, group_src=root)
    buffer = sent if is_root else np.empty(size[0], np.uint8)
    collectives.broadcast(wrap(buffer), group=found, group_src=root)
    if not is_root:
        object_list[:] = _unpickled(buffer)


def scatter_object_list(scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
                        src: int | None = None, group: Any = None, group_src: int | None = None) -> None:
    """Give each rank its object of the list that rank `src` has, as the first of its output list."""
    found = member(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = collectives.root_of(found, "scatter", src, group_src)
    is_root = root == found.rank()
    parts = [_pickled(thing) for thing in scatter_object_input_list or ()] if is_root else []
    sizes = np.asarray([part.size for part in parts] if is_root else [0] * found.size())
    collectives.broadcast(wrap(sizes), group=found, group_src=root)
    buffer = np.empty(sizes[found.rank()], np.uint8)
    send = [np.concatenate(parts), sizes.tolist()] if is_root else None
    call = "scatter_object_list", f"src={root}"
    collectives.begin(found, call, lambda: found.comm.Iscatterv(send, buffer, root), []).wait()
    scatter_object_output_list[0] = _unpickled(buffer)


def send_object_list(object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None,
                     group_dst: int | None = None, use_batch: bool = False) -> None:
    sent = _pickled(object_list)
    point_to_point.send(wrap(np.asarray([sent.size])), dst, group, group_dst=group_dst)
    point_to_point.send(wrap(sent), dst, group, group_dst=group_dst)


def recv_object_list(object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
                     group_src: int | None = None, use_batch: bool = False) -> int:
    """Fill `object_list` with the objects that rank `src` sends, or any; gives the rank they came from."""
    size = np.zeros(1, np.int64)
    origin = point_to_point.recv(wrap(size), src, group, group_src=group_src)
    buffer = np.empty(size[0], np.uint8)
    point_to_point.recv(wrap(buffer), origin, group)
    object_list[:] = _unpickled(buffer)
    return origin
