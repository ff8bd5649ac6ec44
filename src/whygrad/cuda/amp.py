"""torch.cuda.amp: torch.amp with the device filled in, as torch spelled it before."""

from __future__ import annotations

from typing import Any

from whygrad import amp
from whygrad.amp import custom_bwd, custom_fwd
from whygrad.functional.fresh import warn

_whygrad_internal_ = True

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_DEPRECATED = "`torch.cuda.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cuda', args...)` instead."


class autocast(amp.autocast):
    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn(_DEPRECATED.format("autocast"), FutureWarning)
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        warn(_DEPRECATED.format("GradScaler"), FutureWarning)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
