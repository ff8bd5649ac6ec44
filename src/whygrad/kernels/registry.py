"""Rows whose kernels are written by hand, because they are more than one pass over the elements.

A maker gets the NumPy function and returns one that takes the same arguments: it computes what it was written for (contiguous
float32 arrays) and hands everything else to the NumPy function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from whygrad.ops import TABLE

# row -> the module of this package that has a maker of the row's name; and pieces of derivatives that are no rows
KERNELS: dict[str, str] = {
    **{row.name: row.traits.kernel for row in TABLE.values() if row.traits.kernel},
    **dict.fromkeys(("layer_norm_input", "layer_norm_weight", "standardized", "standardized_backward", "channel_moments",
                     "batch_norm_input", "batch_norm_weight"), "normalize"),
    "layer_norm_backward": "norm_gradients",
    "recurrent_layer_backward": "recurrent",
    "linear_backward": "gemm",
}


@cache
def load(module: str) -> Any:
    """A module of this package, when it is used: a program without kernels imports none but `jit` and this one."""
    return import_module(f"whygrad.kernels.{module}")


def make(name: str, numpy: Callable[..., Any]) -> Callable[..., Any]:
    load("pool").pool()
    maker: Callable[[Callable[..., Any]], Callable[..., Any]] = getattr(load(KERNELS[name]), name)
    return maker(numpy)
