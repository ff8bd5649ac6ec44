"""vmap: a function of single elements, applied to all elements of a batch at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from whygrad.backends import tensor as xp
from whygrad.base.pytree import _broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten
from whygrad.core.door import entered
from whygrad.core.tensor import Tensor
from whygrad.func.batched import BatchLevel, batched, spread
from whygrad.func.transforming import transforming


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """`func` mapped over a batch; `in_dims` and `out_dims` are the batch dimensions of each input and output.

    `randomness` determines what random operations inside do: raise ("error"), or draw the "same" or "different" numbers for
    each element. With `chunk_size`, the batch is processed in chunks of that many elements.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(out_dims, int):
            tree_map(lambda dim: _check_out_dim(dim, func, out_dims), out_dims)
        inputs = Inputs(func, in_dims, args)
        if chunk_size is None:
            return _run(func, inputs.size, inputs.dims, inputs.leaves, inputs.spec, out_dims, randomness, kwargs)
        return _run_in_chunks(func, inputs, chunk_size, out_dims, randomness, kwargs)

    return wrapped


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


def _check_out_dim(dim: Any, func: Callable[..., Any], out_dims: Any) -> None:
    if not isinstance(dim, int) and dim is not None:
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                         "collection of ints representing where in the outputs the vmapped dimension should appear.")


def _run(func: Callable[..., Any], size: int, dims: list[int | None], leaves: list[Any], spec: Any, out_dims: Any,
         randomness: str, kwargs: dict[str, Any]) -> Any:
    level = BatchLevel(size, randomness)
    fronts = [x if dim is None else moved(x, dim, 0) for x, dim in zip(leaves, dims, strict=True)]
    with transforming(), entered(level):
        inputs = [x if dim is None else batched(x, level, dim) for x, dim in zip(fronts, dims, strict=True)]
        results, result_spec = tree_flatten(func(*tree_unflatten(inputs, spec), **kwargs))
    wanted_dims = _out_dims(func, out_dims, result_spec)
    given = {(id(x), out_dim): leaf for x, leaf, dim in zip(inputs, leaves, dims, strict=True) if dim is not None
             for out_dim in (dim, dim - leaf._array.ndim)}
    # An input returned with its batch dimension unchanged is returned as the same tensor object.
    return tree_unflatten([given[id(t), out_dim] if (id(t), out_dim) in given else unwrapped(t, level, out_dim, func)
                           for t, out_dim in zip(results, wanted_dims, strict=True)], result_spec)


def moved(x: Tensor, axis: int, to: int) -> Tensor:
    """`x` with one axis moved to another position."""
    if axis == to:
        return x
    order = [i for i in range(x._array.ndim) if i != axis]
    order.insert(to, axis)
    return xp.permute(x, axes=tuple(order))  # type: ignore[no-any-return]


def _out_dims(func: Callable[..., Any], out_dims: Any, spec: Any) -> list[int | None]:
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    found = _broadcast_to_and_flatten(out_dims, spec)
    if found is None:
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has "
                         f"structure {spec}.")
    return found


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


def _run_in_chunks(func: Callable[..., Any], inputs: Inputs, chunk_size: int, out_dims: Any, randomness: str,
                   kwargs: dict[str, Any]) -> Any:
    from whygrad.random import get_rng_state, set_rng_state

    edges = [*range(0, inputs.size, chunk_size), inputs.size]
    state = get_rng_state() if randomness == "same" else None
    chunks = []
    for start, stop in pairwise(edges):
        leaves = [x if dim is None else xp.slice(x, axis=dim, start=start, stop=stop, step=1)
                  for x, dim in zip(inputs.leaves, inputs.dims, strict=True)]
        if state is not None:
            set_rng_state(state)
        chunks.append(tree_flatten(_run(func, stop - start, inputs.dims, leaves, inputs.spec, out_dims, randomness, kwargs)))
    spec = chunks[0][1]
    dims = _out_dims(func, out_dims, spec)
    columns = zip(*[leaves for leaves, _ in chunks], strict=True)
    return tree_unflatten([xp.cat(*column, axis=(dim or 0) % column[0]._array.ndim)
                           for column, dim in zip(columns, dims, strict=True)], spec)


def mapped(func: Callable[..., Any], level: BatchLevel, dims: list[int | None], args: list[Any]) -> list[tuple[Any, bool]]:
    """Call `func` on elements, for custom Functions: (result with the batch as first axis, whether it has one) for each."""
    fronts = [x if dim is None else moved(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
    inner = BatchLevel(level.size, level.randomness)
    with entered(inner):
        results = func(*[x if dim is None else batched(x, inner) for x, dim in zip(fronts, dims, strict=True)])
        several = results if isinstance(results, tuple) else (results,)
    return [(t._whole, True) if isinstance(t, Tensor) and inner.holds(t) else (t, False) for t in several]  # type: ignore[attr-defined]
