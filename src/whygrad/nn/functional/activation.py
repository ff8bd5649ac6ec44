"""Activations with learned or random slopes, gated linear units, and shrinkage."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.core.record import apply
from whygrad.core.tensor import wrap
from whygrad.functional.dims import normalize_dim
from whygrad.functional.run import made_under_transforms, nn_function, run, with_out, write
from whygrad.ops.table import TABLE
from whygrad.random import default_generator


@nn_function()
def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim`, gated by the sigmoid of the second."""
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = normalize_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}")
    return apply(TABLE["glu"], input, axis=axis)


@nn_function()
def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """Leaky ReLU whose slope is drawn for each negative element in training, and the mean of the bounds otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    array = input._numbers
    if training:
        slopes = _random_slopes(input, lower, upper)
    else:
        slopes = input._with_numbers(np.where(array <= 0, array.dtype.type((lower + upper) / 2), array.dtype.type(1)))
    return write("rrelu", input, input, slopes) if inplace else run("rrelu", input, slopes)


@made_under_transforms("random")
def _random_slopes(input: Any, lower: float, upper: float) -> Any:
    array = input._array
    slopes = np.ones(array.shape, array.dtype)
    negative = array <= 0
    slopes[negative] = default_generator.stream.uniform((int(negative.sum()),), np.float64, lower, upper)
    return wrap(slopes)


@nn_function()
def rrelu_(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """`rrelu` in place."""
    if generator is not None:
        raise NotImplementedError("rrelu_: the slopes are drawn from the default generator; seed that with torch.manual_seed")
    return rrelu(input, lower, upper, training, inplace=True)


@nn_function()
def softshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """x moved towards 0 by `lambd`, at most to 0."""
    largest = dtypes.finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype.scalar_name}, but "
                           f"found {lambd:g}")
    return with_out("softshrink", apply(TABLE["softshrink"], input, bound=lambd), out, input)


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return input.tanh()
