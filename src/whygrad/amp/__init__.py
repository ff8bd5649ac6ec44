"""torch.amp: mixed precision. On the CPU it works; programs that ask for another device's are told that it is off."""

from whygrad._absent import absent_from
from whygrad.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from whygrad.amp.grad_scaler import GradScaler

_whygrad_internal_ = True
__getattr__ = absent_from("torch.amp")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
