"""torch.utils.dlpack: memory shared with other array libraries."""

from __future__ import annotations

from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.from_data import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    return tensor.__dlpack__()  # type: ignore[attr-defined]
