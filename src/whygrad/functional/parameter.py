"""Parameter and Buffer: the tensors that a module owns."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import dtypes, errors
from whygrad.core.tensor import Tensor, cut, wrap
from whygrad.functional.fresh import NOT_DIFFERENTIABLE
from whygrad.functional.overriding import disabled_torch_function_impl, expect, rebuild
from whygrad.why import record as why


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
    __torch_function__ = disabled_torch_function_impl

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
            raise errors.noted(RuntimeError(NOT_DIFFERENTIABLE), "integers_require_grad", data.dtype)
        if cls is not Parameter:
            expect(cls)
        # On the memory of `data`, but a leaf of its own.
        self = object.__new__(cls)
        self._array = data._array
        self._node = self._grad = self._view = self._meta = None
        self._indirect = bool(requires_grad)
        self._lazy_version = data._version_counter
        self._cause = _causes(data, cls.__name__)
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Subclasses take further arguments in `__new__`."""

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(wrap(self._array.copy("K")), self.requires_grad)
        result._cause = (why.Cause("parameter-rewrapped", why.program_site(), "a deepcopy", (self,)),)
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


def _causes(data: Tensor, name: str) -> why.Causes:
    """A tensor with a history loses it here, and one that had lost it before cannot get it back."""
    if data.requires_grad:
        return cut(data, "parameter-rewrapped", name)
    lost = next((cause for cause in data._cause if cause.behind), None)
    if lost is None:
        return (why.Cause("created", why.site()),)
    sources = tuple([x for x in [reference() for reference in lost.behind] if x is not None])
    return (why.Cause("parameter-rewrapped", why.site(), f"{name} of a value taken out by {lost.detail}", sources, lost.site),)


def _empty() -> Tensor:
    return wrap(np.empty(0, dtypes.get_default_dtype().numpy))
