"""Settings of `save` and `load`, and `skip_data`, which skips the bytes of storages in both."""

from __future__ import annotations

import threading
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
    """`torch.utils.serialization.config.save`. Checksums are always written; there is no memory to be pinned."""

    compute_crc32 = True
    use_pinned_memory_for_d2h = False
    storage_alignment = 64


class load:
    """`torch.utils.serialization.config.load`. Files are read, not mapped; the byte order is the file's own."""

    mmap = False
    endianness: Any = None
    mmap_flags: int | None = 2
    calculate_storage_offsets = False
