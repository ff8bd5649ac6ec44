"""Compiling: from the builder of a function to its address, through a cache in memory and on disk.

A cached file is named by a digest of everything the code depends on (what it computes, this package's own text, the
processor, versions). A file that is damaged or foreign is compiled anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from whygrad.kernels.host import host
from whygrad.kernels.jit import compiling

_addresses: dict[str, int] = {}
_names: dict[str, str] = {}

counts = {"compiled": 0, "loaded": 0}


def address_of(key: str, build: Callable[[Any, str], None]) -> int:
    """The address of the function that `build(module, name)` writes. `key` says what it computes."""
    with compiling:
        found = _addresses.get(key)
        if found is None:
            found = _addresses[key] = _load(key, build)
        return found


def function_for_all(key: str, build: Callable[[Any, str], None]) -> str:
    """The name under which the code of other kernels can call the function that `build(module, name)` writes."""
    from llvmlite import binding

    address = address_of(key, build)
    binding.add_symbol(_names[key], address)
    return _names[key]


def address_beside(key: str, suffix: str) -> int:
    """The address of another function that the builder of `key` wrote, called `name + suffix`."""
    return int(_engine().get_function_address(_names[key] + suffix))


def _load(key: str, build: Callable[[Any, str], None]) -> int:
    from llvmlite import binding

    digest = hashlib.sha256("\n".join((key, _package_digest(), *host().key())).encode()).hexdigest()
    name = _names[key] = f"whygrad_{digest[:24]}"
    path = cache_folder() / f"{digest}.o"
    code = _read(path)
    if code is None:
        with _without_collector():
            code = _compile(name, build)
        counts["compiled"] += 1
        _write(path, code)
    else:
        counts["loaded"] += 1
    engine = _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found = int(engine.get_function_address(name))
    if not found:
        raise RuntimeError(f"internal error: no code for {key}")
    return found


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
    module = _parsed(_text(name, build))
    _improve(module)
    return _object(module)


def _text(name: str, build: Callable[[Any, str], None]) -> str:
    from llvmlite import ir

    module = ir.Module(name)
    module.triple, module.data_layout = host().triple, host().data_layout
    build(module, name)
    return str(module)


def _parsed(text: str) -> Any:
    from llvmlite import binding

    module = binding.parse_assembly(text)
    module.verify()
    return module


def _improve(module: Any) -> None:
    from llvmlite import binding

    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, binding.create_pass_builder(host().target, binding.create_pipeline_tuning_options(speed_level=1)))


def _object(module: Any) -> bytes:
    return bytes(host().target.emit_object(module))


@cache
def _engine() -> Any:
    from llvmlite import binding

    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), host().target)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))  # its code is called until the very end of the process
    return engine


@cache
def _package_digest() -> str:
    """A change of the compiler makes old code foreign."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def cache_folder() -> Path:
    """WHYGRAD_CACHE, or the place the system has for such files."""
    given = os.environ.get("WHYGRAD_CACHE")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "whygrad"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", str(Path.home()))) / "whygrad" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whygrad"


# In front of the code: its length and digest, so that a file cut short or changed is noticed.
def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
        if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
            return None
    except OSError:
        return None
    digest, code = data[:32], data[32:]
    return code if code and hashlib.sha256(code).digest() == digest else None


def _write(path: Path, code: bytes) -> None:
    """Beside, then renamed. A cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".whygrad-")  # readable by its owner alone
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
