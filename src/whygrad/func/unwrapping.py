"""torch.func.debug_unwrap and functionalize."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whygrad.autograd.batched import BatchedTensor
from whygrad.core.tensor import Tensor
from whygrad.func.transforming import transforming


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The whole of a batched tensor, for inspection while debugging."""
    if not isinstance(tensor, BatchedTensor):
        return tensor
    return debug_unwrap(tensor._whole) if recurse else tensor._whole


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` itself, in effect. torch replaces in-place writes by pure operations, for compilers that trace the function.

    Writes to the arguments are applied there at the end, so the caller sees no difference.
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
