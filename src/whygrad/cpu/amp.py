"""torch.cpu.amp: torch.amp with the device filled in, as torch spelled it before."""

from whygrad import dtypes
from whygrad.amp.old_names import names

_whygrad_internal_ = True

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = names("cpu", dtypes.bfloat16)
