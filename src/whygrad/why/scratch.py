"""A scratch copy of the folders in which a program runs: what it writes there does not touch the user's files.

The copy stands below a temporary folder under the path it has in the file system, so that `../data` is found as well: what lies
beside the copied folders is linked. Of a large folder only what is reasonable is copied, the files near its top first.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

# What is copied at most: bytes, and files and folders together. Larger files and further folders are linked.
MAX_BYTES, MAX_ENTRIES = 200 << 20, 5000
# Entries of a folder above the copied ones that are linked; of more none is.
MAX_NEIGHBOURS = 1000
# Folders that programs do not write to.
LINKED = {".git", ".hg", ".svn", ".venv", "venv", "node_modules", ".tox", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
PREFIX = "whygrad-"


class Scratch:
    """Plans the copy once; `made` makes it anew for each run."""

    def __init__(self, folder: str) -> None:
        """`folder` has the program; it is copied beside the working directory."""
        self.roots = _outermost([os.getcwd(), folder])
        # Paths relative to nothing: the whole original ones. `too_large` are those of the links that the limits made necessary.
        self.folders: list[str] = []
        self.files: list[str] = []
        self.links: dict[str, str] = {}
        self.too_large: list[str] = []
        self._bytes = MAX_BYTES
        self._entries = MAX_ENTRIES
        for root in self.roots:
            self._plan(root)
        self._plan_neighbours()

    def _plan(self, root: str) -> None:
        """Breadth first: what is near the top is copied before the limits are reached."""
        pending = deque([root])
        while pending:
            folder = pending.popleft()
            entries = _entries(folder) if self._entries > 0 or folder in self.roots else None
            if entries is None or (len(entries) > self._entries and folder not in self.roots):
                self.links[folder] = folder
                self.too_large.append(folder)
                continue
            self.folders.append(folder)
            for entry in sorted(entries, key=lambda entry: (not entry.name.endswith(".py"), _size(entry))):
                self._entries -= 1
                if entry.is_symlink():
                    self.links[entry.path] = os.path.join(folder, os.readlink(entry.path))
                elif entry.is_dir() and entry.name not in LINKED and not _is_scratch(entry):
                    pending.append(entry.path)
                elif not entry.is_file():
                    self.links[entry.path] = entry.path
                elif _size(entry) > self._bytes or self._entries < 0 or not os.access(entry.path, os.R_OK):
                    self.links[entry.path] = entry.path
                    self.too_large.append(entry.path)
                else:
                    self._bytes -= _size(entry)
                    self.files.append(entry.path)

    def _plan_neighbours(self) -> None:
        above = {folder for root in self.roots for folder in _above(root)}
        self.folders[:0] = sorted(above)
        for folder in above:
            entries = _entries(folder) or []
            for entry in entries if len(entries) <= MAX_NEIGHBOURS else ():
                if entry.path not in above and entry.path not in self.roots:
                    self.links[entry.path] = entry.path

    @contextmanager
    def made(self) -> Iterator[Copy]:
        with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
            copy = Copy(os.path.realpath(folder), self.roots)
            for path in self.folders:
                os.makedirs(copy.folder + path, exist_ok=True)
            for path in self.files:
                with suppress(OSError):  # it is gone by now
                    shutil.copy2(path, copy.folder + path)
            for path, target in self.links.items():
                with suppress(OSError):  # links may not be allowed, as on Windows
                    os.symlink(copy.inside(os.path.normpath(target)) if target != path else target, copy.folder + path)
            yield copy


class Copy:
    """One copy: a path of it is `folder` and the original path."""

    def __init__(self, folder: str, roots: list[str]) -> None:
        self.folder = folder
        self._roots = roots

    def inside(self, path: str) -> str:
        """The path in the copy; the path itself if it is not below a copied folder."""
        is_copied = any(path == root or path.startswith(root + os.sep) for root in self._roots)
        return self.folder + path if is_copied else path

    def argument(self, text: str) -> str:
        """An argument of the program, with paths of copied folders replaced: `--out=/home/me/project/out`."""
        if os.path.isabs(text):
            return self.inside(text)
        name, equals, value = text.partition("=")
        return f"{name}={self.inside(value)}" if equals and os.path.isabs(value) else text

    def original(self, data: Any) -> Any:
        """Data of a report with the original paths."""
        if isinstance(data, str):
            return data.replace(self.folder + os.sep, os.sep)
        if isinstance(data, list):
            return [self.original(x) for x in data]
        if isinstance(data, dict):
            return {name: self.original(x) for name, x in data.items()}
        return data


def _outermost(folders: list[str]) -> list[str]:
    """The folders that lie in no other one of them. The root of the file system is never copied."""
    distinct = sorted({folder for folder in folders if os.path.dirname(folder) != folder})
    return [folder for folder in distinct if not any(folder.startswith(other + os.sep) for other in distinct)]


def _above(folder: str) -> Iterator[str]:
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        yield folder


def _entries(folder: str) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return None


def _is_scratch(entry: os.DirEntry[str]) -> bool:
    """True for a copy like this one, where the working folder is that of temporary files."""
    return entry.name.startswith(PREFIX) and os.path.dirname(entry.path) == tempfile.gettempdir()


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
