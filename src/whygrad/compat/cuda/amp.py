"""torch.cuda.amp: the deprecated names of torch.amp for the device "cuda"."""

from __future__ import annotations

import functools
from typing import Any

from whygrad import amp
from whygrad.amp.old_names import names
from whygrad.base import dtypes
from whygrad.base.errors import warn

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

autocast, GradScaler = names("cuda", dtypes.float16)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`torch.amp.custom_fwd` for CUDA."""
    if fwd is None:
        return functools.partial(custom_fwd, cast_inputs=cast_inputs)
    warn("`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use `torch.amp.custom_fwd(args..., device_type='cuda')` "
         "instead.", FutureWarning)
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`torch.amp.custom_bwd` for CUDA."""
    warn("`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use `torch.amp.custom_bwd(args..., device_type='cuda')` "
         "instead.", FutureWarning)
    return amp.custom_bwd(bwd, device_type="cuda")
