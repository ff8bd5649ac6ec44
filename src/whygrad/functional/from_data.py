"""Tensors from what the user already has: numbers, nested lists, NumPy arrays, buffers, other tensors."""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.base import dtypes, errors
from whygrad.base.errors import warn
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, cut, set_requires_grad, source
from whygrad.functional.arguments import check_place, fits, kind_name, read_dtype, type_name
from whygrad.functional.fresh import NOT_DIFFERENTIABLE, fresh, warn_once
from whygrad.functional.promotion import cast_values
from whygrad.functional.run import public
from whygrad.functional.storage import TypedStorage, UntypedStorage
from whygrad.why import record as why

COPY_CONSTRUCT = ("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                  "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor).")
LIST_OF_ARRAYS = ("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                  "list to a single numpy.ndarray with numpy.array() before converting to a tensor.")
READ_ONLY = ("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
             "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
             "data or make it writable before converting it to a tensor. This type of warning will be suppressed "
             "for the rest of this program.")
READ_ONLY_BUFFER = (
    "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to "
    "the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its "
    "data or make it writable before converting it to a tensor. This type of warning will be suppressed "
    "for the rest of this program.")
SCALAR_OF_TRACKED = ("Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                     "behavior.\nConsider using tensor.detach() first.")
ASARRAY_REQUIRES_GRAD = ("torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. "
                         "Pass requires_grad=False explicitly to get the old behavior and silence this warning.")
NEGATIVE_STRIDE = ("At least one stride in the given numpy array is negative, and tensors with negative strides are "
                   "not currently supported. (You can probably work around this by making a copy of your array  with "
                   "array.copy().) ")
ONE_ELEMENT = "only one element tensors can be converted to Python scalars"

MOST_DIMS = 128
_NUMBERS = {bool, int, float, complex}
_array = quiet(np.array)


@public(method=False)
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new tensor that copies `data`: a number, a nested list, an array or a tensor."""
    wanted = None if dtype is None else read_dtype("tensor", dtype, dtypes.float32)
    if device is not None or pin_memory:
        check_place("tensor", None, device, pin_memory)
    if isinstance(data, Tensor):
        warn(COPY_CONSTRUCT.format("torch.tensor"))
    array, causes = copy_data(data, wanted, "torch.tensor")
    return fresh(array, requires_grad, causes)


@public(function=False)
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               layout: Any = None, pin_memory: bool = False) -> Tensor:
    """As torch.tensor, in this tensor's dtype unless another is given."""
    check_place("new_tensor", layout, device or self.device, pin_memory)
    if isinstance(data, Tensor):
        warn(COPY_CONSTRUCT.format("tensor.new_tensor"))
    array, causes = copy_data(data, read_dtype("new_tensor", dtype, self.dtype), "tensor.new_tensor")
    return fresh(array, requires_grad, causes)


@public(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, without a copy where it is a tensor or an array of the right dtype already."""
    wanted = None if dtype is None else read_dtype("as_tensor", dtype, dtypes.float32)
    check_place("as_tensor", None, device, False)
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, Tensor):
        return data if wanted is None else data.to(wanted)  # type: ignore[attr-defined, no-any-return]
    array, causes = copy_data(data, wanted, "torch.as_tensor")
    return fresh(array, False, causes)


@public(method=False)
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Tensor:
    """`obj` as a tensor: an alias where possible (`copy=None`), always (False, or an error), or never (True)."""
    wanted = None if dtype is None else read_dtype("asarray", dtype, dtypes.float32)
    check_place("asarray", None, device, False)
    result = _alias(obj, wanted, copy)
    if result is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        array, causes = copy_data(obj, wanted, "torch.asarray")
        result = fresh(array, False, causes)
    elif copy or (wanted is not None and result.dtype is not wanted):
        if copy is False:
            assert wanted is not None
            raise ValueError(f"can't alias tensor with dtype '{result.dtype.scalar_name}' into dtype "
                             f"'{wanted.scalar_name}'.")
        result = result.to(wanted or result.dtype, copy=True)  # type: ignore[attr-defined]
    if requires_grad is None:
        if result.requires_grad:
            warn_once(ASARRAY_REQUIRES_GRAD)
    elif requires_grad and not result.requires_grad:
        if result._array.dtype.kind not in "fcV":
            raise errors.noted(RuntimeError(NOT_DIFFERENTIABLE), "integers_require_grad")
        set_requires_grad(result, True)
    elif not requires_grad and result.requires_grad:
        result = result.detach()  # type: ignore[attr-defined, union-attr]
    return result  # type: ignore[return-value]


def _alias(obj: Any, wanted: dtypes.dtype | None, copy: bool | None) -> Tensor | None:
    """A tensor on the memory of `obj`, or None if that is a number or a sequence."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, np.generic) and not isinstance(obj, (str, bytes)):
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        return from_numpy(np.asarray(obj))
    if isinstance(held := getattr(obj, "bytes", None), np.ndarray):  # a storage
        return frombuffer(held, dtype=wanted or dtypes.get_default_dtype())
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=wanted or dtypes.get_default_dtype())


@public(method=False)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of an array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    array = check_array(ndarray)
    if not array.flags.writeable:
        warn_once(READ_ONLY)
        array = _writable_alias(array)
    return fresh(array)


def check_array(array: np.ndarray) -> np.ndarray:
    """The array itself, if a tensor can lie on its memory."""
    dtype = dtypes.from_numpy(array.dtype)
    for stride in array.strides:
        if stride < 0:
            raise ValueError(NEGATIVE_STRIDE)
        if stride % array.itemsize:
            raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array "
                             "to reallocate the memory.")
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    # C's long long is int64 as well, but NumPy has a dtype of its own for it.
    return array if array.dtype is dtype.numpy else array.view(dtype.numpy)


class _Memory:
    """Presents an array's memory to NumPy as writable, and keeps the array alive."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _writable_alias(array: np.ndarray) -> np.ndarray:
    """torch ignores NumPy's write protection (and warns): programs which write do work, on images for example."""
    if array.dtype.kind == "V":
        return array.copy()
    return np.asarray(_Memory(array))


@public(method=False)
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor on the memory of an object with Python's buffer protocol."""
    wanted = read_dtype("frombuffer", dtype, dtypes.float32)
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, item = memory.nbytes, wanted.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} "
                         "bytes) minus 1")
    if count < 0 and (length - offset) % item:
        raise ValueError(f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                         f"element size ({item})")
    if count > 0 and offset + count * item > length:
        raise ValueError(f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be "
                         f"greater than actual buffer length ({length} bytes)")
    array = np.frombuffer(memory, wanted.numpy, count, offset)
    if memory.readonly:
        warn_once(READ_ONLY_BUFFER)
        array = _writable_alias(array)
    return fresh(array, requires_grad)


