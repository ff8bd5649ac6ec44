"""Replacing a file in one step: whoever is killed in the middle, the old file or the new one is there, whole."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when the block ends, and is gone if the block raises."""
    target = os.path.realpath(path)  # a link stays a link
    folder = os.path.dirname(target)
    try:
        existing = os.stat(target)
    except FileNotFoundError:
        existing = None
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        with open(target, "wb") as device:  # /dev/stdout, a pipe: there is nothing to replace
            yield device
        return
    beside = os.path.join(folder, f".{os.path.basename(target)}.{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            if existing is not None:
                os.chmod(beside, stat.S_IMODE(existing.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """So that the new name, too, survives a power cut. Not every system can open a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
