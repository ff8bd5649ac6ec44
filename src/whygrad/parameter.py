"""Parameter and Buffer: the tensors that a module owns."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad import dtypes
from whygrad._protocol import rebuild
from whygrad._tensor import Tensor, cut, wrap
from whygrad.functional.fresh import NOT_DIFFERENTIABLE
from whygrad.why import record as why

_whygrad_internal_ = True


class _MarkedByAttribute(type):
    """`isinstance` also accepts a tensor of another class that carries the mark."""

    _mark: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return "_mark" in cls.__dict__ and isinstance(instance, Tensor) and getattr(instance, cls._mark, False)


class Parameter(Tensor, metaclass=_MarkedByAttribute):
    """A tensor that a module registers as its parameter when it is assigned as an attribute."""

    _mark = "_is_param"
    _prints_as_tensor = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = _empty()
        if type(data) is not Tensor and not issubclass(type(data), Parameter):
            result = data.detach().requires_grad_(requires_grad)
            if type(result) is not Tensor:
                result._is_param = True
                return result
            data = result
        if requires_grad and data._array.dtype.kind not in "fcV":
            raise RuntimeError(NOT_DIFFERENTIABLE)
        # On the memory of `data`, but a leaf of its own.
        self = object.__new__(cls)
        self._array = data._array
        self._node = self._grad = self._view = self._meta = None
        self._lookup = bool(requires_grad)
        self._counter = data._counter
        # A tensor with a history loses it here; one without keeps the cause it has.
        self._cause = (cut(data, "parameter-rewrapped", cls.__name__) if data.requires_grad and not data.is_leaf else
                       (why.Cause("created", why.site()),))
        return self

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(wrap(self._array.copy("K")), self.requires_grad)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild, (type(self), self._array, self.requires_grad, self.__dict__)


class Buffer(Tensor, metaclass=_MarkedByAttribute):
    """A tensor that a module registers as its buffer. The result is an ordinary Tensor that carries a mark."""

    _mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = _empty()
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


def _empty() -> Tensor:
    return wrap(np.empty(0, dtypes.get_default_dtype().numpy))