class _Capsule:
    """A bare DLPack capsule, in the form that NumPy reads."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@public(method=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array (or of a DLPack capsule)."""
    check_place("from_dlpack", None, device, False)
    if not hasattr(ext_tensor, "__dlpack__"):
        if type(ext_tensor).__name__ != "PyCapsule":
            raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
                               "only once, so you might have already constructed a tensor from it once.")
        ext_tensor = _Capsule(ext_tensor)
    array = check_array(np.from_dlpack(ext_tensor, copy=copy))
    return fresh(array if array.flags.writeable else _writable_alias(array))


def copy_data(data: Any, dtype: dtypes.dtype | None, function: str) -> tuple[np.ndarray, why.Causes]:
    """A new array with the values of `data`; and why they have no history, if they come from tensors."""
    if dtype is None and type(data) is float:
        return _array(data, dtypes.get_default_dtype().numpy), ()
    if dtype is None and type(data) is list:  # what most calls are about
        kinds = set(map(type, data))
        if kinds == {float}:
            return _array(data, dtypes.get_default_dtype().numpy), ()
        if kinds == {int}:
            return _store_integers(data, kinds, dtypes.int64), ()
    if isinstance(data, Tensor):
        array = data._array if dtype is None else cast_values(data._array, dtype.numpy)
        return (array.copy("K") if array is data._array else array), cut(data, "value-copied-out", function)
    if isinstance(data, np.ndarray):
        array = check_array(data)
        return (array.copy("K") if dtype is None else cast_values(array, dtype.numpy)), ()
    if isinstance(data, (TypedStorage, UntypedStorage)):
        kind = dtype or dtypes.get_default_dtype()
        if isinstance(data, TypedStorage) and data.dtype is not kind:
            raise RuntimeError(f"Expected a Storage of type {kind.scalar_name} or an UntypedStorage, but got "
                               f"{data.dtype.scalar_name}")
        held = data.untyped().bytes
        return held[:len(held) // kind.itemsize * kind.itemsize].view(kind.numpy).copy(), ()
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    sizes = _sizes(data)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn_once(LIST_OF_ARRAYS)
    try:
        leaves = _leaves(data, sizes)
    except (TypeError, ValueError):
        if dtype is None:
            _infer((data,))  # torch looks at the types before the lengths
        raise
    if dtype is None:
        dtype = _infer(leaves) if leaves else dtypes.get_default_dtype()
    causes: why.Causes = ()
    if not _NUMBERS.issuperset(map(type, leaves)):
        leaves, causes = _plain_numbers(leaves, dtype, function)
    return _store(leaves, dtype).reshape(sizes), causes


def _is_sequence(kind: type) -> bool:
    if issubclass(kind, (list, tuple)):
        return True
    return hasattr(kind, "__getitem__") and not issubclass(kind, (Tensor, np.generic, dict))


def _sizes(data: Any) -> tuple[int, ...]:
    """The shape, as the first element of each level tells it."""
    sizes: list[int] = []
    while _is_sequence(type(data)):
        sizes.append(len(data))
        if len(sizes) > MOST_DIMS:
            raise ValueError(f"too many dimensions '{type_name(data)}'")
        if not sizes[-1]:
            break
        try:
            data = data[0]
        except Exception:
            raise ValueError(f"could not determine the shape of object type '{type_name(data)}'") from None
    return tuple(sizes)


def _leaves(data: Any, sizes: tuple[int, ...]) -> list[Any]:
    """All elements in row-major order; level by level, because that leaves the work to C."""
    items = [data]
    for dim, length in enumerate(sizes):
        if not length:
            return []
        for item in items:
            if not _is_sequence(type(item)):
                raise TypeError("not a sequence")
            if len(item) != length:
                raise ValueError(f"expected sequence of length {length} at dim {dim} (got {len(item)})")
        items = list(chain.from_iterable(items))
    return items


def _infer(leaves: Any) -> dtypes.dtype:
    """The dtype that holds all of them."""
    found: list[dtypes.dtype] = []
    for kind in set(map(type, leaves)):
        if issubclass(kind, Tensor):
            found += {x.dtype for x in leaves if isinstance(x, Tensor)}
        elif issubclass(kind, np.ndarray):
            found += {dtypes.from_numpy(x.dtype) for x in leaves if isinstance(x, np.ndarray)}
        elif _is_sequence(kind) and not issubclass(kind, (str, bytes)):
            found += [_infer(x) for x in leaves if type(x) is kind]
        else:
            found.append(_dtype_of_number(kind))
    return reduce(dtypes.promote_types, found) if found else dtypes.get_default_dtype()


def _dtype_of_number(kind: type) -> dtypes.dtype:
    if issubclass(kind, np.generic):
        return dtypes.from_numpy(np.dtype(kind))
    if issubclass(kind, bool):
        return dtypes.bool_
    if issubclass(kind, int):
        return dtypes.int64
    if issubclass(kind, float):
        return dtypes.get_default_dtype()
    if issubclass(kind, complex):
        return dtypes.get_default_complex_dtype()
    if issubclass(kind, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    raise RuntimeError(f"Could not infer dtype of {kind_name(kind)}")


def warn_of_lost_gradient() -> None:
    """A tensor that requires grad becomes a Python number: worth a word where gradients are wanted at all."""
    if grad_state.grad:
        warn_once(SCALAR_OF_TRACKED)


def _plain_numbers(leaves: list[Any], dtype: dtypes.dtype, function: str) -> tuple[list[Any], why.Causes]:
    """Elements that are tensors or NumPy scalars as Python numbers; and the causes those tensors leave behind."""
    numbers: list[Any] = []
    tracked: list[Any] = []
    causes: why.Causes = ()
    for x in leaves:
        if isinstance(x, Tensor):
            if x._array.size != 1:
                raise ValueError(ONE_ELEMENT)
            node = source(x)
            if node is None:
                causes = why.merge(causes, x._cause)
            else:
                warn_of_lost_gradient()
                tracked.append(node)
            numbers.append(x._array.item())
        elif isinstance(x, np.generic):
            if dtype.category == 1 and isinstance(x, np.floating) and not isinstance(x, float):
                raise TypeError(f"'{type_name(x)}' object cannot be interpreted as an integer")
            numbers.append(x.item())
        else:
            numbers.append(x)
    if tracked:
        causes = (why.Cause("value-copied-out", why.site(), function, tuple(tracked)),)
    return numbers, causes


@quiet
def _store(numbers: list[Any], dtype: dtypes.dtype) -> np.ndarray:
    """A flat array of Python numbers, with torch's errors for what is not one or does not fit."""
    kinds = set(map(type, numbers))
    if dtype.category == 0:
        return np.array([bool(x) for x in numbers], bool) if kinds - {bool} else np.array(numbers, bool)
    if dtype.category == 1:
        return _store_integers(numbers, kinds, dtype)
    wrong = [kind for kind in kinds if not issubclass(kind, (int, float, *((complex,) if dtype.is_complex else ())))]
    if wrong:
        raise TypeError(f"must be real number, not {wrong[0].__name__}")
    wide = np.array(numbers, np.complex128 if dtype.is_complex else np.float64)
    return cast_values(wide, dtype.numpy) if wide.dtype != dtype.numpy else wide


def _store_integers(numbers: list[Any], kinds: set[type], dtype: dtypes.dtype) -> np.ndarray:
    wrong = [kind for kind in kinds if not issubclass(kind, (int, float))]
    if wrong:
        raise TypeError(f"'{wrong[0].__name__}' object cannot be interpreted as an integer")
    if not all(issubclass(kind, int) for kind in kinds):
        if not all(fits(x, dtype) for x in numbers):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        numbers = [int(x) for x in numbers]
    if dtype is dtypes.uint64:
        if min(numbers, default=0) < 0:
            raise OverflowError("can't convert negative int to unsigned")
        return np.array(numbers, np.uint64)
    try:
        wide = np.array(numbers, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if dtype is dtypes.int64:
        return wide
    if wide.size and not (fits(int(wide.min()), dtype) and fits(int(wide.max()), dtype)):
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return wide.astype(dtype.numpy)
