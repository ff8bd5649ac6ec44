"""ops/complex_numbers.py on NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def angle(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.arctan2(x.imag, x.real)
    result = np.where(x < 0, np.asarray(math.pi, x.dtype), np.asarray(0, x.dtype))
    return np.where(x != x, x, result)


angle_complex = angle
