"""The NumPy words of the vocabulary: what each primitive row does on bare arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

_whygrad_internal_ = True


def sum(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


def expand(x: Any, *, shape: Any) -> Any:
    return np.broadcast_to(x, shape)


def reshape(x: Any, *, shape: Any) -> Any:
    return x.reshape(shape)


def t(x: Any) -> Any:
    return x.T


mm = np.matmul


zeros_like = np.zeros_like


def copy(x: Any, src: Any) -> Any:
    return np.broadcast_to(src, x.shape)


def overwrite(x: Any, *, values: Any, node: str) -> Any:
    return np.broadcast_to(values, x.shape)
