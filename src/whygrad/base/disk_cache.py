"""Files that are kept between processes: compiled kernels, and the compiled text of rows."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import zlib
from functools import cache

CHECKSUM = 4  # bytes in front of the data, so that a file cut short or changed is noticed


@cache
def cache_folder() -> str:
    """WHYGRAD_CACHE, or where the system keeps such files."""
    given = os.environ.get("WHYGRAD_CACHE")
    home = os.path.expanduser("~")
    if given:
        return given
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "whygrad")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA", home), "whygrad", "cache")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "whygrad")


def path_of(name: str) -> str:
    return os.path.join(cache_folder(), name)


def read(name: str) -> bytes | None:
    """None if there is no such file, or if it is damaged or another user's."""
    try:
        with open(path_of(name), "rb", buffering=0) as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            data = file.read()
    except OSError:
        return None
    checksum, content = data[:CHECKSUM], data[CHECKSUM:]
    return content if content and _checksum(content) == checksum else None


def write(name: str, content: bytes) -> None:
    """To a temporary file, which is renamed. A cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        os.makedirs(cache_folder(), mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=cache_folder(), prefix=".whygrad-")  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(content) + content)
            os.replace(temporary, path_of(name))
        except BaseException:
            os.unlink(temporary)
            raise


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(CHECKSUM, "little")
