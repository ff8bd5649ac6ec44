"""Making tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad._tensor import Tensor, set_requires_grad, wrap
from whygrad.functional.run import public
from whygrad.why import record as why

_whygrad_internal_ = True


@public(method=False)
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    array = np.array(data)
    if array.dtype == np.float64 and not isinstance(data, np.ndarray):
        array = array.astype(np.float32)
    result = wrap(array)
    result._cause = (why.Cause("created", why.site()),)
    if requires_grad:
        set_requires_grad(result, True)
    return result


@public(method=False)
def from_numpy(ndarray: Any) -> Tensor:
    result = wrap(ndarray)
    result._cause = (why.Cause("created", why.site()),)
    return result


@public(function=False)
def requires_grad_(self: Any, requires_grad: bool = True) -> Tensor:
    set_requires_grad(self, requires_grad)
    return self
