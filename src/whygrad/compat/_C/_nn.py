"""torch._C._nn: the parser of the arguments of `to`, and the functions of torch.nn.functional that torch defines there."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes
from whygrad.base.devices import device as Device
from whygrad.core.tensor import Tensor


def _parse_to(*args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
              memory_format: Any = None) -> tuple[Any, Any, bool, Any]:
    """The arguments of `to(...)`: (device, dtype, non_blocking, memory_format)."""
    flags = [x for x in args if isinstance(x, bool)]
    for x in args:
        if isinstance(x, Tensor):
            device, dtype = x.device, x.dtype
        elif isinstance(x, dtypes.dtype):
            dtype = x
        elif x is not None and not isinstance(x, bool):
            device = x
    return None if device is None else Device(device), dtype, bool(flags[0] if flags else non_blocking), memory_format


def __getattr__(name: str) -> Any:
    import whygrad.nn.functional

    try:
        return getattr(whygrad.nn.functional, name)
    except AttributeError:
        raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}") from None
