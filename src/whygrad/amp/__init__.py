"""torch.amp: mixed precision. It works on the CPU; for other devices it reports itself as disabled."""

from whygrad.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from whygrad.amp.grad_scaler import GradScaler
from whygrad.base.unsupported import absent_from

__getattr__ = absent_from("torch.amp")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
