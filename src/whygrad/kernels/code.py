"""Compiling: from the builder of a function to its address, through a cache in memory and on disk.

A cached file is named by a digest of everything the code depends on (what it computes, this package's own files, the
processor, versions). A damaged file, or one of another user, is compiled anew. Loading from the cache needs no LLVM (see
linker.py).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from typing import Any

from whygrad.kernels import jit, linker
from whygrad.kernels.host import host
from whygrad.kernels.jit import NotCached, compiling
from whygrad.kernels.registry import load

_addresses: dict[str, int] = {}
_names: dict[str, str] = {}

counts = {"compiled": 0, "loaded": 0}


def address_of(key: str, build: Callable[[Any, str], None]) -> int:
    """The address of the function that `build(module, name)` writes. `key` says what it computes.

    But for those of the pool and the allocator themselves, functions are loaded when the pool is there (see jit.usable).
    """
    with compiling:
        found = _addresses.get(key)
        if found is None:
            found = _addresses[key] = _load(key, build)
        return found


def function_for_all(key: str, build: Callable[[Any, str], None]) -> str:
    """The name under which the code of other kernels can call the function that `build(module, name)` writes."""
    address = address_of(key, build)
    linker.symbols[_names[key]] = address
    return _names[key]


def address_beside(key: str, suffix: str) -> int:
    """The address of another function that the builder of `key` wrote, called `name + suffix`."""
    return _linked(_names[key] + suffix)


def is_cached(key: str) -> bool:
    return os.path.exists(_path(_name(key)))


def _name(key: str) -> str:
    digest = _machine().copy()
    digest.update(key.encode())
    return f"whygrad_{digest.hexdigest()}"


def _path(name: str) -> str:
    return os.path.join(cache_folder(), f"{name}.o")


def _load(key: str, build: Callable[[Any, str], None]) -> int:
    name = _names[key] = _name(key)
    path = _path(name)
    data = _read(path)
    if data is None:
        if jit.only_cached:
            raise NotCached(key)
        with _without_collector():
            data = _compile(name, build)
        counts["compiled"] += 1
        _write(path, data)
    else:
        counts["loaded"] += 1
    if linker.is_image(data):
        linker.place(data)
    else:
        load("llvm").link(data)
    found = _linked(name)
    if not found:
        raise RuntimeError(f"internal error: no code for {key}")
    return found


def _linked(name: str) -> int:
    found = linker.symbols.get(name)
    return load("llvm").address(name) if found is None else found


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Code is written with many small objects, none of which is garbage yet."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _compile(name: str, build: Callable[[Any, str], None]) -> bytes:
    """As an image if it can be one, else as the object itself (see linker.py)."""
    llvm = load("llvm")
    module = llvm.parsed(llvm.text(name, build))
    llvm.improve(module)
    code = llvm.emitted(module)
    return linker.pack(code) or code


@cache
def _machine() -> Any:
    """The digest of what all code depends on: this machine, and names, sizes and times of this package's files."""
    digest = blake2b("\n".join(host().key).encode(), digest_size=12)
    with os.scandir(os.path.dirname(__file__)) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                status = entry.stat()
                digest.update(f"{entry.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest


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


# In front of the code is its digest, so that a file cut short or changed is noticed.
DIGEST = 32


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            data = file.read()
    except OSError:
        return None
    digest, code = data[:DIGEST], data[DIGEST:]
    return code if code and blake2b(code, digest_size=DIGEST).digest() == digest else None


def _write(path: str, code: bytes) -> None:
    """To a temporary file, which is renamed. A cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        os.makedirs(cache_folder(), mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=cache_folder(), prefix=".whygrad-")  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(blake2b(code, digest_size=DIGEST).digest() + code)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
