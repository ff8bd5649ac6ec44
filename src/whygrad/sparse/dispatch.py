"""Makes torch's functions dispatch on sparse arguments, from the moment the first sparse tensor can exist.

A program without sparse tensors never loads this. Operators of plain tensors need no dispatch, because Python tries the
subclass's method first; those of parameters, which are a subclass too, are wrapped.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Parameter
from whygrad.sparse import functions, products
from whygrad.sparse.tensor import SparseTensor

# Errors look through these frames: the user called the function behind (see functional/arguments.py).
_passes_calls_on_ = True

# Methods of dense tensors that accept a sparse argument.
TAKE_SPARSE = ("add", "add_", "addmm", "matmul", "mm", "mul", "multiply", "sub", "sub_", "subtract", "copy_")
OPERATORS = ("__add__", "__sub__", "__mul__", "__matmul__", "__iadd__", "__isub__")


def _choosing(dense: Callable[..., Any], sparse: Callable[..., Any]) -> Callable[..., Any]:
    """The function that calls `sparse` if an argument is sparse, else `dense`."""

    @functools.wraps(dense)
    def choosing(*args: Any, **kwargs: Any) -> Any:
        for x in (*args[:3], *kwargs.values()):
            if type(x) is SparseTensor or (type(x) in (tuple, list) and x and type(x[0]) is SparseTensor):
                return sparse(*args, **kwargs)
        return dense(*args, **kwargs)

    return choosing


def install() -> None:
    import whygrad
    from whygrad.nn import functional as F

    for name, function in (functions.FUNCTIONS | functions.METHODS).items():
        setattr(SparseTensor, name, function)
    SparseTensor.T = property(functions.t)  # type: ignore[attr-defined]
    SparseTensor.mT = property(lambda self: functions.transpose(self, -2, -1))  # type: ignore[attr-defined]
    for name, function in functions.FUNCTIONS.items():
        dense = vars(whygrad).get(name)
        if dense is not None:
            setattr(whygrad, name, _choosing(dense, function))
    both = functions.FUNCTIONS | functions.METHODS
    for name in TAKE_SPARSE:
        setattr(Tensor, name, _choosing(getattr(Tensor, name), both[name]))
    for name in OPERATORS:
        setattr(Parameter, name, _choosing(getattr(Tensor, name), both[name]))
    F.linear = whygrad._C._nn.linear = _choosing(F.linear, products.linear)  # type: ignore[attr-defined]
    sys.modules.setdefault("whygrad.nn.functional", F)
