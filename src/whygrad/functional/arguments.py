"""Reading what the user passed: sizes, dtypes, numbers, tensors; refused with torch's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.devices import check_device, device
from whygrad.base.door import Call, bad_argument
from whygrad.base.layouts import check_layout
from whygrad.base.torch_homes import own_module
from whygrad.core.tensor import Tensor

OVERFLOW = "Overflow when unpacking long long"
INT64_LIMIT = 2**63

# Types whose names torch shows with the module.
_TORCH_TYPES = ("dtype", "device", "Size", "layout", "memory_format")


def type_name(value: Any) -> str:
    return kind_name(type(value))


def kind_name(kind: type) -> str:
    """A type as torch's messages name it: with its module for NumPy's."""
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    shown = own_module(kind).startswith("whygrad") and kind.__name__ in _TORCH_TYPES
    return f"torch.{kind.__name__}" if shown else kind.__name__


def told_wrong_type(argument: str, position: int | None, wanted: str, given: str, call: Call) -> str:
    place = "" if position is None or argument in call.keywords else f" (position {position - call.is_method})"
    return f"{call.name}(): argument '{argument}'{place} must be {wanted}{given}"


def wrong_type(function: str, argument: str, position: int | None, wanted: str, value: Any) -> TypeError:
    """`position` counts from 1 and begins with the tensor itself, which a method's arguments do not count."""
    return bad_argument(function, told_wrong_type, argument, position, wanted, f", not {type_name(value)}")


def told_invalid_combination(values: tuple[str, ...], named: dict[str, str], call: Call) -> str:
    by_keyword = {name: kind for name, kind in zip(call.parameters, values, strict=False) if name in call.keywords}
    by_keyword |= {name: kind for name, kind in named.items() if name not in by_keyword}
    plain = [kind for i, kind in enumerate(values) if call.parameters[i:i + 1] not in [(name,) for name in by_keyword]]
    plain = plain[call.is_method:]
    if call.given is not None:
        plain = plain[:call.given - len(call.keywords)]
    got = ", ".join(plain + [f"{name}={kind}" for name, kind in by_keyword.items()])
    comma = ", " if by_keyword and not plain else ""
    return f"{call.name}() received an invalid combination of arguments - got ({got}{comma}), but expected one of:"


def invalid_combination(function: str, *values: Any, **named: Any) -> TypeError:
    """What torch says when none of a function's signatures fits. `values` are the arguments, the tensor itself first."""
    return bad_argument(function, told_invalid_combination, tuple(map(type_name, values)),
                        {name: type_name(value) for name, value in named.items()})


def refused_call(function: str, words: str) -> TypeError:
    """A complaint that begins with the name of the function."""
    return bad_argument(function, _refused_call, words)


def _refused_call(words: str, call: Call) -> str:
    return f"{call.name}(){words}"


