"""torch.autocast and its switches. casting.py applies them to functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from whygrad.amp import casting
from whygrad.base import dtypes
from whygrad.base.autocast_state import state
from whygrad.base.devices import device as make_device
from whygrad.base.errors import warn
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor
from whygrad.why import record as why

__getattr__ = absent_from("torch.amp.autocast_mode")

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

# The devices that torch supports, with their default dtypes.
_FAST = {"cpu": dtypes.bfloat16, "cuda": dtypes.float16, "xpu": dtypes.float16, "mps": dtypes.float16, "hpu": dtypes.bfloat16,
         "xla": dtypes.bfloat16, "ipu": dtypes.float16, "mtia": dtypes.float16, "maia": dtypes.bfloat16}
_SUPPORTED = (dtypes.bfloat16, dtypes.float16)


def _read_device(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return make_device(device_type).type


class autocast:
    """A context manager or decorator: matrix products run in a lower precision, losses in float32."""

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        self.device = _read_device(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and self.device == "cuda":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        elif enabled and self.fast_dtype not in _SUPPORTED:
            name = self.device.upper()
            warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                 f"supports dtypes of {', '.join(map(str, _SUPPORTED))} currently.")
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> Self:
        self.prev_cache_enabled = is_autocast_cache_enabled()
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        why.tell("autocast_entered", self)
        return self

    def __exit__(self, *exc: object) -> None:
        why.tell("autocast_left", self)
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        set_autocast_enabled(self.device, self.prev)
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_cache_enabled(self.prev_cache_enabled)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast "
                            "as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                            "        output = model(input)")
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


def is_autocast_available(device_type: str) -> bool:
    return make_device(device_type).type in _FAST


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    device = make_device(device_type).type
    if device not in _FAST:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return device in state.enabled


def set_autocast_enabled(*arguments: Any) -> None:
    """`(device_type, enabled)`, or `(enabled)` for CUDA."""
    device_type, enabled = arguments if len(arguments) == 2 else ("cuda", *arguments)
    casting.switch(make_device(device_type).type, bool(enabled))


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    device = make_device(device_type).type
    if device not in _FAST:
        raise RuntimeError("unsupported scalarType")
    return state.dtypes.get(device, _FAST[device])


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    state.dtypes[make_device(device_type).type] = dtype
    state.refresh()


def is_autocast_cache_enabled() -> bool:
    return state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    state.cache.clear()


def autocast_increment_nesting() -> int:
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    state.nesting -= 1
    return state.nesting


def _before(old: str, function: Callable[..., Any], device: str) -> Callable[..., Any]:
    """The deprecated form of a function for one device."""

    def called(*args: Any) -> Any:
        given, shown = ("dtype" if "dtype" in old else "enabled", f"'{device}', ") if args else ("", f"'{device}'")
        warn(f"torch.{old}({given}) is deprecated. Please use torch.{function.__name__}({shown}{given}) instead.",
             DeprecationWarning)
        return function(device, *args)

    called.__name__ = called.__qualname__ = old
    called.__doc__ = f"`torch.{function.__name__}` for the device '{device}'."
    return called


is_autocast_cpu_enabled = _before("is_autocast_cpu_enabled", is_autocast_enabled, "cpu")
set_autocast_cpu_enabled = _before("set_autocast_cpu_enabled", set_autocast_enabled, "cpu")
get_autocast_cpu_dtype = _before("get_autocast_cpu_dtype", get_autocast_dtype, "cpu")
set_autocast_cpu_dtype = _before("set_autocast_cpu_dtype", set_autocast_dtype, "cpu")
get_autocast_gpu_dtype = _before("get_autocast_gpu_dtype", get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = _before("set_autocast_gpu_dtype", set_autocast_dtype, "cuda")


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """Cast floating-point tensors, also inside containers."""
    if isinstance(value, Tensor):
        return casting.in_dtype(value, dtype) if device_type == "cpu" else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, Iterable):
        parts = (_cast(v, device_type, dtype) for v in value)
        return type(value)(parts) if isinstance(value, (list, tuple)) else parts  # type: ignore[call-arg]
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates `Function.forward`: `backward` will run under the same autocast state.

    With `cast_inputs`, both run without autocast, and the inputs of `forward` are cast to that dtype.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(device_type)
        is_on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorates `Function.backward` if forward has `custom_fwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, args[0]._dtype, args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return backward
