"""The legacy constructors: torch.Tensor(2, 3), torch.FloatTensor([1, 2]), isinstance(x, torch.LongTensor)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import devices, dtypes, layouts
from whygrad.core.record import apply
from whygrad.core.tensor import Size, Tensor
from whygrad.functional.arguments import check_sizes, is_integer, type_name
from whygrad.functional.fresh import allocate, fresh, warn_once
from whygrad.functional.from_data import copy_data
from whygrad.functional.overriding import as_instance
from whygrad.functional.run import public
from whygrad.functional.storage import TypedStorage, UntypedStorage
from whygrad.functional.storages import on_storage
from whygrad.ops.table import TABLE


def construct(args: tuple[Any, ...], dtype: dtypes.dtype, typed: bool) -> Tensor:
    """Uninitialised memory if `args` are sizes, an alias if they are one tensor, otherwise a copy of the data."""
    if not args:
        return fresh(np.empty(0, dtype.numpy))
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Tensor):
            return _alias(first, dtype, typed)
        if isinstance(first, (TypedStorage, UntypedStorage)):
            if isinstance(first, TypedStorage) and first.dtype is not dtype:
                raise RuntimeError(f"Expected a Storage of type {dtype.scalar_name} or an UntypedStorage, but got type "
                                   f"{first.dtype.scalar_name} for argument 1 'storage'")
            return fresh(on_storage(first.untyped(), dtype))
        if isinstance(first, Size):
            args = tuple(first)
        elif not is_integer(first):
            if not hasattr(type(first), "__getitem__") or isinstance(first, (dict, np.generic)):
                raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
            array, causes = copy_data(first, dtype, f"torch.{dtype.scalar_name}Tensor" if typed else "torch.Tensor")
            return fresh(array, False, causes)
    if not all(is_integer(n) for n in args):
        raise TypeError(f"new() received an invalid combination of arguments - got "
                        f"({', '.join(map(type_name, args))}), but expected one of:")
    sizes = tuple([int(n) for n in args])
    check_sizes(sizes)
    return fresh(allocate(np.empty, sizes, dtype.numpy))


def _alias(t: Tensor, dtype: dtypes.dtype, typed: bool) -> Tensor:
    if typed and t.dtype is not dtype:
        raise TypeError(f"expected {_options(dtype)} (got {_options(t.dtype)})")
    return apply(TABLE["alias"], t)  # type: ignore[no-any-return]


def _options(dtype: dtypes.dtype) -> str:
    return (f"TensorOptions(dtype={dtypes.CPP_NAMES[dtype.name]}, device=cpu, layout=Strided, requires_grad=false (default), "
            "pinned_memory=false (default), memory_format=(nullopt))")


def _check_on_cpu(device: Any) -> None:
    if device is not None and (kind := devices.device(device).type) != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {kind} was passed")


def _new(cls: type[Tensor], *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
    _check_on_cpu(device)
    if list(kwargs) == ["data"] and not args:
        args = (kwargs["data"],)
    elif kwargs:
        got = ", ".join([type_name(x) for x in args] + [f"{name}={_torch_name(x)}" for name, x in kwargs.items()])
        raise TypeError(f"new() received an invalid combination of arguments - got ({got}), but expected one of:")
    result = construct(args, dtypes.get_default_dtype(), typed=False)
    return result if cls is Tensor else as_instance(cls, result)


def _torch_name(value: Any) -> str:
    return "torch.dtype" if isinstance(value, dtypes.dtype) else type_name(value)


class tensortype(type):
    """The metaclass of torch.FloatTensor and the like: a call constructs a tensor, and isinstance compares dtypes."""

    dtype: dtypes.dtype
    is_cuda = False
    layout = layouts.strided

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        _check_on_cpu(device)
        return construct(args, cls.dtype, typed=True)


TYPES: dict[str, tensortype] = {
    f"{dtype.scalar_name}Tensor": tensortype(f"{dtype.scalar_name}Tensor", (), {"dtype": dtype, "__module__": "torch"})
    for dtype in dtypes.WITH_TENSOR_TYPE}


@public(function=False)
def new(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    """A tensor of this one's dtype: uninitialised if sizes are given, otherwise from data."""
    _check_on_cpu(device)
    if size is not None and not args:
        args = (Size(size),)
    return construct(args, self.dtype, typed=True)


@public(method=False)
def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a tensor type, "torch.DoubleTensor" or the type itself."""
    warn_once("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
              "torch.set_default_device() as alternatives.")
    kind = TYPES.get(t.removeprefix("torch.")) if isinstance(t, str) else t
    if kind is None and not str(t).startswith("torch."):
        raise ModuleNotFoundError(f"No module named {t!r}")
    if not isinstance(kind, type) or kind not in TYPES.values():
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if not kind.dtype.is_floating_point:  # type: ignore[attr-defined]
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kind.dtype)  # type: ignore[attr-defined]


def install() -> None:
    """Give the class Tensor its legacy constructor."""
    Tensor.__new__ = staticmethod(_new)  # type: ignore[method-assign, assignment]
