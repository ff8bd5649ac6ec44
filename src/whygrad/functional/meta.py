"""Tensors on the meta device, which have a shape, a dtype and strides, and no values; and the device that is the default.

A factory that is asked for a tensor there raises `OnMeta`, and the function door calls `make`. Rows are applied to such tensors
by autograd/meta.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base import devices, door, dtypes, layouts
from whygrad.base.devices import CPU, cpu_instead, device
from whygrad.base.door import Spec
from whygrad.base.meta_array import MetaArray, like, meta_array
from whygrad.base.unread_array import contiguous_strides, extent
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import check_sizes, read_dtype, read_size, read_sizes
from whygrad.functional.creation import CHANNELS_LAST, number_dtype
from whygrad.functional.fresh import fresh
from whygrad.functional.overriding import pop_mode, push_mode, remove_mode, state


def is_meta(t: Tensor) -> bool:
    return type(t._array) is MetaArray


def without_values(t: Tensor) -> Tensor:
    """`t` on the meta device, without a history."""
    result = wrap(t._array if is_meta(t) else like(t._array))
    result._cause = t._cause
    return result


def _empty(sizes: tuple[int, ...], dtype: dtypes.dtype, options: dict[str, Any], strides: Any = None) -> Tensor:
    check_sizes(sizes)
    itemsize = dtype.numpy.itemsize
    if strides is not None:
        strides = tuple([s * itemsize for s in strides])
    elif options.get("memory_format") in CHANNELS_LAST:
        inner = contiguous_strides((sizes[0], *sizes[2:], sizes[1]), itemsize)
        strides = (inner[0], inner[-1], *inner[1:-1])
    return fresh(meta_array(sizes, dtype.numpy, strides), options.get("requires_grad", False))


def _by_size(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    return _empty(read_size(name, args, options.get("size")), read_dtype(name, options.get("dtype"), dtypes.get_default_dtype()),
                  options)


def _full(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    size, value = (*args, *[options[key] for key in ("size", "fill_value") if key in options])
    return _empty(read_sizes(name, size), read_dtype(name, options.get("dtype"), number_dtype(value)), options)


def _last_is_size(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    default = dtypes.int64 if name == "randint" else dtypes.get_default_dtype()
    return _empty(read_sizes(name, options.get("size", args[-1] if args else None)),
                  read_dtype(name, options.get("dtype"), default), options)


def _permutation(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    return _empty((args[0] if args else options["n"],), read_dtype(name, options.get("dtype"), dtypes.int64), options)


def _like(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    model = args[0] if args else options["input"]
    wanted = read_dtype(name, options.get("dtype"), model.dtype)
    order = options.get("memory_format")
    if order is layouts.contiguous_format or order in CHANNELS_LAST:
        return _empty(model._array.shape, wanted, options)
    array = like(model._array)
    is_dense = extent(array) == array.nbytes  # not expanded, and without gaps
    return _empty(array.shape, wanted, options, [s // array.itemsize for s in array.strides] if is_dense else None)


def _new(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    model, *sizes = args
    wanted = read_dtype(name, options.get("dtype"), model.dtype)
    size = options.get("size", sizes[0] if name == "new_full" else None)
    return _empty(read_sizes(name, size) if size is not None else read_size(name, tuple(sizes), None, 2), wanted, options)


def _strided(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    size, stride = (*args, *[options[key] for key in ("size", "stride") if key in options])
    return _empty(read_sizes(name, size), read_dtype(name, options.get("dtype"), dtypes.get_default_dtype()), options,
                  read_sizes(name, stride, "stride", 2))


Make = Callable[[str, tuple[Any, ...], dict[str, Any]], Tensor]

# Factories of which the size is all that counts. Others make what they always make, and its values are dropped.
SIZED: dict[str, Make] = {
    **dict.fromkeys(("empty", "zeros", "ones", "rand", "randn"), _by_size), **dict.fromkeys(("randint", "normal"), _last_is_size),
    **dict.fromkeys(("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"), _like),
    **dict.fromkeys(("new_empty", "new_zeros", "new_ones", "new_full"), _new),
    "full": _full, "randperm": _permutation, "empty_strided": _strided,
}


def make(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function gives that was asked for a tensor on the meta device."""
    name = spec.name.rpartition(".")[2]
    maker = SIZED.get(name)
    if maker is not None:
        return maker(name, args, kwargs)
    with cpu_instead():
        return without_values(spec.implementation(*args, **kwargs)).requires_grad_(  # type: ignore[attr-defined]
            kwargs.get("requires_grad", False))


door.make_on_meta = make


class DeviceContext:
    """While it is entered, factories that are given no device make their tensors on this one."""

    def __init__(self, place: device) -> None:
        self.device = place

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("device") is None and _is_factory(func):
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)


def _is_factory(function: Any) -> bool:
    spec = getattr(function, "spec", None)
    if spec is None or not spec.name.startswith("torch.") or spec.name.endswith("_like"):
        return False
    code = spec.plain.__code__
    return "device" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def _contexts() -> list[DeviceContext]:
    return [mode for mode in state.modes if isinstance(mode, DeviceContext)]


def get_default_device() -> device:
    """The device on which factories make their tensors."""
    entered = _contexts()
    return entered[-1].device if entered else CPU


_default: list[DeviceContext] = []


def set_default_device(device: Any) -> None:
    """Choose the device on which factories make their tensors; None is the CPU."""
    place = devices.known_device(device)
    if _default and _default[0] in state.modes:
        remove_mode(_default.pop())
    if place.type != "cpu":
        _default.append(DeviceContext(place))
        push_mode(_default[0])
        state.modes.insert(0, state.modes.pop())


def _enter(place: device) -> None:
    push_mode(DeviceContext(place))


devices.on_enter, devices.on_exit = _enter, pop_mode
__all__ = ["get_default_device", "is_meta", "set_default_device", "without_values"]
