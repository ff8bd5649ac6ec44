"""torch.storage: the memory behind tensors as objects, byte by byte (UntypedStorage) or element by element (TypedStorage)."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from whygrad.backends.numpy_layout import storage as owner_of
from whygrad.base import dtypes
from whygrad.base.devices import CPU, META, device
from whygrad.base.meta_array import MetaArray, meta_array
from whygrad.base.unread_array import extent
from whygrad.functional.arguments import check_place, invalid_combination, is_integer, type_name
from whygrad.functional.fresh import warn_once

DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
    "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()")


def _cast(dtype: dtypes.dtype) -> Any:
    """The method by which a storage is converted, element by element, into a new one of `dtype`."""
    def convert(self: Any) -> TypedStorage:
        line = self._elements()
        converted = line.real if np.iscomplexobj(line) and not dtype.is_complex else line
        return TypedStorage.of(converted.astype(dtype.numpy))

    return convert


class _Storage:
    """What both kinds of storages have."""

    is_cuda = is_hpu = is_sparse = False
    device = CPU
    filename: str | None

    bool, byte, char = _cast(dtypes.bool_), _cast(dtypes.uint8), _cast(dtypes.int8)
    short, int, long = _cast(dtypes.int16), _cast(dtypes.int32), _cast(dtypes.int64)
    half, bfloat16, float, double = (_cast(d) for d in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64))
    complex_float, complex_double = _cast(dtypes.complex64), _cast(dtypes.complex128)

    def _elements(self) -> np.ndarray:
        raise NotImplementedError

    def tolist(self) -> list[Any]:
        return self._elements().tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        lines = "\n ".join(map(str, self.tolist()))
        return f" {lines}\n[{self._title()} of size {len(self._elements())}]"

    def _title(self) -> str:
        raise NotImplementedError

    def is_pinned(self, device: Any = None) -> Any:
        return False

    def is_shared(self) -> Any:
        return self.filename is not None

    def get_device(self) -> None:
        """torch tells the number of an accelerator here, and nothing for the CPU."""

    def cpu(self) -> Any:
        return self

    def to(self, *, device: Any, non_blocking: Any = False) -> Any:
        check_place("to", None, device, False)
        return self

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        check_place("cuda", None, "cuda", False)


class UntypedStorage(_Storage):
    """The memory behind a tensor and its views, byte by byte: where it is and how large."""

    is_sparse_csr = False

    def __init__(self, *args: Any, device: Any = None, **kwargs: Any) -> None:
        check_place("UntypedStorage", None, device, False)
        source: Any = args[0] if args else 0
        if len(args) > 1 or kwargs or not (is_integer(source) or hasattr(source, "__len__")):
            raise invalid_combination("torch.UntypedStorage", *args, **kwargs)
        if is_integer(source):
            array = np.empty(source, np.uint8)
        else:
            wrong = next((x for x in source if type(x) is not int), None)
            if wrong is not None:
                raise RuntimeError("torch.UntypedStorage(): tried to construct a storage from a sequence "
                                   f"({type_name(source)}), but one of the items was of type {type_name(wrong)} instead of int")
            array = np.array([x & 255 for x in source], np.uint8)
        self._hold(array)

    def _hold(self, owner: np.ndarray, filename: str | None = None, is_used: Any = False) -> None:
        self._owner = owner
        self.filename = filename
        self._is_used = is_used  # by tensors

    @classmethod
    def of(cls, array: np.ndarray) -> UntypedStorage:
        """The storage of a tensor's array: the whole memory that it looks at."""
        self = cls.__new__(cls)
        owner, start = owner_of(array)
        if type(array) is MetaArray:
            owner, self.device = meta_array((start + extent(array),), np.uint8), META
        file = getattr(owner.base, "obj", None)
        self._hold(owner, file.filename if isinstance(file, _MappedFile) else None, is_used=True)
        return self

    @classmethod
    def from_file(cls, filename: str, shared: Any = False, nbytes: Any = 0) -> UntypedStorage:
        """The bytes of a file. What is written to them goes into the file if it is `shared`."""
        self = cls.__new__(cls)
        name = os.fspath(filename)
        self._hold(_map_file(name, shared, nbytes), name if shared else None)
        return self

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str | None = None, count: Any = -1, offset: Any = 0, *,
                    dtype: Any = None) -> UntypedStorage:
        """A copy of the bytes of `buffer`, which holds elements of `dtype` in the given byte order."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        item = dtype.itemsize
        if byte_order is None and dtype not in (dtypes.uint8, dtypes.int8):
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "big", "little", "native"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        held = np.frombuffer(buffer, np.uint8) if len(memoryview(buffer)) else np.empty(0, np.uint8)
        if not 0 <= offset <= len(held):
            raise ValueError(f"offset must be non-negative and no greater than buffer length ({offset}) , but got {len(held)}")
        if count < 0:
            if (len(held) - offset) % item:
                raise ValueError(f"buffer size ({len(held)}) must be a multiple of element size ({item})")
            count = (len(held) - offset) // item
        if offset + count * item > len(held):
            raise ValueError(f"buffer has only {len(held) - offset} elements after offset {offset}, but specified a size of "
                             f"{count}")
        self = cls.__new__(cls)
        self._hold(held[offset:offset + count * item].copy())
        if byte_order in ("big", "little") and byte_order != sys.byteorder:
            self.byteswap(dtype)
        if dtype is dtypes.bool_:
            self._owner[...] = self._owner != 0
        return self

    @property
    def bytes(self) -> np.ndarray:
        owner = self._owner
        if not owner.size:
            return np.empty(0, np.uint8)
        flat = owner.view(np.uint8) if owner.ndim else owner.reshape(1).view(np.uint8)
        return np.lib.stride_tricks.as_strided(flat, (owner.nbytes,), (1,))

    def _elements(self) -> np.ndarray:
        return self.bytes

    def _title(self) -> str:
        return "torch.storage.UntypedStorage(device=cpu)"

    def _part(self, index: slice) -> slice:
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        return slice(start, stop)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            part = UntypedStorage.__new__(UntypedStorage)
            part._hold(self.bytes[self._part(index)])
            return part
        if not is_integer(index):
            raise TypeError(f"can't index a torch.UntypedStorage with {type_name(index)}")
        if not -self.nbytes() <= index < self.nbytes():
            raise IndexError(f"index {index} out of range for storage of size {self.nbytes()}")
        return self.bytes[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not is_integer(value):
            raise RuntimeError(f"can only set storage content with a int types, but got {type_name(value)} instead")
        if isinstance(index, slice):
            self.bytes[self._part(index)] = value & 255
        elif not is_integer(index):
            raise TypeError(f"can't index a <class 'torch.storage.UntypedStorage'> with {type_name(index)}")
        elif not 0 <= index < self.nbytes():
            raise RuntimeError("out of bounds")
        else:
            self.bytes[index] = value & 255

    def __eq__(self, other: object) -> Any:
        return isinstance(other, UntypedStorage) and other._owner is self._owner

    def __hash__(self) -> Any:
        return id(self._owner)

    @property
    def _cdata(self) -> Any:
        return id(self._owner)

    def untyped(self) -> UntypedStorage:
        return self

    def data_ptr(self) -> Any:
        return self._owner.__array_interface__["data"][0] if self._owner.size and self.device is CPU else 0

    def nbytes(self) -> Any:
        return self._owner.nbytes

    size = __len__ = nbytes

    def element_size(self) -> Any:
        return 1

    def resizable(self) -> Any:
        return self.filename is None

    def resize_(self, size: Any) -> UntypedStorage:
        """Reallocate, which tensors on this memory would not see: those are refused."""
        if size < 0:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been "
                               f"called with negative number: {size + 2 ** 64}")
        if size != self.nbytes():
            if self._is_used:
                raise NotImplementedError("UntypedStorage.resize_: a storage that tensors use keeps its size in whygrad; use "
                                          "tensor.resize_ or a new tensor")
            kept, self._owner = self.bytes, np.zeros(size, np.uint8)
            self._owner[:len(kept)] = kept[:size]
        return self

    def fill_(self, value: Any) -> UntypedStorage:
        if not is_integer(value):
            raise RuntimeError(f"fill_ expects int, but got {type_name(value)}")
        self.bytes[...] = value & 255
        return self

    def copy_(self, source: Any, non_blocking: Any = False) -> UntypedStorage:
        if self.nbytes() != source.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self.bytes[...] = source.untyped().bytes
        return self

    def clone(self) -> UntypedStorage:
        result = UntypedStorage.__new__(UntypedStorage)
        result._hold(self.bytes.copy())
        return result

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        # The array is what is remembered: tensors look for it as well.
        if id(self._owner) not in memo:
            memo[id(self._owner)] = self._owner.copy("K")
        result = UntypedStorage.__new__(UntypedStorage)
        result._hold(memo[id(self._owner)], is_used=self._is_used)
        return result

    def __sizeof__(self) -> Any:
        return object.__sizeof__(self) + self.nbytes()

    def new(self) -> UntypedStorage:
        return UntypedStorage()

    def type(self, dtype: Any = None, non_blocking: Any = False) -> str:
        if dtype is not None:
            raise NotImplementedError("UntypedStorage.type(dtype): convert with float(), double(), ...")
        return "torch.storage.UntypedStorage"

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Reverse the bytes of each element, in place; of both halves of a complex one."""
        item = dtype.to_real().itemsize
        if self.nbytes() % item:
            raise RuntimeError(f"the length of data is not a multiple of {item}")
        self.bytes.view(f"V{item}" if item == 1 else f"u{item}").byteswap(inplace=True)


