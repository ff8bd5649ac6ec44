"""`Variable`: what tensors were called when they needed a wrapper. `isinstance(t, Variable)` is true of any tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.autograd.nested import queue_callback
from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor, cut, set_requires_grad, wrap


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class _ExecutionEngine:
    """The one entry of torch's engine object that programs use."""

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=_VariableMeta):
    """`Variable(t)` gives a tensor on the same data, without its history."""

    _execution_engine = _ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            result = wrap(np.empty(0, np.float32))
        elif isinstance(data, Tensor):
            result = wrap(data._array)
            result._lazy_version = data._version_counter
            result._cause = cut(data, "detach", "Variable(...)")
        else:
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad:
            set_requires_grad(result, True)
        return result
