"""Batch norm over the batches of all ranks: what SyncBatchNorm computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor, wrap
from whygrad.distributed.groups import ProcessGroup, is_initialized, the_group
from whygrad.distributed.nn import functional
from whygrad.functional.joining import cat


def group_of_several(process_group: Any) -> ProcessGroup | None:
    """The group to normalize over; None if this process is alone in it."""
    found = the_group(process_group) if is_initialized() else None
    return found if found is not None and found.size() > 1 else None


def synchronized(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, momentum: float, eps: float,
                 group: ProcessGroup) -> Tensor:
    """Normalize by mean and variance of all ranks together. Means and squared deviations are gathered and combined."""
    axes = [axis for axis in range(input.ndim) if axis != 1]
    shape = [1, -1, *[1] * (input.ndim - 2)]
    x = input.float() if input._array.dtype.itemsize == 2 else input
    channels = x.shape[1]
    own = x.mean(axes)
    deviation = (x - own.view(shape)).square().sum(axes)
    count = wrap(np.full(1, x._array.size // channels, x._array.dtype))
    everywhere = functional.all_gather(cat([own, deviation, count]), group)
    counts = [float(part._array[-1]) for part in everywhere]
    total = sum(counts)
    mean = sum(part[:channels] * (n / total) for part, n in zip(everywhere, counts, strict=True))
    squares: Any = sum(part[channels:-1] + (part[:channels] - mean).square() * n
                       for part, n in zip(everywhere, counts, strict=True))
    var = squares / total
    if running_mean is not None:
        unbiased = squares.detach() / max(total - 1, 1)
        running_mean.copy_((running_mean * (1 - momentum) + mean.detach() * momentum).detach())
        running_var.copy_((running_var * (1 - momentum) + unbiased * momentum).detach())
    out = (x - mean.view(shape)) * (var + eps).rsqrt().view(shape)
    if weight is not None:
        out = out * weight.view(shape) + bias.view(shape)
    return out.to(input.dtype)  # type: ignore[no-any-return]
