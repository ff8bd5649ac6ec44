"""torch.amp: mixed precision, which is off here. Programs that ask for CUDA's are told so and run in full precision."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from whygrad import dtypes
from whygrad._absent import absent_from
from whygrad._missing import answer
from whygrad.devices import device as make_device
from whygrad.functional.fresh import warn

_whygrad_internal_ = True
__getattr__ = absent_from("torch.amp")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_NO_CPU = ("torch.autocast('cpu') in {} is not available in whygrad; use enabled=False, or remove the block: "
           "everything runs in the precision of its inputs")


class autocast:
    """A block (or decorator) that changes nothing when it is off, which it is for every device but the CPU."""

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = make_device(device_type).type
        self.fast_dtype = dtype or get_autocast_dtype(self.device)
        self._enabled = enabled
        if enabled and self.device != "cpu":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast." if self.device == "cuda" else
                 f"{self.device} is not available in whygrad. Disabling autocast.")
            self._enabled = False

    def __enter__(self) -> Self:
        if self._enabled and self.fast_dtype is not dtypes.float32:
            raise NotImplementedError(_NO_CPU.format(self.fast_dtype))
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    return dtypes.float16 if device_type == "cuda" else dtypes.bfloat16


def get_autocast_gpu_dtype() -> dtypes.dtype:
    return dtypes.float16


def get_autocast_cpu_dtype() -> dtypes.dtype:
    return dtypes.bfloat16


def is_autocast_available(device_type: str) -> bool:
    return make_device(device_type).type in ("cpu", "cuda")


is_autocast_enabled = answer("is_autocast_enabled", False)
is_autocast_cpu_enabled = answer("is_autocast_cpu_enabled", False)
is_autocast_cache_enabled = answer("is_autocast_cache_enabled", True)
clear_autocast_cache = answer("clear_autocast_cache", None)


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """For `Function.forward` under autocast: unchanged."""
    return (lambda f: f) if fwd is None else fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    return (lambda f: f) if bwd is None else bwd


class GradScaler:
    """Scaling of losses for float16 on CUDA. Switched off, as it is here, it passes everything through."""

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        if enabled and device == "cpu":
            raise NotImplementedError("torch.amp.GradScaler('cpu') is not available in whygrad; use enabled=False")
        if enabled:
            warn(f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.")

    def scale(self, outputs: Any) -> Any:
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        pass

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        pass

    def get_scale(self) -> float:
        return 1.0

    def is_enabled(self) -> bool:
        return False

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        pass