def read_size(function: str, given: tuple[Any, ...], size: Any = None, position: int = 1,
              argument: str = "size") -> tuple[int, ...]:
    """The sizes out of `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    if size is None and given:
        plain = given[0] if len(given) == 1 and type(given[0]) is tuple else given
        for n in plain:
            if type(n) is not int or not -INT64_LIMIT <= n < INT64_LIMIT:
                break
        else:
            return plain
    if size is not None:
        if given:
            raise refused_call(function, f" got multiple values for argument '{argument}'")
        given = (size,)
    elif not given:
        raise refused_call(function, f' missing 1 required positional arguments: "{argument}"')
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    elif not is_integer(given[0]):
        if len(given) > 1:
            raise refused_call(function, f" takes 1 positional argument but {len(given)} were given")
        raise wrong_type(function, argument, position, "tuple of ints", given[0])
    return _integers(function, given, argument, position)


def read_sizes(function: str, sizes: Any, argument: str = "size", position: int = 1) -> tuple[int, ...]:
    """The sizes where torch wants a tuple, and one number is not enough."""
    if type(sizes) is tuple:
        for n in sizes:
            if type(n) is not int or not -INT64_LIMIT <= n < INT64_LIMIT:
                break
        else:
            return sizes
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
        raise bad_argument(function, told_wrong_type, argument, position, wanted, "")
    return tuple([n if type(n) is int and -INT64_LIMIT <= n < INT64_LIMIT else _one_integer(function, n, argument, i)
                  for i, n in enumerate(values, 1)])


def _one_integer(function: str, value: Any, argument: str, place: int) -> int:
    if isinstance(value, bool):
        return int(value)
    if is_integer(value):
        if -INT64_LIMIT <= value.__index__() < INT64_LIMIT:
            return int(value.__index__())
        reason = OVERFLOW + "\n"
    else:
        reason = f"type must be tuple of ints,but got {type_name(value)}"
    raise refused_call(function, f": argument '{argument}' failed to unpack the object at pos {place} with error \"{reason}\"")


def check_sizes(sizes: tuple[int, ...]) -> None:
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")


def is_integer(value: Any) -> bool:
    """What torch takes for an integer: not a bool, but a 0-dim integer tensor."""
    if type(value) is int:
        return True
    if isinstance(value, Tensor):
        return value._array.size == 1 and value._array.dtype.kind in "iu"
    if isinstance(value, np.ndarray):
        return not value.ndim and value.dtype.kind in "iu"
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


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number, np.bool_))


def read_number(function: str, argument: str, position: int | None, value: Any) -> Any:
    """A Python number; also from a NumPy scalar or a 0-dim tensor without history."""
    if isinstance(value, (int, float, complex)):
        check_int(value)
        return value
    if isinstance(value, Tensor) and value._array.ndim == 0 and not value.requires_grad:
        return value._array.item()
    if isinstance(value, (np.number, np.bool_)):
        return float(value) if isinstance(value, np.bool_) else value.item()
    raise wrong_type(function, argument, position, "Number", value)


def check_int(value: Any) -> None:
    """A number too large for any dtype."""
    if isinstance(value, int):
        if value >= 2 * INT64_LIMIT:
            raise OverflowError("int too big to convert")
        if value < -INT64_LIMIT:
            raise OverflowError("can't convert negative int to unsigned")


def read_float(function: str, argument: str, position: int | None, value: Any) -> float:
    """A number where a complex one makes no sense, and none is too large."""
    if type(value) is float:
        return value
    if isinstance(value, Tensor) and value._array.size == 1 and value._array.dtype.kind in "biuf" and not value.requires_grad:
        value = value._array.item()
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise wrong_type(function, argument, position, "float", value)
    return float(value)


def read_tensor(function: str, value: Any, argument: str = "input", position: int = 1) -> Tensor:
    if not isinstance(value, Tensor):
        raise wrong_type(function, argument, position, "Tensor", value)
    return value


def check_tensors(function: str, /, **tensors: Any) -> None:
    """Check that the first arguments of a function, given here by their names, are tensors."""
    for position, (argument, value) in enumerate(tensors.items(), 1):
        if not isinstance(value, Tensor):
            raise wrong_type(function, argument, position, "Tensor", value)


def read_each(tensors: Any, argument: int = 0, function: str = "") -> list[Tensor]:
    """All of them tensors, or torch's error, which counts the arguments from 0, without the tensor that a method belongs to."""
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise bad_argument(function, _not_a_tensor_inside, i, argument, type_name(x))
    return list(tensors)


def _not_a_tensor_inside(i: int, argument: int, given: str, call: Call) -> str:
    return f"expected Tensor as element {i} in argument {argument - call.is_method}, but got {given}"


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


def not_implemented(kernel: str, dtype: dtypes.dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


def check_kinds(kernel: str, x: Tensor, kinds: str) -> None:
    """Check that torch's kernel takes the dtype: `kinds` are letters of NumPy, and V for bfloat16."""
    if x._array.dtype.kind not in kinds:
        raise not_implemented(kernel, x.dtype)


def check_flag(function: str, argument: str, value: Any) -> None:
    if type(value) is not bool:
        raise wrong_type(function, argument, None, "bool", value)


def check_range(value: Any, dtype: dtypes.dtype) -> None:
    """A number must fit into the dtype it is stored in; an unsigned one also takes negative numbers, modulo 2**bits."""
    if (type(value) is float or type(value) is int) and -127 <= value <= 127:
        return  # into every dtype
    check_int(value)
    if not fits(value, dtype):
        name = f"{dtype.name}_t" if dtype.category == 1 and dtype.name != "int32" else dtypes.CPP_NAMES[dtype.name]
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def read_fill(value: Any, dtype: dtypes.dtype, size: int) -> Any:
    """The number that fills a tensor: of one element in half precision, torch lets it become infinite."""
    if size == 1 and dtype in (dtypes.float16, dtypes.bfloat16) and isinstance(value, (int, float)) and not fits(value, dtype):
        return math.copysign(math.inf, value)
    check_range(value, dtype)
    return value


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
