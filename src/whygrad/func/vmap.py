"""vmap: a function of single elements, applied to all elements of a batch at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from whygrad.autograd.batched import batched, moved
from whygrad.autograd.batching import VmapLevel
from whygrad.autograd.batching.mapping import Inputs, name_of, unwrapped
from whygrad.backends import tensor as xp
from whygrad.base.pytree import _broadcast_to_and_flatten, tree_flatten, tree_map, tree_unflatten
from whygrad.core.door import entered
from whygrad.func.transforming import transforming
from whygrad.random import get_rng_state, set_rng_state


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


def chunk_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
               chunks: int = 2) -> Callable[..., Any]:
    """`vmap` that goes over the batch in at most `chunks` pieces."""

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size = Inputs(func, in_dims, args).size
        return vmap(func, in_dims, out_dims, randomness, chunk_size=-(-size // chunks))(*args, **kwargs)

    return vmap(func, in_dims, out_dims, randomness) if chunks == 1 else wrapped


def _check_out_dim(dim: Any, func: Callable[..., Any], out_dims: Any) -> None:
    if not isinstance(dim, int) and dim is not None:
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                         "collection of ints representing where in the outputs the vmapped dimension should appear.")


def _run(func: Callable[..., Any], size: int, dims: list[int | None], leaves: list[Any], spec: Any, out_dims: Any,
         randomness: str, kwargs: dict[str, Any]) -> Any:
    level = VmapLevel(size, randomness)
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


def _out_dims(func: Callable[..., Any], out_dims: Any, spec: Any) -> list[int | None]:
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    found = _broadcast_to_and_flatten(out_dims, spec)
    if found is None:
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                         f"structure of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has "
                         f"structure {spec}.")
    return found


def _run_in_chunks(func: Callable[..., Any], inputs: Inputs, chunk_size: int, out_dims: Any, randomness: str,
                   kwargs: dict[str, Any]) -> Any:
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
