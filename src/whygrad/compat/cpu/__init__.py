"""torch.cpu: the functions of a device module, for programs that are written for any device."""

from __future__ import annotations

from typing import Any

from whygrad.base.unsupported import absent_from, answer

__getattr__ = absent_from("torch.cpu")

__all__ = ["current_device", "device_count", "get_capabilities", "is_available", "is_initialized", "set_device", "synchronize"]


is_available, is_initialized = answer("is_available", True), answer("is_initialized", True)
device_count, current_device = answer("device_count", 1), answer("current_device", "cpu")
set_device, synchronize = answer("set_device", None), answer("synchronize", None)


def get_capabilities() -> dict[str, Any]:
    """The processor's instruction sets that NumPy detects, by torch's names."""
    import os
    import platform
    import re

    from numpy._core._multiarray_umath import __cpu_features__ as known  # type: ignore[import-not-found]

    def named(feature: str) -> str:
        return re.sub("^(avx512)_?(?=[a-z])|^(sse4)(?=[12])", lambda found: f"{found[0].rstrip('_')}_", feature.lower())

    return {**{named(feature): has for feature, has in known.items()}, "architecture": platform.machine(),
            "num_logical_cores": os.cpu_count()}
