"""softmax and its relatives."""

from __future__ import annotations

import warnings
from typing import Any

import whygrad as torch
from whygrad.base.errors import user_stacklevel
from whygrad.functional import softmax as functions
from whygrad.functional.dispatch import short_along_dim
from whygrad.functional.run import nn_function


def _implicit_dim(name: str, ndim: int) -> int:
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=user_stacklevel())
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
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=user_stacklevel())
    noise = -torch.empty_like(logits.detach()).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
