"""The globals that a checkpoint may reference: functions that rebuild tensors, containers, dtypes and storage classes.

`GLOBALS` is read both ways: loading looks names up in it, saving looks objects up. Every function in it checks its
arguments, because a file may pass anything.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

import numpy as np

from whygrad.base import dtypes, layouts
from whygrad.base.devices import device
from whygrad.base.meta_array import meta_array
from whygrad.base.on_demand import on_demand
from whygrad.base.torch_homes import torch_home
from whygrad.base.version import unwritten
from whygrad.core.tensor import Size, Tensor
from whygrad.functional.conj_neg import KINDS
from whygrad.functional.fresh import fresh
from whygrad.functional.overriding import as_instance
from whygrad.functional.parameter import Parameter
from whygrad.functional.storage import TypedStorage, UntypedStorage

MOST_DIMS = 64
# The first two pickles of a file from before torch 1.6.
LEGACY_MAGIC, LEGACY_VERSION = 0x1950a86a20f9469cfc6c, 1001
# Hashing a tuple is recursive, and exponential in the depth if each level names the one below it twice.
MOST_PARTS_OF_KEY = 1000


class StorageKind:
    """torch.FloatStorage and its like: the element type of a storage. torch.UntypedStorage leaves it open (None)."""

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, dtype: dtypes.dtype | None) -> None:
        self.name = name
        self.dtype = dtype


def new_storage(memory: np.ndarray, dtype: dtypes.dtype | None) -> TypedStorage:
    """The bytes behind one or several tensors, which also share its version counter."""
    # The buffer protocol makes the memory an array of its own, also if it is a part of a mapped file.
    whole = np.frombuffer(memory.data, np.uint8) if memory.base is not None and memory.size else memory
    storage: Any = TypedStorage._wrapping(UntypedStorage.of(whole), dtype or dtypes.uint8)
    storage.counter = unwritten()
    return storage  # type: ignore[no-any-return]


def refuse_unless(condition: Any, problem: str) -> None:
    if not condition:
        raise UnpicklingError(problem)


def shown(value: Any) -> str:
    """A short text for messages, because the repr of a malicious container may take exponential time."""
    return repr(value)[:100] if type(value) in (int, float, bool, str, type(None)) else f"a {type(value).__name__}"


def _check_hooks(hooks: Any) -> None:
    refuse_unless(hooks is None or (isinstance(hooks, dict) and not hooks), "a checkpoint cannot bring backward hooks")


def _is_sizes(value: Any) -> bool:
    return type(value) in (tuple, Size) and len(value) <= MOST_DIMS and all(type(n) is int and n >= 0 for n in value)


def rebuild_array(storage: Any, dtype: Any, offset: Any, size: Any, stride: Any) -> np.ndarray:
    """A strided view of the storage, verified to lie inside it."""
    refuse_unless(type(storage) is TypedStorage, "a tensor needs a storage")
    refuse_unless(isinstance(dtype, dtypes.dtype), "a tensor needs a dtype")
    refuse_unless(type(offset) is int and offset >= 0, f"the storage offset of a tensor cannot be {shown(offset)}")
    refuse_unless(_is_sizes(size) and _is_sizes(stride) and len(size) == len(stride),
                  "its size and stride do not describe a tensor: both must be equally many numbers, none negative")
    item = dtype.itemsize
    needed = 0 if 0 in size else offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1
    held = storage.nbytes() // item
    refuse_unless(needed <= held, f"a tensor of size {tuple(size)}, stride {tuple(stride)} and offset {offset} needs "
                                  f"{needed} elements, but its storage holds {held}")
    try:
        if hasattr(storage, "without_values"):  # it was loaded to the meta device
            return meta_array(tuple(size), dtype.numpy, tuple([step * item for step in stride]))
        if not needed:
            return np.empty(size, dtype.numpy)
        return np.ndarray(size, dtype.numpy, storage.untyped().bytes, offset * item, tuple([step * item for step in stride]))
    except ValueError as error:
        raise UnpicklingError(f"size {tuple(size)} and stride {tuple(stride)}: {error}") from None


def _rebuild(storage: Any, dtype: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any,
             metadata: Any) -> Tensor:
    refuse_unless(type(requires_grad) is bool, f"requires_grad cannot be {shown(requires_grad)}")
    _check_hooks(hooks)
    array = rebuild_array(storage, dtype, offset, size, stride)
    refuse_unless(not requires_grad or dtype.category >= 2, f"a {dtype} tensor cannot require gradients")
    tensor = fresh(array, requires_grad)
    if metadata:
        refuse_unless(type(metadata) is dict and metadata.keys() <= {"conj", "neg"}, "unknown metadata of a tensor")
        conj, neg = metadata.get("conj") is True, metadata.get("neg") is True
        refuse_unless(dtype.category >= (3 if conj else 2 if neg else 0),
                      f"a storage of {dtype} cannot be {'conjugated' if conj else 'negated'}")
        tensor = as_instance(KINDS[conj, neg], tensor)
    tensor._lazy_version = storage.counter
    return tensor


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Tensor:
    return rebuild_tensor_v2(storage, offset, size, stride, False, None)


def rebuild_tensor_v2(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any,
                      metadata: Any = None) -> Tensor:
    return _rebuild(storage, getattr(storage, "dtype", None), offset, size, stride, requires_grad, hooks, metadata)


def rebuild_tensor_v3(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any,
                      metadata: Any = None) -> Tensor:
    """For the dtypes without a storage class: uint16, uint32, uint64."""
    return _rebuild(storage, dtype, offset, size, stride, requires_grad, hooks, metadata)


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Parameter:
    return rebuild_parameter_with_state(data, requires_grad, hooks, None)


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Parameter:
    refuse_unless(type(data) is Tensor and type(requires_grad) is bool, "a parameter needs a tensor and requires_grad")
    _check_hooks(hooks)
    refuse_unless(not requires_grad or data.dtype.category >= 2, f"a {data.dtype} tensor cannot require gradients")
    parameter: Parameter = Parameter(data, requires_grad)
    set_attributes(parameter, state)
    return parameter


def rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor with user-defined attributes, or of a subclass."""
    refuse_unless(function in (rebuild_tensor_v2, rebuild_tensor_v3) and type(args) is tuple,
                  "not a way to rebuild a tensor")
    refuse_unless(isinstance(kind, type) and issubclass(kind, Tensor), "not a kind of tensor")
    tensor: Tensor = function(*args)
    if kind is not Tensor:
        tensor = as_instance(kind, tensor)
    set_attributes(tensor, state)
    return tensor


def rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor from indices and values, which are validated."""
    refuse_unless(type(data) is tuple and len(data) in (3, 4) and all(type(t) is Tensor for t in data[:2]),
                  "not the parts of a sparse tensor")
    try:
        if str(layout) == "torch.sparse_coo":
            coalesced = len(data) == 4 and data[3] is True
            result: Any = on_demand.load_sparse().sparse_coo_tensor(*data[:3])
            return result._coalesced_(coalesced) if not coalesced or _in_order(result._array.flat) else result
        return on_demand.load_sparse().sparse_compressed_tensor(*data, layout=layout)  # type: ignore[no-any-return]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise UnpicklingError(f"a sparse tensor: {error}") from None


def _in_order(indices: np.ndarray) -> bool:
    return bool((np.diff(indices) > 0).all())


def set_attributes(target: Any, state: Any) -> None:
    """Set user-defined attributes, none of which may shadow one of the class, or be one that Python or NumPy asks for."""
    if type(state) is tuple and len(state) == 2 and not state[1]:
        state = state[0]
    if state is None:
        return
    refuse_unless(type(state) is dict,
                  f"attributes of a {type(target).__name__} cannot come from a {type(state).__name__}")
    check_special_names(state)
    for name, value in state.items():
        refuse_unless(type(name) is str and name.isidentifier() and not hasattr(type(target), name),
                      f"a {type(target).__name__} cannot be given the attribute {shown(name)}")
        target.__dict__[name] = value


def check_special_names(state: Any) -> None:
    """With `__array_interface__` in an object's attributes, NumPy reads and writes at any address that it names."""
    for name in state or ():
        refuse_unless(type(name) is not str or not (name.startswith("__") and name.endswith("__")),
                      f"a checkpoint cannot set the special attribute {shown(name)}: NumPy and Python act upon such names. "
                      "(PyTorch 2.13 allows it, and NumPy may then be led to any address in memory.)")


def check_key(key: Any) -> None:
    """Validate a dict key or set element before it is hashed."""
    pending, seen = [key], 0
    while pending:
        part = pending.pop()
        seen += 1
        refuse_unless(seen <= MOST_PARTS_OF_KEY, "a key is nested too deeply")
        if isinstance(part, tuple):
            pending.extend(part)
        else:
            refuse_unless(type(part).__hash__ is not None, f"a {type(part).__name__} cannot be a key")


def _pairs(kind: type) -> Callable[..., Any]:
    def make(pairs: Any = ()) -> Any:
        result = kind()
        for pair in pairs.items() if type(pairs) is dict else pairs:
            refuse_unless(type(pair) in (list, tuple) and len(pair) == 2, f"a {kind.__name__} needs pairs")
            check_key(pair[0])
            result[pair[0]] = pair[1]
        return result

    return make


def make_set(items: Any = ()) -> set[Any]:
    refuse_unless(type(items) in (list, tuple), "a set needs a list")
    for item in items:
        check_key(item)
    return set(items)


def encode(text: Any, encoding: Any) -> bytes:
    """`_codecs.encode`, which pickle protocol 2 calls to write bytes."""
    refuse_unless(type(text) is str and encoding == "latin1", "bytes must come from latin1")
    return text.encode("latin1")  # type: ignore[no-any-return]


def make_bytearray(*args: Any) -> bytearray:
    if not args:
        return bytearray()
    data = encode(*args) if type(args[0]) is str else args[0]
    # bytes(number) would allocate that many bytes.
    refuse_unless(type(data) is bytes, "a bytearray must come from bytes")
    return bytearray(data)


