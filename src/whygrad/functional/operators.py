"""Python's operators on Tensor. The four of arithmetic have a short path, as every program spends its time in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import door
from whygrad.base.door import SPECS, Spec, dispatch
from whygrad.base.errors import out_of_memory
from whygrad.core.record import compiled
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import INT64_LIMIT
from whygrad.functional.dispatch import FLOAT32, INT64, Function, as_operand
from whygrad.functional.overriding import is_overriding, is_plain_call
from whygrad.functional.run import FUNCTIONS, METHODS
from whygrad.ops.table import TABLE

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


def _handled(spec: Spec, self: Any, other: Any, operand: type = object) -> Any:
    """An operator with handlers, or with an operand of a foreign class."""
    if spec.name == "Tensor.__eq__" and not isinstance(other, Tensor) and is_overriding(type(other)):
        spec = SPECS["Tensor.eq"]  # as torch calls it for a foreign operand
    if spec.handlers:
        try:
            return dispatch(spec, (self, other), {})
        except TypeError:
            if as_operand(other) is NotImplemented or not isinstance(other, operand) or type(self) is not type(other):
                return NotImplemented  # Python asks `other`, or raises its own
            raise
    if spec.name == "Tensor.__eq__" and isinstance(other, np.ndarray) and other.dtype.kind in "biufc":
        return OPERATORS["__eq__"](self, FUNCTIONS["from_numpy"](other))
    instead = None if other is None else door.ask_foreign(spec, (self, other), {})
    return NotImplemented if instead is None else instead.result


def _from_function(name: str, function: Function, called: str = "") -> None:
    """`self <operator> other` by a function of both; NotImplemented lets Python ask `other`, or raise its TypeError.

    `called` is the method that is called by it in torch, if that is not the operator itself.
    """

    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise _not_a_tensor(name, self)
        if spec.handlers or as_operand(other) is NotImplemented:
            return _handled(spec, self, other)
        return function(self, other)

    spec = SPECS[f"Tensor.{called}"] if called else Spec(f"Tensor.{name}", function)
    _install(name, operator)
    spec.function = spec.function or operator


def _arithmetic(name: str, row_name: str, ready: str, called: str = "") -> None:
    """An operator that goes straight to the row if both are tensors of one dtype, or `other` is a plain number.

    `ready` are the kinds of dtype the row takes as they are.
    """
    row, function = TABLE[row_name], FUNCTIONS[row_name]
    beside_number, with_integers = "dFD" if "c" in ready else "d", "i" in ready
    spec = SPECS[f"Tensor.{called}"] if called else Spec(f"Tensor.{name}", function)

    of_tensors: Function
    of_number: Function

    # The row is compiled when it is first needed.
    def first(self: Tensor, other: Tensor) -> Any:
        nonlocal of_tensors
        of_tensors = compiled(row, "tt", at_door=True)
        return of_tensors(self, other)

    def first_with_number(self: Tensor, other: Any) -> Any:
        nonlocal of_number
        of_number = compiled(row, "ts", at_door=True)
        return of_number(self, other)

    of_tensors = first
    of_number = first_with_number

    def operator(self: Tensor, other: Any) -> Any:
        try:
            dtype = self._array.dtype
        except AttributeError:
            raise _not_a_tensor(name, self) from None
        if spec.handlers and not is_plain_call(spec, self, other):
            return _handled(spec, self, other)
        if isinstance(other, Tensor):
            if other._array.dtype is dtype and (dtype is FLOAT32 or dtype.kind in ready):
                try:
                    return of_tensors(self, other)
                except MemoryError as error:
                    raise out_of_memory(error) from None
        elif (type(other) is float or type(other) is int) and (dtype is FLOAT32 or dtype.char in beside_number or (
                with_integers and dtype is INT64 and type(other) is int and -INT64_LIMIT <= other < INT64_LIMIT)):
            try:
                return of_number(self, other)
            except MemoryError as error:
                raise out_of_memory(error) from None
        elif as_operand(other) is NotImplemented:
            return _handled(spec, self, other)
        return function(self, other)

    _install(name, operator)
    spec.function = spec.function or operator


_arithmetic("__add__", "add", "biufVc", "add")
_arithmetic("__radd__", "add", "biufVc", "add")
_arithmetic("__sub__", "sub", "iufVc", "sub")
_arithmetic("__rsub__", "rsub", "iufVc")
_arithmetic("__mul__", "mul", "biufVc", "mul")
_arithmetic("__rmul__", "mul", "biufVc", "mul")
_arithmetic("__truediv__", "div", "fVc", "div")
_arithmetic("__eq__", "eq", "biufVc")
_arithmetic("__ne__", "ne", "biufVc", "ne")
_arithmetic("__lt__", "lt", "biufV", "lt")
_arithmetic("__le__", "le", "biufV", "le")
_arithmetic("__gt__", "gt", "biufV", "gt")
_arithmetic("__ge__", "ge", "biufV", "ge")

for _operator, _function, _called in (
        ("__floordiv__", "floor_divide", ""), ("__mod__", "remainder", "remainder"), ("__pow__", "pow", ""),
        ("__and__", "bitwise_and", ""), ("__or__", "bitwise_or", ""), ("__xor__", "bitwise_xor", ""),
        ("__lshift__", "bitwise_left_shift", ""), ("__rshift__", "bitwise_right_shift", ""),
        ("__rand__", "bitwise_and", "bitwise_and"), ("__ror__", "bitwise_or", "bitwise_or"),
        ("__rxor__", "bitwise_xor", "bitwise_xor")):
    _from_function(_operator, FUNCTIONS[_function], _called)

for _operator, _function in {
    "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rpow__": "pow", "__rlshift__": "bitwise_left_shift",
    "__rrshift__": "bitwise_right_shift",
}.items():
    _from_function(_operator, lambda self, other, function=FUNCTIONS[_function]: function(other, self))

_from_function("__rtruediv__", lambda self, other: OPERATORS["__mul__"](FUNCTIONS["reciprocal"](self), other))

for _operator, _method in {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_",
}.items():
    _from_function(_operator, METHODS[_method], _method)

for _operator, _method in {
    "__ipow__": "pow_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_",
    "__ilshift__": "bitwise_left_shift_", "__irshift__": "bitwise_right_shift_",
}.items():
    _from_function(_operator, METHODS[_method])


def _product(name: str, function: Function, called: str = "") -> None:
    """`self @ other`: there are no numbers."""

    def operator(self: Tensor, other: Any) -> Any:
        return _handled(spec, self, other, Tensor) if spec.handlers or not isinstance(other, Tensor) else function(self, other)

    spec = SPECS[f"Tensor.{called}"] if called else Spec(f"Tensor.{name}", function)
    _install(name, operator)
    spec.function = spec.function or operator


_product("__matmul__", METHODS["matmul"], "matmul")
_product("__rmatmul__", lambda self, other: FUNCTIONS["matmul"](other, self))


def __invert__(self: Tensor) -> Any:
    if self._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return FUNCTIONS["bitwise_not"](self)


OPERATORS["__invert__"] = door.function("Tensor.__invert__", __invert__)
OPERATORS["__neg__"] = METHODS["neg"]
OPERATORS["__pos__"] = METHODS["positive"]
OPERATORS["__abs__"] = METHODS["abs"]
OPERATORS["__div__"] = OPERATORS["__truediv__"]
OPERATORS["__rdiv__"] = OPERATORS["__rtruediv__"]
OPERATORS["__idiv__"] = OPERATORS["__itruediv__"]
