"""The length of a large array taken as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.kernels.reduce import total
from whygrad.kernels.trace import vocabulary

_whygrad_internal_ = True


def vector_norm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    squares = total("squares", lambda x: vocabulary.sum(x * x), lambda x: None)

    def run(x: Any, *, ord: float, axis: Any = None, keepdims: bool = False) -> Any:
        found = squares(x) if ord == 2 and not keepdims and (axis is None or len(axis) == x.ndim) else None
        return numpy(x, ord=ord, axis=axis, keepdims=keepdims) if found is None else np.sqrt(found)

    return run
