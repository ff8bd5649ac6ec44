"""torch.save: a pickle that names torch's own functions, and the raw bytes of each storage beside it."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections import OrderedDict
from types import FunctionType
from typing import IO, Any

import numpy as np

from whygrad.base import dtypes, layouts
from whygrad.base.devices import device
from whygrad.base.meta_array import MetaArray
from whygrad.base.torch_homes import torch_home
from whygrad.core.tensor import Size, Tensor, wrap
from whygrad.functional.conj_neg import Turned
from whygrad.functional.parameter import Parameter
from whygrad.functional.storage import TypedStorage, UntypedStorage
from whygrad.io import options, rebuilding
from whygrad.io.atomic import replacing

DEFAULT_PROTOCOL = 2
_LOCAL_HEADER = 30  # bytes before the name
# Python's own classes are written by pickle itself.
_NAMES = {id(value): name for name, value in rebuilding.GLOBALS.items() if not name.startswith(("builtins.", "_codecs."))}


class Storage:
    """The memory behind a saved tensor, including the parts outside the tensor."""

    def __init__(self, key: str, memory: np.ndarray, dtype: dtypes.dtype) -> None:
        self.key = key
        self.memory = memory  # a flat array of `dtype`
        self.dtype = dtype

    @property
    def persistent_id(self) -> tuple[Any, ...]:
        kind = rebuilding.KIND_OF.get(self.dtype, rebuilding.UNTYPED)
        return "storage", kind, self.key, "cpu", self.memory.size if kind is not rebuilding.UNTYPED else self.memory.nbytes


# pickle's Python class, because the C one imports each name that it writes.
_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):
    """Writes tensors as torch does: a call of torch's rebuild function on a storage outside the pickle."""

    persistent_tail: tuple[Any, ...] = ()

    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self.storages: dict[int, Storage] = {}
        self.kept: list[Any] = []  # keeps the objects alive whose ids are in `storages`

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            obj = self.storage_of(obj._elements(), getattr(obj, "dtype", dtypes.uint8))[0]
        return obj.persistent_id + self.persistent_tail if type(obj) is Storage else None

    def save_global(self, obj: Any, name: str | None = None) -> None:
        full = _NAMES.get(id(obj))
        if full is not None:
            module, _, short = full.rpartition(".")
        elif (home := torch_home(obj)) is not None and "." not in obj.__qualname__:
            module, short = home, obj.__qualname__  # so that PyTorch finds its own class
        else:
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{short}\n".encode())
        self.memoize(obj)

    dispatch = {**_PythonPickler.dispatch, FunctionType: save_global}

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self.reduce_tensor(obj)
        if isinstance(obj, (dtypes.dtype, type(rebuilding.UNTYPED))):
            return "a global"  # save_global knows its name
        if isinstance(obj, Size):
            return Size, (tuple(obj),)
        if isinstance(obj, device):
            return device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, layouts.layout):
            return rebuilding.get_layout, (str(obj),)
        return NotImplemented

    def reduce_tensor(self, tensor: Tensor) -> Any:
        """torch's three forms: a tensor, a parameter of a tensor, and either of them with attributes."""
        array = tensor._memory if isinstance(tensor, Turned) else tensor._array
        if tensor.layout is not layouts.strided:  # type: ignore[attr-defined]
            return rebuilding.rebuild_sparse_tensor, (tensor.layout, _sparse_parts(array))  # type: ignore[attr-defined]
        if type(array) is MetaArray:
            stride = tuple([step // array.itemsize for step in array.strides])
            function: Any = rebuilding.rebuild_meta_tensor
            plain: list[Any] = [tensor.dtype, tuple(array.shape), stride, tensor.requires_grad]
        else:
            function = rebuilding.rebuild_tensor_v2
            storage, offset, stride = self.storage_of(array, tensor.dtype)
            plain = [storage, offset, tuple(array.shape), stride, tensor.requires_grad, OrderedDict()]
        if tensor.dtype not in rebuilding.KIND_OF and function is rebuilding.rebuild_tensor_v2:
            function = rebuilding.rebuild_tensor_v3
            plain.append(tensor.dtype)
        if isinstance(tensor, Turned):
            plain.append({name: True for name, is_so in (("conj", tensor.conjugated), ("neg", tensor.negated)) if is_so})
        attributes = dict(tensor.__dict__)
        if type(tensor) is Parameter:
            plain[3 if function is rebuilding.rebuild_meta_tensor else 4] = False
            data = _Reduced(function, tuple(plain))
            if attributes:
                return rebuilding.rebuild_parameter_with_state, (data, tensor.requires_grad, OrderedDict(), attributes)
            return rebuilding.rebuild_parameter, (data, tensor.requires_grad, OrderedDict())
        if (type(tensor) is Tensor or isinstance(tensor, Turned)) and not attributes:
            return function, tuple(plain)
        kind = Tensor if isinstance(tensor, Turned) else type(tensor)
        return rebuilding.rebuild_from_type, (function, kind, tuple(plain), attributes)

    def storage_of(self, array: np.ndarray, dtype: dtypes.dtype) -> tuple[Storage, int, tuple[int, ...]]:
        """The storage of an array, the array's offset in it, and its strides in elements."""
        root = _root(array)
        memory, offset = _flat(root, array)
        stride = tuple([step // array.itemsize for step in array.strides])
        if memory is None:
            # Empty, or a view that torch cannot describe: saved as a copy.
            root = memory = np.ascontiguousarray(array).reshape(-1)
            stride = _dense(array.shape)
        found = self.storages.get(id(root))
        if found is None:
            found = Storage(str(len(self.storages)), memory, dtype)
            self.storages[id(root)] = found
            self.kept.append(root)
        elif found.dtype is not dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return found, offset, stride


def _sparse_parts(array: Any) -> tuple[Any, ...]:
    parts = (*[wrap(index) for index in array.indices], wrap(array.values), Size(array.shape))
    return (*parts, array.coalesced) if array.layout == "coo" else parts


class _Reduced:
    """Pickled as the call `function(*args)`."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args

    def __reduce__(self) -> Any:
        return self.function, self.args


def _root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or the outermost one over foreign memory."""
    while True:
        below: Any = array.base
        if not isinstance(below, np.ndarray):
            below = getattr(below, "base", None)  # as_strided inserts an object in the chain of bases
        if not isinstance(below, np.ndarray):
            return array
        array = below


def _flat(root: np.ndarray, array: np.ndarray) -> tuple[Any, int]:
    """The memory of `root` as a flat array of the dtype of `array`, and the offset of `array` in it; or None, 0."""
    if not array.size or min(array.strides, default=0) < 0 or min(root.strides, default=0) < 0:
        return None, 0
    item = array.itemsize
    begin: int = root.__array_interface__["data"][0]
    span = sum((n - 1) * step for n, step in zip(root.shape, root.strides, strict=True)) + root.itemsize
    distance = array.__array_interface__["data"][0] - begin
    reach = distance + sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)) + item
    if distance < 0 or reach > span or distance % item or span % item or any(step % item for step in array.strides):
        return None, 0
    flat = np.lib.stride_tricks.as_strided(root, (span // root.itemsize,), (root.itemsize,))
    return flat.view(array.dtype), distance // item


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def save(obj: object, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Write `obj` to a path or an open file, in torch's format. A file at a path is replaced atomically.

    The byte order is always written, as it is in torch.
    """
    if pickle_module is not pickle:
        raise NotImplementedError("torch.save: only Python's own pickle module can be used")
    described = io.BytesIO()
    pickler = (_Pickler if _use_new_zipfile_serialization else _LegacyPickler)(described, pickle_protocol)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {folder} does not exist.")
        pickler.dump(obj)
        with replacing(path) as file:
            if _use_new_zipfile_serialization:
                root = os.path.splitext(os.path.basename(path))[0] or "archive"
                _write(file, root, described.getvalue(), pickler)
            else:
                _write_legacy(file, described.getvalue(), pickler, pickle_protocol)
        return
    if not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    pickler.dump(obj)
    if _use_new_zipfile_serialization:
        _write(f, "archive", described.getvalue(), pickler)
    else:
        _write_legacy(f, described.getvalue(), pickler, pickle_protocol)


class _FromHere:
    """A file in which an archive begins at the current position: its directory counts from there."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.start = file.tell()
        self.write, self.flush = file.write, file.flush

    def tell(self) -> int:
        return self.file.tell() - self.start

    def seek(self, offset: int) -> None:
        self.file.seek(offset + self.start)


def _from_here(file: IO[bytes]) -> Any:
    try:
        return _FromHere(file) if file.tell() else file
    except (AttributeError, OSError):
        return file  # it can only be written to


class _LegacyPickler(_Pickler):
    """For the format from before torch 1.6, where a storage's id ends with the place of a view in it: none."""

    persistent_tail = (None,)


def _write_legacy(file: IO[bytes], described: bytes, pickler: _Pickler, protocol: int) -> None:
    """Five pickles (a magic number, a version, the byte order, the objects, the keys), then each storage: size and bytes."""
    little = sys.byteorder == "little"
    for value in (rebuilding.LEGACY_MAGIC, rebuilding.LEGACY_VERSION, {
            "protocol_version": rebuilding.LEGACY_VERSION, "little_endian": little,
            "type_sizes": {"short": 2, "int": 4, "long": 4}}):
        pickle.dump(value, file, protocol=protocol)
    file.write(described)
    storages = sorted(pickler.storages.values(), key=lambda storage: storage.key)
    pickle.dump([storage.key for storage in storages], file, protocol=protocol)
    file.flush()
    for storage in storages:
        file.write(storage.persistent_id[4].to_bytes(8, "little"))
        file.write(storage.memory.view(np.uint8).data)
    file.flush()


def _write(file: IO[bytes], root: str, described: bytes, pickler: _Pickler) -> None:
    import zipfile

    with zipfile.ZipFile(_from_here(file), "w", zipfile.ZIP_STORED) as archive:
        def put(name: str, data: Any) -> None:
            info = zipfile.ZipInfo(f"{root}/{name}")
            # The bytes are aligned to 64 (configurable), so that they can be memory-mapped; as padding torch writes a
            # zip extra field with the id FB.
            begin = archive.start_dir + _LOCAL_HEADER + len(info.filename.encode()) + 4
            padding = -begin % options.save.storage_alignment
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, data)
            info.extra = b""  # not repeated in the directory
            if not options.save.compute_crc32:
                info.CRC = 0  # means that there is none

        put("data.pkl", described)
        put(".format_version", b"1")
        put(".storage_alignment", str(options.save.storage_alignment).encode())
        put("byteorder", sys.byteorder.encode())
        for storage in pickler.storages.values():
            data = storage.memory.view(np.uint8)
            put(f"data/{storage.key}", bytes(data.nbytes) if options.state.skips_data else data)
        put("version", b"3\n")
        put(".data/serialization_id", b"0" * 40)
