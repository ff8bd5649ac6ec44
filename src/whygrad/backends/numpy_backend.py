"""The NumPy words of the vocabulary: what each primitive row does on bare arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

zeros_like = np.zeros_like


def copy(x: Any, src: Any) -> Any:
    return src  # the writer broadcasts


def overwrite(x: Any, *, values: Any, node: str) -> Any:
    return values