class _MappedFile(mmap.mmap):
    """The memory of a file, which knows its name if what is written goes into the file."""

    filename: str | None


def _map_file(filename: str, shared: Any, nbytes: Any) -> np.ndarray:
    """The first `nbytes` of a file as memory. A shared file is created, or made longer, as needed."""
    if not nbytes:
        return np.empty(0, np.uint8)
    try:
        descriptor = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}> in {'read-write' if shared else 'read-only'} mode: "
                           f"{error.strerror} ({error.errno})") from None
    try:
        held = os.fstat(descriptor).st_size
        if held < nbytes:
            if not shared:
                raise RuntimeError(f"file <{filename}> size <{held}> is smaller than the required mapping size <{nbytes}>")
            os.ftruncate(descriptor, nbytes)
        mapped = _MappedFile(descriptor, nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        mapped.filename = filename if shared else None
        return np.frombuffer(mapped, np.uint8)
    finally:
        os.close(descriptor)


class TypedStorage(_Storage):
    """The memory behind a tensor, as a line of its elements."""

    dtype: Any

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> None:
        warn_once(DEPRECATED)
        problem: Any = None
        if wrap_storage is not None:
            problem = ("No positional arguments should be given when using 'wrap_storage'" if args else
                       "Argument 'dtype' must be specified" if dtype is None else
                       "Argument 'device' should not be specified when 'wrap_storage' is given" if device is not None else None)
            self._check(problem)
            if not isinstance(wrap_storage, UntypedStorage):
                self._check(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}", TypeError)
        else:
            check_place("TypedStorage", None, device, False)
            dtype = dtypes.get_default_dtype() if dtype is None else dtype
            source = args[0] if args else 0
            self._check("Too many positional arguments" if len(args) > 1 else None)
            if is_integer(source):
                wrap_storage = UntypedStorage(int(source) * dtype.itemsize)
            elif isinstance(source, Sequence):
                wrap_storage = UntypedStorage.__new__(UntypedStorage)
                wrap_storage._hold(np.array(source, dtype.numpy).reshape(-1))
            else:
                self._check(f"Argument type not recognized: {type(source)}", TypeError)
        self._untyped_storage = wrap_storage
        self.dtype = dtype

    def _check(self, problem: str | None, kind: Any = RuntimeError) -> None:
        if problem is not None:
            raise kind("TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
                       " * (*, torch.device device, torch.dtype dtype)\n"
                       " * (int size, *, torch.device device, torch.dtype dtype)\n"
                       " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
                       f" * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n{problem}")

    @classmethod
    def of(cls, array: np.ndarray) -> TypedStorage:
        """The storage of a tensor's array."""
        return cls._wrapping(UntypedStorage.of(array), dtypes.FROM_NUMPY[array.dtype])

    @staticmethod
    def _wrapping(storage: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
        self = TypedStorage.__new__(TypedStorage)
        self._untyped_storage, self.dtype = storage, dtype
        return self

    def _elements(self) -> np.ndarray:
        held = self._untyped_storage.bytes
        item = self.dtype.itemsize
        return held[:len(held) // item * item].view(self.dtype.numpy)

    def _title(self) -> str:
        return f"torch.storage.TypedStorage(dtype={self.dtype}, device=cpu)"

    @property
    def filename(self) -> str | None:  # type: ignore[override]
        return self._untyped_storage.filename

    @property
    def _cdata(self) -> Any:
        return self._untyped_storage._cdata

    def __len__(self) -> Any:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    size = __len__

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not is_integer(index):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a <class 'torch.storage.TypedStorage'> with {type(index)}")
        if isinstance(value, _Storage):
            raise RuntimeError(f"cannot set item with value type <class 'torch.storage.{type(value).__name__}'>")
        self._elements()[index] = np.asarray(value).astype(self.dtype.numpy)

    def fill_(self, value: Any) -> TypedStorage:
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> TypedStorage:
        self._untyped_storage.copy_(source, bool(non_blocking))
        return self

    def element_size(self) -> Any:
        return self.dtype.itemsize

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def nbytes(self) -> Any:
        return self._untyped_storage.nbytes()

    def data_ptr(self) -> Any:
        return self._untyped_storage.data_ptr()

    def resizable(self) -> Any:
        return self._untyped_storage.resizable()

    def resize_(self, size: Any) -> None:
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def clone(self) -> TypedStorage:
        return self._wrapping(self._untyped_storage.clone(), self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._wrapping(self._untyped_storage.__deepcopy__(memo), self.dtype)

    def __sizeof__(self) -> Any:
        return object.__sizeof__(self) + self.nbytes()

    def pickle_storage_type(self) -> str:
        return f"{self.dtype.scalar_name}Storage"

    def type(self, dtype: Any = None, non_blocking: Any = False) -> str:
        if dtype is not None:
            return self._untyped_storage.type(dtype)
        return f"torch.{self.dtype.scalar_name}Storage" if self.dtype in WITH_CLASS else "torch.storage.TypedStorage"

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> TypedStorage:
        warn_once(DEPRECATED)
        if cls is TypedStorage:
            dtype = dtypes.get_default_dtype() if dtype is None else dtype
            if device is not None and _device_type(device) != "cpu":
                raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {_device_type(device)}")
        else:
            for name, value in (("dtype", dtype), ("device", device)):
                if value is not None:
                    raise RuntimeError(f"from_buffer: '{name}' can only be specified in UntypedStorage.from_buffer and "
                                       "TypedStorage.from_buffer")
            dtype = cls.dtype
        return cls._wrapping(UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs), dtype)

    @classmethod
    def from_file(cls, filename: str, shared: Any = False, size: Any = 0) -> TypedStorage:
        warn_once(DEPRECATED)
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        return cls._wrapping(UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize), cls.dtype)


def _device_type(where: Any) -> str:
    return device(where).type


class _ByDtype(type):
    """The metaclass of torch.FloatStorage and the like: a call makes a TypedStorage, and isinstance compares dtypes."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None) -> Any:
        warn_once(DEPRECATED)
        problem: str | None = None
        kind: Any = RuntimeError
        if device is not None or dtype is not None:
            problem = f"Keyword argument '{'dtype' if device is None else 'device'}' cannot be specified"
        elif wrap_storage is not None and args:
            problem = "No positional arguments should be given when using 'wrap_storage'"
        elif wrap_storage is not None and not isinstance(wrap_storage, UntypedStorage):
            problem, kind = f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}", TypeError
        elif len(args) > 1:
            problem = "Too many positional arguments"
        elif args and not is_integer(args[0]) and not isinstance(args[0], Sequence):
            problem, kind = f"Argument type not recognized: {type(args[0])}", TypeError
        if problem is not None:
            raise kind(f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
                       f" * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n{problem}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)


WITH_CLASS = (*dtypes.WITH_TENSOR_TYPE, dtypes.complex64, dtypes.complex128)
CLASSES: dict[str, Any] = {
    name: _ByDtype(name, (TypedStorage,), {"dtype": dtype, "__module__": "torch"})
    for dtype in WITH_CLASS for name in [f"{dtype.scalar_name}Storage"]}


def storage_class(dtype: dtypes.dtype) -> Any:
    """torch.FloatStorage for float32."""
    return CLASSES[f"{dtype.scalar_name}Storage"]


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        return CLASSES[name]
    if name == "Storage":  # that of the default dtype
        return storage_class(dtypes.get_default_dtype())
    raise AttributeError(f"module 'torch.storage' has no attribute {name!r}")
