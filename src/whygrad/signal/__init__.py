"""torch.signal: only `windows`."""

from whygrad.signal import windows

__all__ = ["windows"]
