"""The `_array` of tensors that are not dense: any use of it by NumPy raises.

So an operation that is not implemented for such tensors raises instead of computing a wrong result.
"""

from __future__ import annotations

from typing import Any, NoReturn

from whygrad.base.door import not_implemented


class RefusingArray:
    """Subclasses define `dtype`, and `shape` if there is one."""

    # For the error message: the kind of tensor, and what to use instead.
    kind = "such"
    instead = ""

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: the caller expects a dense tensor. The door adds the name of the function that the user called."""
        raise not_implemented(f" does not work on {self.kind} tensors in whygrad: {self.instead}")

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        self.refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()

    __hash__ = object.__hash__


for _name in ("__array__", "__array_function__", "__getitem__", "__setitem__", "__iter__", "__len__", "__bool__", "__float__",
              "__int__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__", "__mul__", "__rmul__",
              "__sub__", "__rsub__", "__truediv__", "__neg__", "__matmul__", "__rmatmul__", "__pow__"):
    setattr(RefusingArray, _name, RefusingArray.refuse)
