"""torch.cpu.amp: the deprecated names of torch.amp for the device "cpu"."""

from whygrad.amp.old_names import names
from whygrad.base import dtypes

__all__ = ["GradScaler", "autocast"]

autocast, GradScaler = names("cpu", dtypes.bfloat16)
