"""Batching of products: those with a factor that all elements share become one large product."""

from __future__ import annotations

import math
import string
from typing import Any

from whygrad.autograd.batched import BatchLevel, spread
from whygrad.autograd.batching.families import aligned, by, wholes_of
from whygrad.backends import tensor as xp
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.ops.linear import flat, transposed
from whygrad.ops.table import Row


def column(x: Tensor) -> Tensor:
    return xp.unsqueeze(x, axis=x._array.ndim)  # type: ignore[no-any-return]


def last(x: Tensor) -> int:
    return x._array.ndim - 1


def mm(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (a, b), (a_has, b_has) = level.opened(inputs)
    if a_has and b_has:
        return level.closed(xp.bmm(a, b))
    if a_has:
        return level.closed(xp.matmul_folded(a, b))
    # The rows of all transposed products below each other.
    return level.closed(transposed(xp, xp.matmul_folded(transposed(xp, b), xp.t(a))))


def mv(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (a, b), (a_has, b_has) = level.opened(inputs)
    if a_has and b_has:
        return level.closed(xp.squeeze(xp.bmm(a, column(b)), axis=2))
    return level.closed(xp.matmul_vector(a, b) if a_has else xp.mm(b, xp.t(a)))


def vm(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (a, b), (a_has, b_has) = level.opened(inputs)
    if a_has and b_has:
        return level.closed(xp.squeeze(xp.bmm(xp.unsqueeze(a, axis=1), b), axis=1))
    return level.closed(xp.mm(a, b) if a_has else xp.matmul_vector(transposed(xp, b), a))


def dot(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (a, b), (a_has, b_has) = level.opened(inputs)
    if a_has and b_has:
        return level.closed(xp.sum(xp.mul(a, b), axis=(1,)))
    return level.closed(xp.mv(a, b) if a_has else xp.mv(b, a))


def matmul(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Both have two axes or more, and the leading ones broadcast: so does the batch."""
    a, b = aligned(level, inputs)
    return level.closed(xp.matmul(a, b))


def matmul_folded(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (a, b), (_, b_has) = level.opened(inputs)
    if b_has:
        return matmul(level, row, inputs, statics)
    return level.closed(xp.matmul_folded(a, b))


def matmul_vector(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (a, b), (a_has, b_has) = level.opened(inputs)
    if not b_has:
        return level.closed(xp.matmul_vector(a, b))
    if not a_has:
        products = xp.mm(flat(xp, a), xp.t(b))
        shape = a._array.shape[:-1]
        return level.closed(xp.reshape(xp.t(products), shape=(level.size, *shape)))
    rows = xp.reshape(a, shape=(level.size, math.prod(a._array.shape[1:-1]), a._array.shape[-1])) if a._array.ndim != 3 else a
    products = xp.squeeze(xp.bmm(rows, column(b)), axis=2)
    return level.closed(xp.reshape(products, shape=a._array.shape[:-1]))


def linear(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """With a weight for each element of the batch one product for each, else one for all."""
    if inputs[0]._array.ndim == 1:
        return level.inside(lambda x, *others: xp.squeeze(xp.linear(xp.unsqueeze(x, axis=0), *others), axis=0), *inputs)
    (x, weight, bias), (x_has, weight_has, bias_has) = level.opened(inputs)
    if not weight_has:
        if not x_has:
            x = spread(x, level.size)
        if not bias_has:
            return level.closed(xp.linear_folded(x, weight, bias) if x._array.ndim > 2 else xp.linear(x, weight, bias))
        out = xp.linear_folded(x, weight, None)
    elif not x_has:
        weights = xp.reshape(weight, shape=(-1, weight._array.shape[-1]))
        out = xp.linear_folded(x, weights, None) if x._array.ndim > 2 else xp.linear(x, weights, None)
        split = xp.reshape(out, shape=(*x._array.shape[:-1], level.size, weight._array.shape[1]))
        axes = (last(split) - 1, *range(last(split) - 1), last(split))
        out = xp.permute(split, axes=axes)
    else:
        rows = tuple(range(2, x._array.ndim))
        out = xp.contract(x, weight, a_labels=(0, *rows, -1), b_labels=(0, 1, -1), out_labels=(0, *rows, 1))
    if bias is None:
        return level.closed(out)
    if bias_has:
        bias = xp.reshape(bias, shape=(level.size, *(1,) * (last(out) - 1), bias._array.shape[-1]))
    return level.closed(out + bias)


linear_folded = linear


def contract(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """The batch is one more label."""
    (a, b), (a_has, b_has) = level.opened(inputs)
    label = max([0, *statics["a_labels"], *statics["b_labels"], *statics["out_labels"]]) + 1
    return level.closed(apply(
        row, a, b, a_labels=(label,) * a_has + tuple(statics["a_labels"]),
        b_labels=(label,) * b_has + tuple(statics["b_labels"]), out_labels=(label, *statics["out_labels"])))


def trilinear(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    opened, has_batch = level.opened(inputs)
    terms, result = statics["spec"].split("->")
    letter = next(c for c in string.ascii_letters if c not in statics["spec"])
    batched = [letter * has + term for term, has in zip(terms.split(","), has_batch, strict=True)]
    return level.closed(apply(row, *opened, spec=f"{','.join(batched)}->{letter}{result}"))


def bmm(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    return level.closed(xp.matmul(*wholes_of(level, inputs)))


@by
def outer(xp: Any, a: Any, b: Any) -> Any:
    return xp.mul(xp.reshape(a, shape=(*a.shape, 1)), b)
