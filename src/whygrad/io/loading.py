"""torch.load. Safe by default: a file can contain tensors and plain containers, never code."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from mmap import MAP_SHARED
from typing import IO, Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.devices import device
from whygrad.base.torch_modules import resolve
from whygrad.functional.storage import TypedStorage, UntypedStorage
from whygrad.io import options
from whygrad.io.archive import PICKLE, Archive, broken
from whygrad.io.legacy import ReadPickle, is_pickle, load_legacy, trusting
from whygrad.io.rebuilding import GLOBALS, UNTYPED, StorageKind, new_storage, refuse_unless, trusted_globals
from whygrad.io.unpickling import Unpickler
from whygrad.why import record as why

UNSAFE = ("In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
          "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result "
          "in arbitrary code execution. Do it only if you got the file from a trusted source.")
TWO_OPTIONS = ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo "
               f"those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {UNSAFE}\n\t(2) "
               "Alternatively, to load with `weights_only=True` please check the recommended steps in the following "
               "error message.\n\tWeightsUnpickler error: ")
NO_CUDA = ("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
           "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
           "storages to the CPU.")
NO_CHECKPOINT = "torch.load: the file is no zip archive and not in the format from before torch 1.6: no checkpoint"
NO_MMAP = ("mmap can only be used with files saved with `torch.save({}, _use_new_zipfile_serialization=True), please torch.save "
           "your checkpoint with this option in order to use mmap.")

_ZIP = b"PK\3\4"
# Set by users who cannot change the program: what `weights_only` is, or is if the program does not say.
FORCE_SAFE, FORCE_UNSAFE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read what `save` (here or in torch) has written to a path or an open file.

    `weights_only=False` runs any code in the file: only for files from a trusted source. With `mmap=True` storages are
    the memory of the mapped file.
    """
    is_safe, is_unsafe = (os.getenv(name, "0") in ("1", "y", "yes", "true") for name in (FORCE_SAFE, FORCE_UNSAFE))
    if is_safe and is_unsafe:
        raise RuntimeError(f"Only one of `{FORCE_SAFE}` or `{FORCE_UNSAFE}` should be set, but both were set.")
    if is_safe:
        weights_only = True
    elif weights_only is None:
        weights_only = pickle_module is None and not is_unsafe
        if is_unsafe:
            warnings.warn(f"Environment variable {FORCE_UNSAFE} detected, since the`weights_only` argument was not explicitly "
                          "passed to `torch.load`, forcing weights_only=False.", UserWarning, stacklevel=2)
    if mmap is None:
        mmap = options.load.mmap
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
        if unknown := pickle_load_args.keys() - {"encoding"}:
            raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument '{min(unknown)}'")
    if isinstance(f, (str, os.PathLike)):
        if os.fspath(f).endswith(".safetensors"):
            from whygrad.io.safetensors import load_safetensors

            return load_safetensors(f)
        with open(f, "rb") as file:
            mapped = os.fspath(f) if mmap else None
            return _load(file, map_location, weights_only, pickle_module or pickle, pickle_load_args, mapped)
    for needed in ("seek", "tell", "read"):
        if not hasattr(f, needed):
            raise AttributeError(f"'{type(f).__name__}' object has no attribute '{needed}'. You can only torch.load "
                                 "from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO "
                                 "and try to load from it instead.")
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _load(f, map_location, weights_only, pickle_module or pickle, pickle_load_args)


def _load(file: IO[bytes], map_location: Any, weights_only: bool, pickle_module: Any,
          pickle_args: dict[str, Any], mapped: str | None = None) -> Any:
    start = file.tell()
    head = file.read(len(_ZIP))
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input: the file is empty, or was read to its end before (seek(0) goes back)")
    restore = restorer(map_location)
    if not head.startswith(_ZIP):
        if mapped is not None:
            raise RuntimeError(NO_MMAP.format(mapped))
        if not is_pickle(head):
            raise pickle.UnpicklingError(NO_CHECKPOINT)
        if weights_only:
            result = _explained(lambda: load_legacy(file, restore, _restricted(pickle_args.get("encoding", "utf-8"))))
        else:
            result = load_legacy(file, restore, trusting(
                lambda stream, load_storage: _trusting_unpickler(pickle_module, stream, load_storage, pickle_args)))
        why.tell("file_loaded", result)
        return result
    archive = Archive(file)
    if PICKLE not in archive:
        raise broken(f"file not found: {PICKLE}")
    if "constants.pkl" in archive:
        raise NotImplementedError("torch.load: the file is a TorchScript archive; torch.jit is not part of whygrad")
    storages = Storages(archive, restore, mapped)
    described = archive.read(PICKLE)
    if weights_only:
        result = _explained(Unpickler(described, storages).load)
    else:
        result = _trusting_unpickler(pickle_module, BytesIO(described), storages, pickle_args).load()
    why.tell("file_loaded", result)
    return result


def _restricted(encoding: str) -> ReadPickle:
    def read(data: bytes, at: int, load_storage: Callable[[Any], Any]) -> tuple[Any, int]:
        unpickler = Unpickler(data, load_storage, at, encoding)
        return unpickler.load(), unpickler.at

    return read


