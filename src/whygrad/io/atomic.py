"""Atomic replacement of a file: after a crash either the old or the new file is there, complete."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A context with a temporary file that replaces `path` at the end, and is deleted on an exception."""
    target = os.path.realpath(path)  # replace the target of a symbolic link, not the link
    folder = os.path.dirname(target)
    try:
        existing = os.stat(target)
    except FileNotFoundError:
        existing = None
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        with open(target, "wb") as device:  # /dev/stdout, a pipe: there is nothing to replace
            yield device
        return
    temporary = os.path.join(folder, f".{os.path.basename(target)}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if existing is not None:
                os.chmod(temporary, stat.S_IMODE(existing.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # Make the new directory entry durable, on systems that can open a directory.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
