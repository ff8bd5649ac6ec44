"""save and load. Each entry of a state dict is written by one rank into its file; an index that rank 0 writes says which.

That file is written last and replaces the one before at once: a checkpoint is there as a whole, or is the old one.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from whygrad import io
from whygrad.core.tensor import Tensor
from whygrad.distributed import objects
from whygrad.distributed.groups import ProcessGroup, is_initialized, the_group
from whygrad.distributed.tensor.sharded import DTensor, own_rows
from whygrad.io.atomic import replacing

INDEX = ".metadata.json"


class CheckpointException(Exception):
    """A checkpoint does not hold what is to be loaded."""


@runtime_checkable
class Stateful(Protocol):
    """What has a state_dict of its own, such as a model."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...


class FileSystemWriter:
    def __init__(self, path: Any, **options: Any) -> None:
        self.path = path


class FileSystemReader:
    def __init__(self, path: Any) -> None:
        self.path = path


def save(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
         process_group: Any = None, no_dist: bool = False, use_collectives: bool = True) -> None:
    """Write a state dict that all ranks have, each a part of it."""
    folder = _folder(checkpoint_id, storage_writer, planner)
    group = _group(process_group, no_dist)
    rank, ranks = (group.rank(), group.size()) if group is not None else (0, 1)
    entries = {name: value.full_tensor() if isinstance(value, DTensor) else value
               for name, value in _flattened(_with_states(state_dict))}
    sizes = [0] * ranks
    owner = {}
    for name in sorted(entries, key=lambda name: (-_bytes(entries[name]), name)):
        owner[name] = sizes.index(min(sizes))
        sizes[owner[name]] += _bytes(entries[name])
    os.makedirs(folder, exist_ok=True)
    # Files of the checkpoint before stay until the new index is there.
    version = _agree(group, secrets.token_hex(4))
    file = f"__{rank}_{version}.distcp"
    io.save({name: value for name, value in entries.items() if owner[name] == rank}, os.path.join(folder, file))
    files = _gathered(group, file)
    if rank == 0:
        with replacing(os.path.join(folder, INDEX)) as out:
            out.write(json.dumps({name: files[owner[name]] for name in entries}).encode())
        for left in set(os.listdir(folder)) - {*files, INDEX}:
            if left.startswith("__") and left.endswith(".distcp"):
                os.unlink(os.path.join(folder, left))
    _agree(group, "")


def load(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: Any = None, planner: Any = None,
         process_group: Any = None, no_dist: bool = False) -> None:
    """Fill a state dict with the values of a checkpoint: tensors in place, other values anew."""
    folder = _folder(checkpoint_id, storage_reader, planner)
    path = os.path.join(folder, INDEX)
    if not os.path.exists(path):
        raise CheckpointException(f"there is no checkpoint in {folder}")
    with open(path, encoding="utf-8") as file:
        places: dict[str, str] = json.load(file)
    states = _with_states(state_dict)
    wanted = dict(_flattened(states))
    missing = sorted(wanted.keys() - places.keys())
    if missing:
        raise CheckpointException(f"Missing key in checkpoint state_dict: {missing[0]}.")
    for name in sorted({places[name] for name in wanted}):
        part = io.load(os.path.join(folder, name), weights_only=False)
        for key, value in part.items():
            if key in wanted:
                _put(states, key, value)
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        elif not isinstance(value, (Tensor, dict, list)):
            state_dict[key] = states[key]


def save_state_dict(state_dict: dict[str, Any], storage_writer: Any, process_group: Any = None, **options: Any) -> None:
    save(state_dict, storage_writer=storage_writer, process_group=process_group)


def load_state_dict(state_dict: dict[str, Any], storage_reader: Any, process_group: Any = None, **options: Any) -> None:
    load(state_dict, storage_reader=storage_reader, process_group=process_group)


def _folder(checkpoint_id: Any, storage: Any, planner: Any) -> str:
    if planner is not None:
        raise NotImplementedError("torch.distributed.checkpoint with a planner")
    if storage is not None and not isinstance(storage, (FileSystemReader, FileSystemWriter)):
        raise NotImplementedError(f"torch.distributed.checkpoint with {type(storage).__name__}")
    found = checkpoint_id if checkpoint_id is not None else getattr(storage, "path", None)
    if found is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader and storage_writer are None.")
    return os.fspath(found)


def _group(process_group: Any, no_dist: bool) -> ProcessGroup | None:
    return the_group(process_group) if is_initialized() and not no_dist else None


def _gathered(group: ProcessGroup | None, value: str) -> list[Any]:
    if group is None:
        return [value]
    everywhere: list[Any] = [None] * group.size()
    objects.all_gather_object(everywhere, value, group)
    return everywhere


def _agree(group: ProcessGroup | None, value: str) -> str:
    """The value of rank 0; all wait for it."""
    return str(_gathered(group, value)[0])


def _with_states(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state_dict.items()}


def _bytes(value: Any) -> int:
    return value._array.nbytes if isinstance(value, Tensor) else 0


def _flattened(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested dicts and lists, by path."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if children is None or not value:
        yield prefix, value
        return
    for key, child in children:
        yield from _flattened(child, f"{prefix}/{key}" if prefix else str(key))


def _put(states: Any, path: str, value: Any) -> None:
    """Write a value where `_flattened` has found it."""
    while True:
        keys = {str(key): key for key in (states if isinstance(states, dict) else range(len(states)))}
        if path in keys:
            old = states[keys[path]]
            if isinstance(old, Tensor) and isinstance(value, Tensor):
                if isinstance(old, DTensor):
                    value = own_rows(value, old._rows)
                if old._array.shape != value._array.shape:
                    raise CheckpointException(f"Size mismatch for {path}: {list(value._array.shape)} in the checkpoint, "
                                              f"{list(old._array.shape)} in the state dict")
                np.copyto(old._array, value._array, casting="unsafe")
            else:
                states[keys[path]] = value
            return
        # Keys may contain slashes: the longest that fits.
        head = max((key for key in keys if path.startswith(f"{key}/")), key=len)
        states, path = states[keys[head]], path[len(head) + 1:]
