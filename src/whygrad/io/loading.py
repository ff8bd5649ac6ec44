"""torch.load. Safe by default: a file can contain tensors and plain containers, never code."""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from typing import IO, Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.devices import device
from whygrad.base.torch_modules import resolve
from whygrad.io import options
from whygrad.io.archive import PICKLE, Archive, broken
from whygrad.io.rebuilding import GLOBALS, UNTYPED, Storage, StorageKind, refuse_unless
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
LEGACY = ("torch.load: {} the format from before torch 1.6 (or not a checkpoint at all), which whygrad does not read. "
          "Rewrite it once with PyTorch: torch.save(torch.load(path), path)")

_ZIP = b"PK\3\4"
_LEGACY_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read what `save` (here or in torch) has written to a path or an open file.

    `weights_only=False` runs any code in the file: only for files from a trusted source. `mmap=True` is
    accepted for paths and reads the file as usual.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if isinstance(f, (str, os.PathLike)):
        if os.fspath(f).endswith(".safetensors"):
            from whygrad.io.safetensors import load_safetensors

            return load_safetensors(f)
        with open(f, "rb") as file:
            return _load(file, map_location, weights_only, pickle_module or pickle, pickle_load_args)
    for needed in ("seek", "tell", "read"):
        if not hasattr(f, needed):
            raise AttributeError(f"'{type(f).__name__}' object has no attribute '{needed}'. You can only torch.load "
                                 "from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO "
                                 "and try to load from it instead.")
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _load(f, map_location, weights_only, pickle_module or pickle, pickle_load_args)


def _load(file: IO[bytes], map_location: Any, weights_only: bool, pickle_module: Any,
          pickle_args: dict[str, Any]) -> Any:
    start = file.tell()
    head = file.read(len(_LEGACY_MAGIC))
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input: the file is empty, or was read to its end before (seek(0) goes back)")
    if not head.startswith(_ZIP):
        if head == _LEGACY_MAGIC:
            raise NotImplementedError(LEGACY.format("the file is in"))
        raise pickle.UnpicklingError(LEGACY.format("the file is no zip archive: either in"))
    archive = Archive(file)
    if PICKLE not in archive:
        raise broken(f"file not found: {PICKLE}")
    if "constants.pkl" in archive:
        raise NotImplementedError("torch.load: the file is a TorchScript archive; torch.jit is not part of whygrad")
    storages = Storages(archive, restorer(map_location))
    described = archive.read(PICKLE)
    if not weights_only:
        result = _trusting_unpickler(pickle_module, described, storages, pickle_args).load()
        why.tell("file_loaded", result)
        return result
    try:
        result = Unpickler(described, storages).load()
    except pickle.UnpicklingError as error:
        message = str(error)
        if "was not an allowed global by default" in message:
            raise pickle.UnpicklingError(TWO_OPTIONS + message) from None
        raise pickle.UnpicklingError(f"Weights only load failed. {message}") from None
    if not all(storage.used for storage in storages.loaded.values()):
        raise NotImplementedError("torch.load: the file holds a bare storage (t.storage()); save the tensor instead")
    why.tell("file_loaded", result)
    return result


class Storages:
    """Maps persistent ids to storages; one id is one storage, so that tensors share memory as they did."""

    def __init__(self, archive: Archive, restore: Callable[[Storage, str], Any]) -> None:
        self.archive = archive
        self.restore = restore
        self.loaded: dict[str, Storage] = {}
        order = archive.read("byteorder") if "byteorder" in archive else b"little"
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order!r}")
        self.foreign = order.decode() != sys.byteorder

    def __call__(self, persistent_id: Any) -> Storage:
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
        refuse_unless(found.dtype is kind.dtype and found.memory.nbytes == _nbytes(kind, numel),
                      f"the storage {key!r} is used with different types or sizes")
        return found

    def _check_size(self, name: str, kind: StorageKind, numel: int) -> None:
        held, wanted = self.archive.nbytes(name), _nbytes(kind, numel)
        refuse_unless(held == wanted, f"the storage {name!r} should have {wanted} bytes, but the archive holds {held}")

    def _read(self, name: str, kind: StorageKind, location: str) -> Storage:
        memory = np.zeros(self.archive.nbytes(name), np.uint8) if options.state.skips_data else self.archive.read_array(name)
        if kind.dtype is not None:
            if self.foreign:
                memory = memory.view(kind.dtype.numpy).byteswap().view(np.uint8)
            if kind.dtype is dtypes.bool_ and (memory > 1).any():
                memory = (memory != 0).view(np.uint8)  # uninitialised memory; NumPy expects 0 and 1
        elif self.foreign:
            raise NotImplementedError("torch.load: untyped storages of the other byte order")
        storage = Storage(memory, kind.dtype)
        restored = self.restore(storage, location)
        if not isinstance(restored, Storage):
            raise TypeError(f"map_location must return a storage, not {type(restored).__name__}")
        return restored


def _nbytes(kind: StorageKind, numel: int) -> int:
    return numel if kind is UNTYPED or kind.dtype is None else numel * kind.dtype.itemsize


def restorer(map_location: Any) -> Callable[[Storage, str], Any]:
    """The function that places a storage saved on some device, here always on the CPU."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if isinstance(map_location, (str, device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def call(storage: Storage, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return call


def default_restore_location(storage: Storage, location: str) -> Storage:
    """The storage, if the device it was saved from is available."""
    if location == "cpu" or location.startswith("cpu:"):
        return storage
    if location.startswith("cuda"):
        raise RuntimeError(NO_CUDA)
    raise RuntimeError("don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
                       f"{location})")


def _trusting_unpickler(pickle_module: Any, described: bytes, storages: Storages, pickle_args: dict[str, Any]) -> Any:
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
            return storages(persistent_id)

    return TrustingUnpickler(BytesIO(described), **{"encoding": "utf-8", **pickle_args})
