"""Forwards of primitive rows on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

zeros_like = np.zeros_like


def copy(x: Any, src: Any) -> Any:
    return src  # broadcast by the in-place write


def overwrite(x: Any, *, values: Any, node: str) -> Any:
    return values
