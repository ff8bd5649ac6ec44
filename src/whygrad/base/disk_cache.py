"""Files that are kept between processes: compiled kernels, and the compiled text of rows.

Both are code, so a file is used only if nobody else can have written it: it is opened without following a link, and its
descriptor, not its path, is asked for owner and mode, as is that of the folder. The digest in front covers the name: a
file that was cut short, changed or renamed counts as missing. What was not read for long, or is more than MAX_BYTES, goes.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from functools import cache

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL with it, which takes 2 ms
except ImportError:
    from hashlib import blake2b

DIGEST = 16  # bytes in front of the data
TEMPORARY = ".whygrad-"
OURS = ("whygrad_", "rows-", TEMPORARY)  # how our files begin; the folder may have others
MAX_BYTES = 256 << 20
MAX_AGE = 90 * 86400.0  # seconds since a file was last read
READ_AGAIN = 86400.0  # a file read after so long gets a new time
MAX_AGE_OF_TEMPORARY = 3600.0  # no write takes as long: the process that left the file was killed

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CREATE = _READ | os.O_WRONLY | os.O_CREAT | os.O_EXCL
_READ |= getattr(os, "O_NONBLOCK", 0)  # a pipe in the place of a file is refused, not waited for


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
    """None if there is no such file, or if it is damaged, another's, or others may write to it or to its folder."""
    try:
        with _safe_folder() as folder, open(_open(name, folder), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_safe(status):
                return None
            data = file.read()
            if time.time() - status.st_mtime > READ_AGAIN and os.utime in os.supports_fd:
                os.utime(file.fileno())
    except OSError:
        return None
    content = data[DIGEST:]
    return content if content and _digest(name, content) == data[:DIGEST] else None


def write(name: str, content: bytes) -> None:
    """To a temporary file, which is renamed. A cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        os.makedirs(cache_folder(), mode=0o700, exist_ok=True)
        with _safe_folder():
            _clean_once()
            temporary = path_of(f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}")
            handle = os.open(temporary, _CREATE, 0o600)  # readable by its owner alone
            try:
                with open(handle, "wb") as file:
                    file.write(_digest(name, content) + content)
                os.replace(temporary, path_of(name))
            except BaseException:
                os.unlink(temporary)
                raise


def clean(now: float) -> None:
    """Remove what killed processes left, what was not read for long, and the oldest of what is too much."""
    found = []
    with contextlib.suppress(OSError), os.scandir(cache_folder()) as entries:
        for entry in entries:
            if entry.name.startswith(OURS) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, entry.name))
    kept = 0
    for time_of, size, name in sorted(found, reverse=True):
        kept += size
        most = MAX_AGE_OF_TEMPORARY if name.startswith(TEMPORARY) else MAX_AGE
        if kept > MAX_BYTES or now - time_of > most:
            kept -= size
            with contextlib.suppress(OSError):
                os.unlink(path_of(name))


@cache
def _clean_once() -> None:
    clean(time.time())


@contextlib.contextmanager
def _safe_folder() -> Iterator[int | None]:
    """The folder's descriptor, None where there is no such thing; PermissionError if others may write to it."""
    if os.open not in os.supports_dir_fd:
        yield None
        return
    folder = os.open(cache_folder(), (_READ | os.O_DIRECTORY) & ~os.O_NOFOLLOW)  # the folder may be a link
    try:
        if not _is_safe(os.fstat(folder)):
            raise PermissionError(f"others may write to {cache_folder()}")
        yield folder
    finally:
        os.close(folder)


def _open(name: str, folder: int | None) -> int:
    return os.open(path_of(name) if folder is None else name, _READ, dir_fd=folder)


def _is_safe(status: os.stat_result) -> bool:
    """Owned by this user or the administrator, and not writable by others. Windows has other rights, and no answer here."""
    return not hasattr(os, "geteuid") or (status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022)


def _digest(name: str, content: bytes) -> bytes:
    digest = blake2b(name.encode() + b"\0", digest_size=DIGEST)
    digest.update(content)
    return digest.digest()


def digest_of(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=DIGEST).digest()
