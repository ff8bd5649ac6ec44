"""What lies behind a tensor inside a transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad._tensor import Tensor
from whygrad.func.batched import BatchedTensor

_whygrad_internal_ = True


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The whole behind a tensor that stands for a batch; for looking at while a program is debugged."""
    if not isinstance(tensor, BatchedTensor):
        return tensor
    return debug_unwrap(tensor._whole) if recurse else tensor._whole


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    raise NotImplementedError("torch.func.functionalize is not supported: there is no compiler here that would need it")
