"""Arguments and results of a mapped function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whygrad.autograd.batched import BatchLevel, moved, spread
from whygrad.base.pytree import _broadcast_to_and_flatten, tree_flatten
from whygrad.core.tensor import Tensor


class Inputs:
    """The arguments of a mapped function as a flat list, the dimension to map of each, and the size of the batch."""

    def __init__(self, func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> None:
        call = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                             f"inputs, got: {type(in_dims)}.")
        if not args:
            raise ValueError(f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                             "trying to vmap over a function with no inputs. The latter is unsupported.")
        self.leaves, self.spec = tree_flatten(args)
        dims = _broadcast_to_and_flatten(in_dims, self.spec)
        if dims is None:
            raise ValueError(f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                             f"{tree_flatten(in_dims)[1]} but inputs has structure {self.spec}.")
        self.dims = [self._checked(call, x, dim) for x, dim in zip(self.leaves, dims, strict=True)]
        sizes = [x._array.shape[dim] for x, dim in zip(self.leaves, self.dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{sizes} for the mapped dimension")
        self.size = sizes[0]

    @staticmethod
    def _checked(call: str, x: Any, dim: Any) -> int | None:
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(f"{call}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(x, Tensor):
            raise ValueError(f"{call}Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over "
                             "non-Tensor arguments, please use None as the respective in_dim")
        ndim = x._array.ndim
        if not -ndim <= dim < ndim:
            raise ValueError(f"{call}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} so "
                             f"expected in_dim to satisfy -{ndim} <= in_dim < {ndim}.")
        return dim % ndim


def name_of(func: Callable[..., Any]) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def unwrapped(t: Any, level: BatchLevel, dim: int | None, func: Callable[..., Any]) -> Any:
    """A result of the mapped function for its caller: with the batch as dimension `dim`."""
    name = name_of(func)
    if dim is None:
        if isinstance(t, Tensor) and level.holds(t):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return t
    if not isinstance(t, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(t)}. Did you mean to set "
                         "out_dims= to None for output?")
    whole = t._whole if level.holds(t) else spread(t, level.size)  # type: ignore[attr-defined]
    ndim = whole._array.ndim
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return moved(whole, 0, dim % ndim)