def make_complex(real: Any, imag: Any) -> complex:
    refuse_unless(type(real) in (int, float) and type(imag) in (int, float), "a complex number needs two real ones")
    return complex(real, imag)


def make_size(sizes: Any) -> Size:
    refuse_unless(type(sizes) in (tuple, list) and all(type(n) is int for n in sizes), "torch.Size needs integers")
    return Size(sizes)


def make_device(name: Any, index: Any = None) -> device:
    refuse_unless(type(name) is str and (index is None or type(index) is int), "torch.device needs a name")
    return device(name, index)


def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """A tensor on the meta device."""
    refuse_unless(isinstance(dtype, dtypes.dtype) and _is_sizes(size) and _is_sizes(stride) and len(size) == len(stride),
                  "a tensor on the meta device needs a dtype, a size and strides")
    refuse_unless(type(requires_grad) is bool and not (requires_grad and dtype.category < 2),
                  f"requires_grad of a {dtype} tensor cannot be {shown(requires_grad)}")
    try:
        array = meta_array(tuple(size), dtype.numpy, tuple([step * dtype.numpy.itemsize for step in stride]))
    except (MemoryError, ValueError, OverflowError) as error:
        raise UnpicklingError(f"size {tuple(size)} and stride {tuple(stride)}: {error}") from None
    return fresh(array, requires_grad)


def get_layout(name: Any) -> Any:
    found = layouts.BY_NAME.get(name.removeprefix("torch.")) if type(name) is str else None
    refuse_unless(isinstance(found, layouts.layout), f"unknown layout {shown(name)}")
    return found


STORAGES: dict[str, StorageKind] = {
    name: StorageKind(name, dtype) for name, dtype in {
        "BoolStorage": dtypes.bool_, "ByteStorage": dtypes.uint8, "CharStorage": dtypes.int8,
        "ShortStorage": dtypes.int16, "IntStorage": dtypes.int32, "LongStorage": dtypes.int64,
        "HalfStorage": dtypes.float16, "BFloat16Storage": dtypes.bfloat16, "FloatStorage": dtypes.float32,
        "DoubleStorage": dtypes.float64,
        "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128}.items()}
UNTYPED = StorageKind("UntypedStorage", None)
KIND_OF: dict[dtypes.dtype | None, StorageKind] = {kind.dtype: kind for kind in STORAGES.values()}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type,
    "torch._utils._rebuild_sparse_tensor": rebuild_sparse_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "torch.serialization._get_layout": get_layout,
    "_codecs.encode": encode,
}

# As values classes are themselves; a call goes to a function that validates its arguments.
_CLASSES: dict[str, tuple[type, Callable[..., Any] | None]] = {
    "collections.OrderedDict": (OrderedDict, _pairs(OrderedDict)),
    "collections.Counter": (Counter, _pairs(Counter)),
    "builtins.set": (set, make_set),
    "builtins.bytes": (bytes, lambda: b""),  # empty ones only; others are written with `encode`
    "builtins.bytearray": (bytearray, make_bytearray),
    "builtins.complex": (complex, make_complex),
    "torch.Size": (Size, make_size),
    "torch.device": (device, make_device),
    "torch.Tensor": (Tensor, None),
    "torch.nn.parameter.Parameter": (Parameter, None),
}

GLOBALS: dict[str, Any] = {
    **_FUNCTIONS,
    **{name: kind for name, (kind, _) in _CLASSES.items()},
    **{f"torch.{name}": d for name, d in dtypes.BY_NAME.items() if name == d.name},
    **{f"torch.{name}": kind for name, kind in STORAGES.items()},
    "torch.storage.UntypedStorage": UNTYPED,
}

CALLS: dict[Any, Callable[..., Any]] = {
    **{function: function for function in _FUNCTIONS.values()},
    **{kind: call for kind, call in _CLASSES.values() if call is not None},
}

# Classes and functions that the user trusts, by their name in a pickle.
_trusted: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow `load` to use these classes and functions, given as objects or as (object, full name)."""
    _trusted.extend(safe_globals)


def clear_safe_globals() -> None:
    _trusted.clear()


def get_safe_globals() -> list[Any]:
    return list(_trusted)


class safe_globals:
    """`add_safe_globals` as a context manager."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.added = list(safe_globals)

    def __enter__(self) -> None:
        _trusted.extend(self.added)

    def __exit__(self, *exc: object) -> None:
        for item in self.added:
            if item in _trusted:
                _trusted.remove(item)


def trusted_globals() -> dict[str, Any]:
    named = {}
    for item in _trusted:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError("Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                                 f"length: {len(item)}")
            if type(item[1]) is not str:
                raise TypeError("Expected second item in tuple to be str of callable full path, but got: "
                                f"{type(item[1])}")
            named[item[1]] = item[0]
        else:
            # Files name torch's modules, also those that we write.
            named[f"{torch_home(item) or item.__module__}.{item.__qualname__}"] = item
    return named