def _explained(load_objects: Callable[[], Any]) -> Any:
    try:
        return load_objects()
    except pickle.UnpicklingError as error:
        message = str(error)
        if "was not an allowed global by default" in message:
            raise pickle.UnpicklingError(TWO_OPTIONS + message) from None
        raise pickle.UnpicklingError(f"Weights only load failed. {message}") from None


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a checkpoint that `load(weights_only=True)` refuses."""
    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else contextlib.nullcontext(f) as file:
        if file.read(len(_ZIP)) != _ZIP:
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        file.seek(-len(_ZIP), os.SEEK_CUR)
        described = Archive(file).read(PICKLE)
    allowed = GLOBALS.keys() | trusted_globals().keys()
    opcodes = import_module("pickletools").genops(described)  # it takes 1.6 ms to load, and nothing else needs it
    named = {str(argument).replace(" ", ".") for opcode, argument, _ in opcodes if opcode.name == "GLOBAL"}
    return sorted(named - allowed)


def location_tag(storage: Any) -> str:
    """The name of the device that a storage is on."""
    return "cpu"


class Storages:
    """Maps persistent ids to storages; one id is one storage, so that tensors share memory as they did."""

    def __init__(self, archive: Archive, restore: Callable[[TypedStorage, str], Any], mapped: str | None = None) -> None:
        self.archive = archive
        self.restore = restore
        self.loaded: dict[str, TypedStorage] = {}
        is_shared = options.load.mmap_flags == MAP_SHARED
        self.mapped = None if mapped is None else np.asarray(np.memmap(mapped, np.uint8, "r+" if is_shared else "c"))
        order = archive.read("byteorder") if "byteorder" in archive else _order_of_untold()
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order!r}")
        self.foreign = order.decode() != sys.byteorder

    def __call__(self, persistent_id: Any) -> TypedStorage:
        refuse_unless(type(persistent_id) is tuple and len(persistent_id) == 5 and persistent_id[0] == "storage",
                      "Only persistent_load of storage is allowed")
        _, kind, key, location, numel = persistent_id
        refuse_unless(type(kind) is StorageKind and (type(key), type(location), type(numel)) == (str, str, int),
                      "a storage needs a type, a key, a location and a size")
        name = f"data/{key}"
        refuse_unless(name in self.archive, f"the archive has no record {name!r}")
        found = self.loaded.get(key)
        if found is None:
            self._check_size(name, kind, numel)
            found = self.loaded[key] = self._read(name, kind, location)
        refuse_unless(found.dtype is (kind.dtype or dtypes.uint8) and found.nbytes() == _nbytes(kind, numel),
                      f"the storage {key!r} is used with different types or sizes")
        return found

    def _check_size(self, name: str, kind: StorageKind, numel: int) -> None:
        held, wanted = self.archive.nbytes(name), _nbytes(kind, numel)
        refuse_unless(held == wanted, f"the storage {name!r} should have {wanted} bytes, but the archive holds {held}")

    def _read(self, name: str, kind: StorageKind, location: str) -> TypedStorage:
        if options.state.skips_data:
            memory = np.zeros(self.archive.nbytes(name), np.uint8)
        elif self.mapped is not None:
            begin = self.archive.find(name)
            memory = self.mapped[begin:begin + self.archive.nbytes(name)]
        else:
            memory = self.archive.read_array(name)
        storage = new_storage(memory, kind.dtype)
        if self.foreign:
            if kind.dtype is None:
                raise NotImplementedError("torch.load: untyped storages of the other byte order")
            storage.untyped().byteswap(kind.dtype)
        if kind.dtype is dtypes.bool_ and (memory > 1).any():
            memory[...] = memory != 0  # uninitialised memory; NumPy expects 0 and 1
        restored = self.restore(storage, location)
        if isinstance(restored, UntypedStorage):
            restored = storage
        if type(restored) is not TypedStorage:
            raise TypeError(f"map_location must return a storage, not {type(restored).__name__}")
        return restored


def _order_of_untold() -> bytes:
    """The byte order of a file that does not tell it."""
    wanted = options.load.endianness
    if wanted is options.LoadEndianness.NATIVE:
        return sys.byteorder.encode()
    return b"big" if wanted is options.LoadEndianness.BIG else b"little"


def _nbytes(kind: StorageKind, numel: int) -> int:
    return numel if kind is UNTYPED or kind.dtype is None else numel * kind.dtype.itemsize


def restorer(map_location: Any) -> Callable[[TypedStorage, str], Any]:
    """The function that places a storage saved on some device, here always on the CPU."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if isinstance(map_location, (str, device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def call(storage: TypedStorage, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return call


def default_restore_location(storage: TypedStorage, location: str) -> TypedStorage:
    """The storage, if the device it was saved from is available."""
    if location == "cpu" or location.startswith("cpu:"):
        return storage
    if location.startswith("cuda"):
        raise RuntimeError(NO_CUDA)
    if location == "meta":
        storage.without_values = True  # type: ignore[attr-defined]
        return storage
    raise RuntimeError("don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
                       f"{location})")


def _trusting_unpickler(pickle_module: Any, stream: IO[bytes], load_storage: Callable[[Any], Any],
                        pickle_args: dict[str, Any]) -> Any:
    """Python's unpickler, which may call anything, with torch's names mapped to ours."""

    class TrustingUnpickler(pickle_module.Unpickler):  # type: ignore[misc, name-defined]
        def find_class(self, module: str, name: str) -> Any:
            known = GLOBALS.get(f"{module}.{name}")
            if known is not None:
                return known
            if module == "torch" or module.startswith("torch."):
                return getattr(import_module(resolve(module)), name)
            return super().find_class(module, name)

        def persistent_load(self, persistent_id: Any) -> Any:
            return load_storage(persistent_id)

    return TrustingUnpickler(stream, **{"encoding": "utf-8", **pickle_args})
