"""Settings of `save` and `load`, and `skip_data`, which skips the bytes of storages in both."""

from __future__ import annotations

import enum
import threading
from mmap import MAP_PRIVATE, MAP_SHARED
from typing import Any


class _State(threading.local):
    skips_data = False


state = _State()


class skip_data:
    """A context in which `save` reserves space for storages without writing them, and `load` returns zeros."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors  # there are none here

    def __enter__(self) -> None:
        self._before = state.skips_data
        state.skips_data = True

    def __exit__(self, *error: object) -> None:
        state.skips_data = self._before


class save:
    """`torch.utils.serialization.config.save`. There is no memory to be pinned."""

    compute_crc32 = True
    use_pinned_memory_for_d2h = False
    storage_alignment = 64


class load:
    """`torch.utils.serialization.config.load`."""

    mmap = False
    endianness: Any = None
    mmap_flags: int | None = 2
    calculate_storage_offsets = False


class LoadEndianness(enum.Enum):
    """The byte order of files that do not tell theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    return load.endianness  # type: ignore[no-any-return]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `save` writes checksums."""
    return save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    return load.mmap_flags


class set_default_mmap_options:
    """Whether files are mapped privately or shared, from now on or inside a `with` block."""

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError("Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                             f"mmap.MAP_SHARED, but got {flags}")
        self.before, load.mmap_flags = load.mmap_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        load.mmap_flags = self.before
