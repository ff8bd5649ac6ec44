"""Reading what the user passed: sizes, dtypes, numbers, tensors; refused with torch's words."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from whygrad import dtypes
from whygrad._tensor import Tensor
from whygrad.devices import check_device, device
from whygrad.layouts import check_layout

_whygrad_internal_ = True

# As C++ calls the dtypes, in some of torch's messages.
C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
           "uint16": "short unsigned int", "int32": "int", "uint32": "unsigned int", "int64": "long int",
           "uint64": "long unsigned int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
           "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


OVERFLOW = "Overflow when unpacking long long"
INT64_LIMIT = 2**63

# Types whose names torch shows with the module.
_TORCH_TYPES = ("dtype", "device", "Size", "layout", "memory_format")


def type_name(value: Any) -> str:
    """A type as torch's messages name it: with its module for NumPy's."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    shown = kind.__module__.startswith("whygrad") and kind.__name__ in _TORCH_TYPES
    return f"torch.{kind.__name__}" if shown else kind.__name__


def called_as(function: str) -> tuple[str, bool]:
    """The name under which the user called `function` (it may be an alias), and whether as a method of a tensor.

    Methods and aliases have code of their own, which is named after them (see `run.under_name`).
    """
    frame, code = sys._getframe(2), None
    while frame is not None and "_whygrad_internal_" in frame.f_globals:
        code, frame = frame.f_code, frame.f_back  # type: ignore[assignment]
    if code is None:
        return function, False
    owner, _, name = code.co_qualname.rpartition(".")
    is_alias = owner in ("Tensor", "torch") and code.co_name == function
    return name if is_alias else function, owner == "Tensor"


def wrong_type(function: str, argument: str, position: int | None, wanted: str, value: Any) -> TypeError:
    """`position` counts from 1 and begins with the tensor itself, which a method's arguments do not count."""
    function, is_method = called_as(function)
    place = "" if position is None else f" (position {position - is_method})"
    return TypeError(f"{function}(): argument '{argument}'{place} must be {wanted}, not {type_name(value)}")


def invalid_combination(function: str, *values: Any, **named: Any) -> TypeError:
    """What torch says when none of a function's signatures fits."""
    function, _ = called_as(function)
    got = ", ".join([type_name(v) for v in values] + [f"{name}={type_name(v)}" for name, v in named.items()])
    comma = ", " if named and not values else ""
    return TypeError(f"{function}() received an invalid combination of arguments - got ({got}{comma}), but expected "
                     "one of:")


