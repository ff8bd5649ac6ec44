"""The `reduction` argument of losses, and the deprecated `size_average` and `reduce`."""

from __future__ import annotations

from typing import Any

from whygrad.base.errors import warn


def reduction_of(reduction: Any, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """"none", "mean" or "sum"."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    found: str = reduction
    return found


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    averaged = size_average is None or size_average
    reduced = reduce is None or reduce
    found = ("mean" if averaged else "sum") if reduced else "none"
    warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def reduce_loss(loss: Any, reduction: str) -> Any:
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
