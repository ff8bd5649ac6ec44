"""torch.cpu: the questions programs ask of a device before they know which it is."""

from __future__ import annotations

from typing import Any

from whygrad._absent import absent_from

_whygrad_internal_ = True
__getattr__ = absent_from("torch.cpu")

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing to choose from."""


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: every op has ended when it returns."""
