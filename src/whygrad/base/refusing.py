"""What stands where a dense tensor has its NumPy array, in tensors of other kinds: it refuses whatever NumPy would do with it.

So an operation that nobody wrote for such tensors says so, instead of giving a wrong result.
"""

from __future__ import annotations

from typing import Any, NoReturn

from whygrad.base.door import not_implemented


class RefusingArray:
    """Subclasses give `dtype`, and `shape` if there is one."""

    # What the tensors are called, and what to do instead.
    kind = "such"
    instead = ""

    def refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Whoever asks for the numbers expects a dense tensor. The door names the function that the user called."""
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
