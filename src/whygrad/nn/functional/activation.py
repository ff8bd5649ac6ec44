"""Activations with learned or random slopes, gated linear units, shrinkage, softmax and its relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import whygrad as torch
from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.core.record import apply
from whygrad.core.tensor import wrap
from whygrad.core.write import check_inplace
from whygrad.functional import softmax as functions
from whygrad.functional.arguments import check_kinds, not_implemented
from whygrad.functional.dims import normalize_dim
from whygrad.functional.dispatch import short_along_dim
from whygrad.functional.run import made_under_transforms, nn_function, run, with_out, write
from whygrad.ops.table import TABLE
from whygrad.random import default_generator

__all__ = ["glu", "gumbel_softmax", "log_softmax", "rrelu", "rrelu_", "sigmoid", "softmax", "softmin", "softshrink", "tanh"]


@nn_function()
def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim`, gated by the sigmoid of the second."""
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = normalize_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}")
    check_kinds("glu_cpu", input, "fV")
    return apply(TABLE["glu"], input, axis=axis)


@nn_function()
def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    """Leaky ReLU whose slope is drawn for each negative element in training, and the mean of the bounds otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    array = input._numbers
    if inplace:
        check_inplace(input, (input,))  # before slopes are drawn
    if training:
        if array.dtype == np.float16:
            raise not_implemented("rrelu_with_noise_out_cpu", input.dtype)
        slopes = _random_slopes(input, lower, upper)
    elif inplace:  # the slope is the same everywhere, so the derivative can be told from the result
        return write("leaky_relu_inplace", input, input, slope=(lower + upper) / 2, node="RreluWithNoiseBackward1")
    else:
        slopes = input._with_numbers(np.where(array > 0, array.dtype.type(1), array.dtype.type((lower + upper) / 2)))
    return write("rrelu", input, input, slopes, inplace=True) if inplace else run("rrelu", input, slopes)


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


def _implicit_dim(name: str, ndim: int) -> int:
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
         "argument.")
    return 0 if ndim in (0, 1, 3) else 1


@nn_function(short=short_along_dim("softmax", "fV"))
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x) over its sum along `dim`."""
    return functions.softmax(input, _implicit_dim("softmax", input.ndim) if dim is None else dim, dtype)


@nn_function(short=short_along_dim("log_softmax", "fV"))
def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of softmax along `dim`, without cancellation."""
    return functions.log_softmax(input, _implicit_dim("log_softmax", input.ndim) if dim is None else dim, dtype)


@nn_function()
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of -x."""
    return functions.softmax(-input, _implicit_dim("softmin", input.ndim) if dim is None else dim, dtype)


@nn_function()
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of the Gumbel-softmax distribution; `hard` makes it one-hot with the gradient of the soft sample."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -torch.empty_like(logits.detach()).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return input.tanh()
