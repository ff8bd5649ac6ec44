"""Files from before torch 1.6: five pickles (magic number, version, byte order, objects, keys), then the storages' bytes."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

import numpy as np

from whygrad.base import dtypes
from whygrad.functional.storage import TypedStorage
from whygrad.io.rebuilding import LEGACY_MAGIC, LEGACY_VERSION, StorageKind, new_storage, refuse_unless

Restore = Callable[[TypedStorage, str], Any]
# Reads the pickle at a place in the data, with a function for persistent ids; returns the object and where the pickle ends.
ReadPickle = Callable[[bytes, int, Callable[[Any], Any]], tuple[Any, int]]


def _no_storage(persistent_id: Any) -> Any:
    raise UnpicklingError("a storage before the objects")


def _text(value: Any) -> Any:
    """Python 2 wrote names as bytes, and `encoding="bytes"` leaves them so."""
    return value.decode("latin1") if type(value) is bytes else value


def load_legacy(file: IO[bytes], restore: Restore, read_pickle: ReadPickle) -> Any:
    start = file.tell()
    data = file.read()
    at = 0

    def read(load_storage: Callable[[Any], Any] = _no_storage) -> Any:
        nonlocal at
        value, at = read_pickle(data, at, load_storage)
        return value

    magic, version = read(), read()
    if magic != LEGACY_MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if version != LEGACY_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = read()
    refuse_unless(type(system) is dict, "the third pickle does not describe a system")
    little = system.get("little_endian", system.get(b"little_endian", True))
    storages = _Storages(len(data), restore)
    result = read(storages)
    keys = read()
    refuse_unless(type(keys) is list, "there are no keys")
    keys = [_text(key) for key in keys]
    refuse_unless(sorted(keys) == sorted(storages.loaded), "the keys are not those of the storages")
    is_foreign = little is not (sys.byteorder == "little")
    for key in keys:
        storage, dtype = storages.loaded[key]
        numel, begin = int.from_bytes(data[at:at + 8], "little"), at + 8
        memory = storage.untyped().bytes
        at = begin + len(memory)
        refuse_unless(numel * dtype.itemsize == len(memory) and at <= len(data), f"the bytes of the storage {key!r} are missing")
        memory[...] = np.frombuffer(data, np.uint8, len(memory), begin)
        if is_foreign:
            storage.untyped().byteswap(dtype)
        if dtype is dtypes.bool_:
            memory[...] = memory != 0  # NumPy expects 0 and 1
    file.seek(start + at)
    return result


class _Storages:
    """Maps persistent ids to storages, whose bytes come later in the file."""

    def __init__(self, most_bytes: int, restore: Restore) -> None:
        self.room = most_bytes
        self.restore = restore
        self.loaded: dict[str, tuple[TypedStorage, dtypes.dtype]] = {}
        self.views: dict[str, TypedStorage] = {}

    def __call__(self, persistent_id: Any) -> Any:
        if type(persistent_id) is tuple and len(persistent_id) == 4 and persistent_id[0] == "module":
            return persistent_id[1]  # a class with its source text, which is not compared
        refuse_unless(type(persistent_id) is tuple, "Only persistent_load of storage is allowed")
        persistent_id = tuple([_text(part) for part in persistent_id])
        refuse_unless(len(persistent_id) in (5, 6) and persistent_id[0] == "storage",
                      "Only persistent_load of storage is allowed")
        _, kind, key, location, numel, view = (*persistent_id, None)[:6]
        refuse_unless(type(kind) is StorageKind and (type(key), type(location), type(numel)) == (str, str, int) and numel >= 0,
                      "a storage needs a type, a key, a location and a size")
        dtype = kind.dtype or dtypes.uint8
        if key not in self.loaded:
            nbytes = numel * dtype.itemsize
            self.room -= nbytes
            refuse_unless(self.room >= 0, "the storages claim more bytes than the file has")
            self.loaded[key] = self.restore(new_storage(np.zeros(nbytes, np.uint8), dtype), location), dtype
        storage = self.loaded[key][0]
        refuse_unless(storage.dtype is dtype and len(storage) == numel,
                      f"the storage {key!r} is used with different types or sizes")
        return storage if view is None else self._view(storage, dtype, view)

    def _view(self, storage: TypedStorage, dtype: dtypes.dtype, view: Any) -> TypedStorage:
        refuse_unless(type(view) is tuple and [type(part) for part in view] == [str, int, int], "not a part of a storage")
        key, offset, size = view
        refuse_unless(0 <= offset <= offset + size <= len(storage), "a part of a storage lies outside of it")
        if key not in self.views:
            item = dtype.itemsize
            part: Any = new_storage(storage.untyped().bytes[offset * item:(offset + size) * item], dtype)
            part.counter = storage.counter  # type: ignore[attr-defined]
            self.views[key] = part
        return self.views[key]


def trusting(unpickler: Callable[[IO[bytes], Callable[[Any], Any]], Any]) -> ReadPickle:
    """Reads pickles with Python's unpickler."""
    def read(data: bytes, at: int, load_storage: Callable[[Any], Any]) -> tuple[Any, int]:
        stream = io.BytesIO(data)
        stream.seek(at)
        return unpickler(stream, load_storage).load(), stream.tell()

    return read


def is_pickle(head: bytes) -> bool:
    """Whether a file may be in this format: all of them begin with a pickle of protocol 2 or later."""
    return head[:1] == pickle.PROTO
