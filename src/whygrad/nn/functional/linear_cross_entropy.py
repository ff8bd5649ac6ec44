"""A linear layer and cross entropy in one."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.functional.linalg import linear
from whygrad.functional.run import nn_function
from whygrad.nn import functional as F
from whygrad.nn.functional.losses import cross_entropy

POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How torch splits the batch into chunks to save memory. Validated and stored; here the loss is not chunked."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, separator, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (separator and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
            raise ValueError("acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, "
                             f"got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically.")


@nn_function()
def linear_cross_entropy(input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
                         reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
                         options: LinearCrossEntropyOptions | None = None) -> Any:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`; the weight may be (C, d1, ..., features)."""
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    batch, features = tuple(input.shape[:-1]), input.shape[-1]
    classes, *positions = linear_weight.shape[:-1]
    if features != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{features} and {linear_weight.shape[-1]}, respectively")
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *positions):
        raise RuntimeError(f"expected linear_bias shape {(classes, *positions)}, got {tuple(linear_bias.shape)}")
    if positions and not batch:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched "
                           f"input, (N, {features}), got unbatched input with shape {tuple(input.shape)}")
    shape = (*batch, classes, *positions)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    chunked = options is not None and not _warn_if_ignored(target, linear_bias, reduction, label_smoothing, tuple(positions))
    if positions:
        linear_weight = linear_weight.reshape(math.prod((classes, *positions)), features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    # torch's chunked operator does not call F.linear and F.cross_entropy.
    project, loss = (linear, cross_entropy) if chunked else (F.linear, F.cross_entropy)
    logits: Any = project(input, linear_weight, linear_bias)
    return loss(logits.reshape(shape), target, weight=weight, ignore_index=-100 if ignore_index is None else ignore_index,
                reduction=reduction, label_smoothing=label_smoothing)


def _warn_if_ignored(target: Any, bias: Any, reduction: str, label_smoothing: float, positions: tuple[int, ...]) -> bool:
    known = reduction in ("mean", "sum", "none")
    ignored = bool(positions) or not known or label_smoothing != 0.0 or target.dtype is not dtypes.int64
    if ignored:
        warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
             "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
             f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
             f"out_features={positions}, tracing=False, linear_bias.shape="
             f"{None if bias is None else tuple(bias.shape)}.")
    return ignored
