"""torch.cpu.amp: torch.amp with the device filled in, as torch spelled it before."""

from whygrad.amp.old_names import names
from whygrad.base import dtypes

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = names("cpu", dtypes.bfloat16)
