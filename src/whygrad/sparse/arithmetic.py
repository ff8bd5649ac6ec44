"""Addition, multiplication and elementwise functions of sparse tensors."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.run import FUNCTIONS as DENSE
from whygrad.functional.run import METHODS
from whygrad.ops import TABLE
from whygrad.sparse import array as numbers
from whygrad.sparse import ops
from whygrad.sparse.conversions import coalesce, is_sparse, promoted, same_shape, to_dtype, with_values

SPARSE_PLUS_DENSE = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."

# Public name -> node, for the elementwise functions that map zero to zero: they apply to the stored values only. COO tensors
# are coalesced first.
ON_VALUES = {name: str(row.node) for row in TABLE.values() if "sparse" in row.traits.public and row.name in METHODS
             for name, method in METHODS.items() if unwrap(method) is unwrap(METHODS[row.name])
             } | {"square": "PowBackward0"}


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number, np.bool_)) or (
        isinstance(x, Tensor) and not is_sparse(x) and not x._array.ndim)


def neg(input: Any) -> Any:
    return ops.neg(input)


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The sum; dense if the first argument is dense."""
    if not is_sparse(other):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    same_shape("add", input, other)
    return ops.add(*promoted(input, other), alpha=alpha)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    if not is_sparse(other):
        raise RuntimeError(SPARSE_PLUS_DENSE)
    same_shape("sub", input, other)
    return ops.add(*promoted(input, other), alpha=-alpha, name="SubBackward0")


def mul(input: Any, other: Any) -> Any:
    """The elementwise product, stored only where both factors are."""
    if not is_sparse(input):
        input, other = other, input
    if _is_number(other):
        if not isinstance(other, Tensor):
            return _scaled(input, other)
        return with_values(input, ops.values_of(input) * other, "MulBackward0")
    if is_sparse(other) and input._array.layout != other._array.layout:
        raise RuntimeError("mul(sparse, sparse): both must have the same layout")
    if input._array.shape != other._array.shape:
        if is_sparse(other):
            same_shape("mul", input, other)
        other = other.expand(input._array.shape)
    if is_sparse(other):
        shared = np.isin(input._array.flat, other._array.flat)
        if not shared.all():
            input = _kept(input, shared)
    return with_values(input, ops.values_of(input) * ops.pick(other, pattern=input._array), "MulBackward0")


def _scaled(x: Any, number: Any) -> Any:
    dtype = dtypes.result_dtype([(x.dtype, 1), number])
    x = x if x.dtype is dtype else to_dtype(x, dtype)
    return ops.scale(x, number=number.item() if isinstance(number, np.generic) else number)


def _kept(x: Any, which: np.ndarray) -> Any:
    """`x` with only those elements for which `which` is true."""
    kept = np.flatnonzero(which)
    pattern = numbers.coo(x._array.places[:, kept], x._array.values[kept], x._array.shape, x._array.coalesced)
    if x._array.layout != "coo":
        raise NotImplementedError("mul(): compressed sparse tensors with different places")
    return ops.from_values(ops.values_of(x)[wrap(kept)], pattern=pattern)


def div(input: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    if not is_sparse(input) or not _is_number(other):
        shape = list(other._array.shape) if isinstance(other, Tensor) else []
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                           f"{shape} for divisor)")
    if rounding_mode is not None or isinstance(other, Tensor):
        return with_values(input, DENSE["div"](ops.values_of(input), other, rounding_mode=rounding_mode), "DivBackward0")
    if input.dtype.category < 2:
        input = to_dtype(input, dtypes.get_default_dtype())
    return ops.divide(input, number=other)


def pow(input: Any, exponent: Any) -> Any:
    if not _is_number(exponent):
        raise NotImplementedError("pow(): a sparse tensor can be raised to a number only")
    if exponent == 0:
        raise RuntimeError("pow: can only be used with exponent != 0, because it would make dense tensors")
    input = coalesce(input) if input._array.layout == "coo" else input
    return with_values(input, ops.values_of(input) ** exponent, "PowBackward0")


def on_values(name: str, node: str) -> Any:
    function = DENSE[name]

    def unary(x: Any, *args: Any, **options: Any) -> Any:
        x = coalesce(x) if x._array.layout == "coo" else x
        return with_values(x, function(ops.values_of(x), *args, **options), node)

    unary.__name__ = unary.__qualname__ = name
    return unary
