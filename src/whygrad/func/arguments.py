"""Arguments of the transforms: the choice of differentiated arguments (argnums), and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whygrad.base.pytree import tree_flatten
from whygrad.core.tensor import Tensor

Argnums = int | tuple[int, ...]


def wrapped_argnums(argnums: Any, count: int) -> Argnums:
    """`argnums` as non-negative positions."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return _wrapped(argnums, count)
    found = tuple([_wrapped(argnum, count) for argnum in argnums])
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _wrapped(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def chosen(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments at `argnums`: one, or a tuple."""
    return args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])


def replaced(args: tuple[Any, ...], new: Any, argnums: Argnums) -> tuple[Any, ...]:
    """`args` with those at `argnums` replaced by `new`."""
    by_position = {argnums: new} if isinstance(argnums, int) else dict(zip(argnums, new, strict=True))
    return tuple([by_position.get(i, x) for i, x in enumerate(args)])


def split_aux(result: Any, call: str) -> tuple[Any, Any]:
    """(output, aux), as a function with has_aux=True returns them."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for t in tree_flatten(result[1])[0]:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")
    return result


def check_outputs(outputs: list[Any], call: str) -> None:
    """Raise unless the transformed function returned tensors."""
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for t in outputs:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(t)}")


def check_tensors(values: Sequence[Any], call: str, name: str) -> None:
    if not values:
        raise RuntimeError(f"{call}: Expected {name} to contain at least one Tensor.")
    for x in values:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{call}: Expected {name} to only contain Tensors, got {type(x)}")


def refuse_complex(function: str, values: Sequence[Any], what: str) -> None:
    for i, x in enumerate(values):
        if isinstance(x, Tensor) and x.dtype.is_complex:
            raise RuntimeError(f"{function}: Expected all {what} to be real but received complex tensor at flattened input "
                               f"idx: {i}")
