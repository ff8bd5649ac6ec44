"""Batching of convolutions, by reshaping.

A batch of images is one larger batch of images. A batch of weights gives that many times the channels; and where both have
a batch, each element's channels are groups of their own.
"""

from __future__ import annotations

from typing import Any

from whygrad.autograd.batched import BatchLevel, spread
from whygrad.backends import tensor as xp
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.ops.conv import Window
from whygrad.ops.table import Row


def merged(x: Tensor, axis: int) -> Tensor:
    """An axis and the next one as one."""
    shape = x._array.shape
    return xp.reshape(x, shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))  # type: ignore[no-any-return]


def split(x: Tensor, axis: int, first: int) -> Tensor:
    """An axis as two, the first of length `first`."""
    shape = x._array.shape
    return xp.reshape(x, shape=(*shape[:axis], first, shape[axis] // first, *shape[axis + 1:]))  # type: ignore[no-any-return]


def swapped(x: Tensor, axis0: int, axis1: int) -> Tensor:
    return xp.transpose(x, axis0=axis0, axis1=axis1)  # type: ignore[no-any-return]


def beside(x: Tensor) -> Tensor:
    """(batch, images, channels, ...) as (images, batch * channels, ...)."""
    return merged(swapped(x, 0, 1), 1)


def apart(out: Tensor, size: int) -> Tensor:
    return swapped(split(out, 1, size), 0, 1)


def convolve(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """`convolution`, and its transpose under either name."""
    (x, weight, *biases), (x_has, weight_has, *_) = level.opened(inputs)
    bias = inputs[2] if biases else None
    plain = [None] if biases else []
    window: Window = statics["window"]
    if not weight_has:
        out = split(apply(row, merged(x, 0) if x_has else x, weight, *plain, **statics), 0, level.size) if x_has else spread(
            apply(row, x, weight, *plain, **statics), level.size)
    elif x_has or window.groups > 1:
        x = beside(x if x_has else spread(x, level.size))
        grouped = {**statics, "window": window._replace(groups=window.groups * level.size)}
        out = apart(apply(row, x, merged(weight, 0), *plain, **grouped), level.size)
    else:
        # The output channels of a transposed convolution are the second axis of its weight.
        weight = merged(weight, 0) if row.name == "convolution" else merged(swapped(weight, 0, 1), 1)
        out = apart(apply(row, x, weight, *plain, **statics), level.size)
    result = level.closed(out)
    return result if bias is None else level.inside(_with_bias, result, bias)


def _with_bias(out: Tensor, bias: Tensor) -> Tensor:
    return out + xp.reshape(bias, shape=(bias._array.shape[0], *(1,) * (out._array.ndim - 2)))  # type: ignore[operator,no-any-return]


def weight_gradient(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (y, x), (y_has, x_has) = level.opened(inputs)
    window: Window = statics["window"]
    if not x_has and window.groups == 1:
        return level.closed(split(apply(row, beside(y), x, **statics), 0, level.size))
    y = beside(y if y_has else spread(y, level.size))
    x = beside(x if x_has else spread(x, level.size))
    grouped = {**statics, "window": window._replace(groups=window.groups * level.size)}
    return level.closed(split(apply(row, y, x, **grouped), 0, level.size))
