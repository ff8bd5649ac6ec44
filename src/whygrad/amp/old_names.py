"""torch.cpu.amp and torch.cuda.amp: torch.amp with the device filled in, as torch spelled it before."""

from __future__ import annotations

from typing import Any

from whygrad import amp
from whygrad.base import dtypes
from whygrad.base.errors import warn

_DEPRECATED = "`torch.{1}.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('{1}', args...)` instead."


class _Autocast(amp.autocast):
    _device: str
    _dtype: dtypes.dtype

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn(_DEPRECATED.format("autocast", self._device), FutureWarning)
        super().__init__(self._device, dtype or self._dtype, enabled, cache_enabled)


class _GradScaler(amp.GradScaler):
    _of: str

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        warn(_DEPRECATED.format("GradScaler", self._of), FutureWarning)
        super().__init__(self._of, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def names(device: str, dtype: dtypes.dtype) -> tuple[Any, Any]:
    """`autocast` and `GradScaler` of one device."""
    home = f"torch.{device}.amp"
    return (type("autocast", (_Autocast,), {"_device": device, "_dtype": dtype, "__module__": f"{home}.autocast_mode"}),
            type("GradScaler", (_GradScaler,), {"_of": device, "__module__": f"{home}.grad_scaler"}))
