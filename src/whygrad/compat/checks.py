"""torch._check and its variants: assertions that choose the exception they raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.tensor import Tensor

DEFAULT = ("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
           "enhancement request to PyTorch.)")


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], str] | None) -> None:
    if isinstance(cond, Tensor):
        raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to "
                        "assert that all elements are true.")
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _fail(error_type, message)


def _fail(error_type: type[Exception], message: Any) -> None:
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(DEFAULT if message is None else str(message()))


def _checking(name: str, error_type: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], str] | None = None) -> None:
        _check_with(error_type, cond, message)

    check.__name__ = check.__qualname__ = name
    return check


_check = _checking("_check", RuntimeError)
_check_index = _checking("_check_index", IndexError)
_check_value = _checking("_check_value", ValueError)
_check_type = _checking("_check_type", TypeError)
_check_not_implemented = _checking("_check_not_implemented", NotImplementedError)


def _check_is_size(i: Any, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    _check(bool(i >= 0), message)
    if max is not None:
        _check(bool(i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], str] | None = None) -> None:
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond._array.dtype != bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if not cond._array.all():
        _fail(error_type, message)


def _check_tensor_all(cond: Any, message: Callable[[], str] | None = None) -> None:
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raises immediately: on a CPU nothing is asynchronous."""
    if input._array.size != 1:
        amount = "more than one value" if input._array.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {amount} is ambiguous")
    if not input._array.item():
        raise RuntimeError(assert_msg)
