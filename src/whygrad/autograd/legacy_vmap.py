"""torch._vmap_internals: the vmap before torch.func, which does not require custom Functions to support it.

gradcheck uses it, as in torch, and so do programs with gradient checks of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whygrad.autograd.batched import batched, moved
from whygrad.autograd.batching import VmapLevel
from whygrad.autograd.batching.mapping import Inputs, name_of, unwrapped
from whygrad.base.errors import warn
from whygrad.base.pytree import tree_unflatten
from whygrad.core.door import entered
from whygrad.core.tensor import Tensor


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning)
    return _vmap(func, in_dims, out_dims)


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
          allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """`func` mapped over a batch; it returns a Tensor, a tuple of Tensors, or None if that is allowed."""

    @functools.wraps(func, updated=())
    def wrapped(*args: Any) -> Any:
        if not all(isinstance(dim, int) for dim in (out_dims if isinstance(out_dims, tuple) else (out_dims,))):
            raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int or a tuple of int "
                             "representing where in the outputs the vmapped dimension should appear.")
        inputs = Inputs(func, in_dims, args)
        level = VmapLevel(inputs.size, "refused")
        fronts = [x if dim is None else moved(x, dim, 0) for x, dim in zip(inputs.leaves, inputs.dims, strict=True)]
        with entered(level):
            elements = [x if dim is None else batched(x, level) for x, dim in zip(fronts, inputs.dims, strict=True)]
            results = func(*tree_unflatten(elements, inputs.spec))
        several = results if isinstance(results, tuple) else (results,)
        if not allow_none_pass_through:
            _check_results(func, results, several)
        dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(several)
        if len(dims) != len(several):
            raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must have one dim per output (got "
                             f"{len(several)} outputs) of {name_of(func)}.")
        wholes = [None if t is None else unwrapped(t, level, dim, func) for t, dim in zip(several, dims, strict=True)]
        return tuple(wholes) if isinstance(results, tuple) else wholes[0]

    return wrapped


def _check_results(func: Callable[..., Any], results: Any, several: tuple[Any, ...]) -> None:
    name = name_of(func)
    for i, t in enumerate(several):
        if not isinstance(t, Tensor):
            place = f"for return {i}." if isinstance(results, tuple) else "as the return."
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(t)} {place}")
