"""Atomic replacement of a file: after a crash either the old or the new file is there, complete.

What a killed process has left of its temporary file is removed by the next one that writes to the same path.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

YOUNG = 60.0  # seconds: a temporary file may be so new that its writer has not locked it yet

_cleaned: set[str] = set()  # paths whose folders this process has looked through


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
    if target not in _cleaned:
        _cleaned.add(target)
        _remove_left_files(target)
    temporary = os.path.join(folder, f".{os.path.basename(target)}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                _lock(file)
            if existing is not None:
                os.chmod(temporary, stat.S_IMODE(existing.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                os.replace(temporary, target)  # while it is locked: no other process removes it as a remnant
        if fcntl is None:
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


def _lock(file: IO[bytes]) -> None:
    """Raises BlockingIOError if another process has locked it."""
    if fcntl is not None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_left_files(target: str) -> None:
    """Temporary files of `target` that no living process has locked."""
    folder, name = os.path.split(target)
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and time.time() - entry.stat(follow_symlinks=False).st_mtime > YOUNG:
                with contextlib.suppress(OSError), open(entry.path, "rb") as file:
                    _lock(file)
                    os.unlink(entry.path)
