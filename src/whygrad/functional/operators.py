"""Python's operators on Tensor. The four of arithmetic have a short path, as every program spends its time in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.core.record import compiled
from whygrad.core.tensor import Tensor
from whygrad.functional.dispatch import Function, as_operand
from whygrad.functional.run import FUNCTIONS, METHODS
from whygrad.ops.table import TABLE

FLOAT32 = np.dtype(np.float32)

OPERATORS: dict[str, Function] = {}


def _install(name: str, operator: Function) -> None:
    operator.__name__ = operator.__qualname__ = name
    OPERATORS[name] = operator


def _not_a_tensor(name: str, self: Any) -> Exception:
    """For `Tensor.__add__(1, x)`: torch's operators belong to its tensors, all but one."""
    if name == "__rtruediv__":
        return AttributeError(f"'{type(self).__name__}' object has no attribute 'reciprocal'")
    return TypeError(f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
                     f"'{type(self).__name__}' object")


def _from_function(name: str, function: Function) -> None:
    """`self <operator> other` by a function of both; NotImplemented lets Python ask `other`, or raise its TypeError."""

    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise _not_a_tensor(name, self)
        return NotImplemented if as_operand(other) is NotImplemented else function(self, other)

    _install(name, operator)


def _arithmetic(name: str, row_name: str, ready: str, function: Function) -> None:
    """An operator that goes straight to the row if both are tensors of one dtype, or `other` is a plain number.

    `ready` are the kinds of dtype the row takes as they are.
    """
    row = TABLE[row_name]

    of_tensors: Function
    of_number: Function

    # The row is compiled when it is first needed.
    def first(self: Tensor, other: Tensor) -> Any:
        nonlocal of_tensors
        of_tensors = compiled(row, "tt")
        return of_tensors(self, other)

    def first_with_number(self: Tensor, other: Any) -> Any:
        nonlocal of_number
        of_number = compiled(row, "ts")
        return of_number(self, other)

    of_tensors = first
    of_number = first_with_number

    def operator(self: Tensor, other: Any) -> Any:
        try:
            dtype = self._array.dtype
        except AttributeError:
            raise _not_a_tensor(name, self) from None
        if isinstance(other, Tensor):
            if other._array.dtype is dtype and (dtype is FLOAT32 or dtype.kind in ready):
                return of_tensors(self, other)
        elif (type(other) is float or type(other) is int) and (dtype is FLOAT32 or dtype.char in "dFD"):
            return of_number(self, other)
        elif as_operand(other) is NotImplemented:
            return NotImplemented
        return function(self, other)

    _install(name, operator)


_arithmetic("__add__", "add", "biufVc", FUNCTIONS["add"])
_arithmetic("__radd__", "add", "biufVc", FUNCTIONS["add"])
_arithmetic("__sub__", "sub", "iufVc", FUNCTIONS["sub"])
_arithmetic("__rsub__", "rsub", "iufVc", FUNCTIONS["rsub"])
_arithmetic("__mul__", "mul", "biufVc", FUNCTIONS["mul"])
_arithmetic("__rmul__", "mul", "biufVc", FUNCTIONS["mul"])
_arithmetic("__truediv__", "div", "fVc", FUNCTIONS["div"])
_arithmetic("__eq__", "eq", "biufVc", FUNCTIONS["eq"])
_arithmetic("__ne__", "ne", "biufVc", FUNCTIONS["ne"])
_arithmetic("__lt__", "lt", "biufV", FUNCTIONS["lt"])
_arithmetic("__le__", "le", "biufV", FUNCTIONS["le"])
_arithmetic("__gt__", "gt", "biufV", FUNCTIONS["gt"])
_arithmetic("__ge__", "ge", "biufV", FUNCTIONS["ge"])

for _operator, _function in {
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
}.items():
    _from_function(_operator, FUNCTIONS[_function])

for _operator, _function in {
    "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rpow__": "pow", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift",
}.items():
    _from_function(_operator, lambda self, other, function=FUNCTIONS[_function]: function(other, self))

_from_function("__rtruediv__", lambda self, other: OPERATORS["__mul__"](FUNCTIONS["reciprocal"](self), other))

for _operator, _method in {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_", "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}.items():
    _from_function(_operator, METHODS[_method])


def __invert__(self: Tensor) -> Any:
    if self._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return FUNCTIONS["bitwise_not"](self)


OPERATORS["__invert__"] = __invert__
OPERATORS["__neg__"] = FUNCTIONS["neg"]
OPERATORS["__pos__"] = FUNCTIONS["positive"]
OPERATORS["__abs__"] = FUNCTIONS["abs"]
OPERATORS["__div__"] = OPERATORS["__truediv__"]
OPERATORS["__rdiv__"] = OPERATORS["__rtruediv__"]
OPERATORS["__idiv__"] = OPERATORS["__itruediv__"]
