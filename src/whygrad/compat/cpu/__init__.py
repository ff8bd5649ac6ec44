"""torch.cpu: the questions programs ask of a device before they know which it is."""

from __future__ import annotations

from typing import Any

from whygrad.compat.absent import absent_from

__getattr__ = absent_from("torch.cpu")

__all__ = ["current_device", "device_count", "get_capabilities", "is_available", "is_initialized", "set_device", "synchronize"]


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


def get_capabilities() -> dict[str, Any]:
    """What the processor can do, as far as NumPy asks it, by torch's names."""
    import os
    import platform
    import re

    from numpy._core._multiarray_umath import __cpu_features__ as known  # type: ignore[import-not-found]

    def named(feature: str) -> str:
        return re.sub("^(avx512)_?(?=[a-z])|^(sse4)(?=[12])", lambda found: f"{found[0].rstrip('_')}_", feature.lower())

    return {**{named(feature): has for feature, has in known.items()}, "architecture": platform.machine(),
            "num_logical_cores": os.cpu_count()}
