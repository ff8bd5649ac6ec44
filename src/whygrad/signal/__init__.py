"""torch.signal."""

from whygrad.signal import windows

__all__ = ["windows"]
