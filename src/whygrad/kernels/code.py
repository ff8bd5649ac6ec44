"""Compiling: from the builder of a function to its address, through a cache in memory and on disk.

A cached file is named by a digest of everything the code depends on (what it computes, this package's own files, the
processor, versions). A damaged or renamed file, or one of another user, is compiled anew, as is one that cannot be linked.
Loading from the cache needs no LLVM (see linker.py).
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from whygrad.base import disk_cache
from whygrad.base.disk_cache import blake2b
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
    return os.path.exists(disk_cache.path_of(_file(_name(key))))


def _name(key: str) -> str:
    digest = _machine().copy()
    digest.update(key.encode())
    return f"whygrad_{digest.hexdigest()}"


def _file(name: str) -> str:
    return f"{name}.o"


def _load(key: str, build: Callable[[Any, str], None]) -> int:
    name = _names[key] = _name(key)
    data = disk_cache.read(_file(name))
    if data is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with the file, it can be compiled anew
            found = _link(name, data)
            counts["loaded"] += 1
            return found
    if jit.only_cached:
        raise NotCached(key)
    with _without_collector():
        data = _compile(name, build)
    counts["compiled"] += 1
    disk_cache.write(_file(name), data)
    return _link(name, data)


def _link(name: str, data: bytes) -> int:
    if linker.is_image(data):
        linker.place(data)
    elif data.startswith(linker.OBJECTS):  # LLVM ends the process if it is given something else
        load("llvm").link(data)
    found = _linked(name)
    if not found:
        raise RuntimeError(f"internal error: no code for {name}")
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
