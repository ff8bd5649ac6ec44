"""What lies behind a tensor inside a transform."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.func.batched import BatchedTensor
from whygrad.func.transforming import transforming


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The whole behind a tensor that stands for a batch; for looking at while a program is debugged."""
    if not isinstance(tensor, BatchedTensor):
        return tensor
    return debug_unwrap(tensor._whole) if recurse else tensor._whole


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that gives what `func` gives. In torch it gets there without writing in place, for compilers that record it.

    What `func` does to its arguments it does there as well, so for those who call it nothing is different.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with "
            "their non-aliasing counterparts, {view}_copy.\n")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transforming():
            return func(*args, **kwargs)

    return wrapped