def read_size(function: str, given: tuple[Any, ...], size: Any = None, position: int = 1,
              argument: str = "size") -> tuple[int, ...]:
    """The sizes out of `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    if size is not None:
        if given:
            raise TypeError(f"{called_as(function)[0]}() got multiple values for argument '{argument}'")
        given = (size,)
    elif not given:
        raise TypeError(f'{called_as(function)[0]}() missing 1 required positional arguments: "{argument}"')
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    elif not is_integer(given[0]):
        raise wrong_type(function, argument, position, "tuple of ints", given[0])
    return _integers(function, given, argument, position)


def read_sizes(function: str, sizes: Any, argument: str = "size", position: int = 1) -> tuple[int, ...]:
    """The sizes where torch wants a tuple, and one number is not enough."""
    if not isinstance(sizes, (tuple, list)):
        raise wrong_type(function, argument, position, "tuple of ints", sizes)
    return _integers(function, sizes, argument, position)


def read_dims(function: str, dims: Any, argument: str = "dims", position: int = 2) -> tuple[int, ...]:
    """One dim or several, where torch takes both."""
    return (int(dims.__index__()),) if is_integer(dims) else read_sizes(function, dims, argument, position)


def _integers(function: str, values: Any, argument: str, position: int) -> tuple[int, ...]:
    # torch looks at the first before it takes the argument for a tuple of ints.
    if values and not is_integer(values[0]):
        wanted = f"tuple of ints, but found element of type {type_name(values[0])} at pos 0"
        function, is_method = called_as(function)
        raise TypeError(f"{function}(): argument '{argument}' (position {position - is_method}) must be {wanted}")
    return tuple([n if type(n) is int and -INT64_LIMIT <= n < INT64_LIMIT else _one_integer(function, n, argument, i)
                  for i, n in enumerate(values, 1)])


def _one_integer(function: str, value: Any, argument: str, place: int) -> int:
    if isinstance(value, bool):
        return int(value)
    reason = OVERFLOW if is_integer(value) else f"type must be tuple of ints,but got {type_name(value)}"
    if reason is OVERFLOW and -INT64_LIMIT <= value.__index__() < INT64_LIMIT:
        return int(value.__index__())
    raise TypeError(f"{called_as(function)[0]}(): argument '{argument}' failed to unpack the object at pos {place} with "
                    f'error "{reason}"')


def check_sizes(sizes: tuple[int, ...]) -> None:
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")


def is_integer(value: Any) -> bool:
    """What torch takes for an integer: not a bool, but a 0-dim integer tensor."""
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def read_int(function: str, argument: str, position: int, value: Any) -> int:
    if not is_integer(value):
        raise wrong_type(function, argument, position, "int", value)
    number = int(value.__index__())
    if not -INT64_LIMIT <= number < INT64_LIMIT:
        raise ValueError(OVERFLOW)
    return number


def read_flag(function: str, argument: str, position: int | None, value: Any) -> bool:
    if type(value) is not bool:
        raise wrong_type(function, argument, position, "bool", value)
    return value


def read_number(function: str, argument: str, position: int | None, value: Any) -> Any:
    """A Python number; also from a NumPy scalar or a 0-dim tensor without history."""
    if isinstance(value, (int, float, complex)):
        return value
    if isinstance(value, Tensor) and value._array.ndim == 0 and not value.requires_grad:
        return value._array.item()
    if isinstance(value, (np.number, np.bool_)):
        return float(value) if isinstance(value, np.bool_) else value.item()
    raise wrong_type(function, argument, position, "Number", value)


def read_tensor(function: str, value: Any, argument: str = "input", position: int = 1) -> Tensor:
    if not isinstance(value, Tensor):
        raise wrong_type(function, argument, position, "Tensor", value)
    return value


def read_dtype(function: str, dtype: Any, default: dtypes.dtype) -> dtypes.dtype:
    if dtype is None:
        return default
    if isinstance(dtype, dtypes.dtype):
        return dtype
    if isinstance(dtype, type) and dtype in dtypes.FROM_PYTHON:
        return dtypes.FROM_PYTHON[dtype]
    raise wrong_type(function, "dtype", None, "torch.dtype", dtype)


def check_place(function: str, layout: Any, device_: Any, pin_memory: Any) -> None:
    """Every tensor is strided, on the CPU, in ordinary memory."""
    if layout is not None:
        check_layout(function, layout)
    if device_ is not None:
        if not isinstance(device_, (str, int, device)):
            raise wrong_type(function, "device", None, "torch.device", device_)
        check_device(device_)
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available.")


def check_flag(function: str, argument: str, value: Any) -> None:
    if type(value) is not bool:
        raise wrong_type(function, argument, None, "bool", value)


def check_range(value: Any, dtype: dtypes.dtype) -> None:
    """A number must fit into the dtype it is stored in; an unsigned one also takes negative numbers, modulo 2**bits."""
    if not fits(value, dtype):
        name = f"{dtype.name}_t" if dtype.category == 1 else C_NAMES[dtype.name].replace("c10", "at")
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def fits(value: Any, dtype: dtypes.dtype) -> bool:
    if isinstance(value, complex):
        return dtype.is_complex or dtype.category == 0 or (value.imag == 0 and fits(value.real, dtype))
    if dtype.category == 0 or isinstance(value, bool):
        return True
    if dtype.category == 1:
        limits = np.iinfo(dtype.numpy)
        lowest = -int(limits.max) if limits.min == 0 else int(limits.min)
        return bool(lowest <= value <= int(limits.max))
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return True
    return bool(abs(value) <= dtypes.finfo(dtype).max)
