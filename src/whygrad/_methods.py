"""Hangs the operations onto Tensor: operators are one-liners, methods are the functions of `whygrad.functional`."""

from __future__ import annotations

from typing import Any

from whygrad._apply import compiled
from whygrad._tensor import Tensor
from whygrad import functional
from whygrad.functional.run import FUNCTIONS, METHODS
from whygrad.ops.table import TABLE

_whygrad_internal_ = True

_add = compiled(TABLE["add"], "tt")
_mul = compiled(TABLE["mul"], "tt")


def __add__(self: Tensor, other: Any) -> Any:
    if type(other) is Tensor and other._array.dtype is self._array.dtype:
        return _add(self, other)
    return FUNCTIONS["add"](self, other)


def __mul__(self: Tensor, other: Any) -> Any:
    if type(other) is Tensor and other._array.dtype is self._array.dtype:
        return _mul(self, other)
    return FUNCTIONS["mul"](self, other)


OPERATORS = [__add__, __mul__]


def install() -> None:
    for function in OPERATORS:
        setattr(Tensor, function.__name__, function)
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
