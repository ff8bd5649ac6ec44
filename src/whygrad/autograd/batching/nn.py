"""Batching of losses, embeddings, normalisations and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.autograd.batched import BatchedTensor, BatchLevel, spread
from whygrad.autograd.batching.conv import merged, split
from whygrad.autograd.batching.families import broadcast_shifted, by, defined, moved, wholes_of, with_axes
from whygrad.backends import tensor as xp
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.ops.table import Row


def folded(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Of rows whose first axis counts samples: all samples of the batch, one after the other."""
    wholes = [merged(x, 0) if isinstance(x, Tensor) else x for x in wholes_of(level, inputs)]
    if "shape" in statics:
        first, *rest = statics["shape"]
        statics = {**statics, "shape": (first * level.size, *rest)}
    return level.closed(split(apply(row, *wholes, **statics), 0, level.size))


def layer_norm(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (x, weight, bias), (x_has, weight_has, bias_has) = level.opened(inputs)
    if not x_has or weight_has or bias_has:
        return defined(level, row, inputs, statics)
    return level.closed(apply(row, x, weight, bias, axis=moved(statics["axis"], 0), eps=statics["eps"]))


def _weights_of(xp: Any, x: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """What each sample counts, and the classes with a harmless one where the sample is ignored."""
    counted = target != ignore_index
    safe = xp.where(counted, target, 0)
    one = wrap(np.ones((), x._array.dtype))
    share = one if weight is None else xp.reshape(xp.index_select(weight, xp.reshape(safe, shape=(-1,)), axis=0),
                                                  shape=tuple(safe.shape))
    return xp.where(counted, share, wrap(np.zeros((), x._array.dtype))), safe


def _nll_loss(xp: Any, x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str, spatial: bool) -> Any:
    axis = 0 if x._array.ndim == 1 else 1
    share, safe = _weights_of(xp, x, target, weight, ignore_index)
    picked = xp.squeeze(xp.gather(x, xp.unsqueeze(safe, axis=axis), axis=axis), axis=axis)
    # Where a sample does not count, not even an infinite number does.
    loss = xp.where(target != ignore_index, -picked * share, 0.0)
    if reduction == "none":
        return loss
    total = xp.sum(loss, axis=None, keepdims=False)
    return total if reduction == "sum" else total / xp.sum(xp.expand(share, shape=tuple(loss.shape)), axis=None, keepdims=False)


@by
def nll_loss_backward(xp: Any, x: Any, target: Any, weight: Any, *, shape: tuple[int, ...], ignore_index: int, reduction: str,
                       spatial: bool) -> Any:
    axis = 0 if len(shape) == 1 else 1
    share, safe = _weights_of(xp, x, target, weight, ignore_index)
    share = xp.expand(share, shape=tuple(target.shape))
    if reduction == "mean":
        share = share / xp.sum(share, axis=None, keepdims=False)
    g = xp.where(target != ignore_index, -x * share, 0.0)
    return xp.gather_backward(xp.unsqueeze(g, axis=axis), xp.unsqueeze(safe, axis=axis), shape=shape, axis=axis)


def nll_loss(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """The losses of all samples at once, then what they count for each element of the batch."""
    (x, target, weight), (x_has, target_has, weight_has) = level.opened(inputs)
    if weight_has or not level.size or isinstance(target, BatchedTensor) or isinstance(weight, BatchedTensor):
        return by(_nll_loss)(level, row, inputs, statics)
    x = x if x_has else spread(x, level.size)
    target = target if target_has else spread(target, level.size)
    is_one = x._array.ndim == 2
    losses = apply(row, x if is_one else merged(x, 0), target if is_one else merged(target, 0), weight,
                   **{**statics, "reduction": "none"})
    losses = losses if is_one else split(losses, 0, level.size)
    if statics["reduction"] == "none":
        return level.closed(losses)
    axes = tuple(range(1, losses._array.ndim))
    total = xp.sum(losses, axis=axes, keepdims=False) if axes else losses
    if statics["reduction"] == "sum":
        return level.closed(total)
    classes = target._array
    share = np.where(classes != statics["ignore_index"], 1 if weight is None else weight._array.take(classes, mode="clip"), 0)
    dtype = total._array.dtype
    return level.closed(xp.div(total, wrap(share.sum(axis=axes, dtype=dtype) if axes else share.astype(dtype))))


def _places(level: BatchLevel, index: Tensor, has: bool, rows: int) -> Tensor:
    """Rows of all tables below each other."""
    index = index if has else spread(index, level.size)
    first = np.arange(level.size).reshape(level.size, *(1,) * (index._array.ndim - 1)) * rows
    return xp.add(index, wrap(first))  # type: ignore[no-any-return]


def embedding(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (table, index), (table_has, index_has) = level.opened(inputs)
    if not table_has and statics["by_frequency"]:
        table = spread(table, level.size)
    elif not table_has:
        return level.closed(xp.embedding(table, index, **statics))
    rows = table._array.shape[1]
    found = xp.embedding(merged(table, 0), _places(level, index, index_has, rows), padding_idx=-1,
                         by_frequency=statics["by_frequency"])
    if statics["padding_idx"] < 0:
        return level.closed(found)
    # The padding row gets no gradient.
    is_real = xp.ne(index if index_has else spread(index, level.size), statics["padding_idx"])
    return level.closed(xp.where(xp.unsqueeze(is_real, axis=is_real._array.ndim), found, found.detach()))


def embedding_backward(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (g, index), (g_has, index_has) = level.opened(inputs)
    g = g if g_has else spread(g, level.size)
    is_real = xp.ne(index if index_has else spread(index, level.size), statics["padding_idx"])
    g = xp.where(xp.unsqueeze(is_real, axis=is_real._array.ndim), g, 0.0)
    found = xp.embedding_backward(g, _places(level, index, index_has, statics["rows"]), rows=level.size * statics["rows"],
                                  padding_idx=-1, by_frequency=statics["by_frequency"])
    return level.closed(split(found, 0, level.size))


def batch_norm(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    return defined(level, row, inputs, {**statics, "known": None})


def with_values(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Random numbers come drawn: for one element, or for the whole batch."""
    ndim = max([x._array.ndim for x in inputs if isinstance(x, Tensor)])
    wholes = [x if not isinstance(x, Tensor) else with_axes(x, ndim) for x in wholes_of(level, inputs)]
    values = statics["values"]
    shape = (level.size, *np.broadcast_shapes(*[x._array.shape for x in inputs if isinstance(x, Tensor)]))
    if np.shape(values) != shape:
        values = np.broadcast_to(values, shape).copy()
    return level.closed(apply(row, *wholes, **{**statics, "values": values}))


def isin(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    (x, tests), (_, tests_has) = level.opened(inputs)
    if not tests_has:
        return level.closed(xp.isin(x, tests, **statics))
    return by(_isin)(level, row, inputs, statics)


def _isin(xp: Any, x: Any, tests: Any, *, invert: bool) -> Any:
    equal = xp.eq(xp.reshape(x, shape=(*x.shape, 1)), xp.reshape(tests, shape=(-1,)))
    found = xp.any(equal, axis=(len(x.shape),), keepdims=False)
    return xp.logical_not(found) if invert else found


@by
def filled(xp: Any, x: Any, value: Any) -> Any:
    return xp.expand(value, shape=tuple(x.shape)) if isinstance(value, Tensor) else xp.add(xp.zeros_like(x), value)


@by
def block_diag(xp: Any, *xs: Any) -> Any:
    blocks = [x if x._array.ndim == 2 else xp.reshape(x, shape=(1, -1)) for x in xs]
    height, width = (sum([x._array.shape[axis] for x in blocks]) for axis in (0, 1))
    total, top, left = None, 0, 0
    for x in blocks:
        below, right = top + x._array.shape[0], left + x._array.shape[1]
        padded = xp.constant_pad(x, pads=((top, height - below), (left, width - right)), value=0)
        total, top, left = padded if total is None else total + padded, below, right
    return total


def _solve(xp: Any, a: Any, b: Any, *, left: bool, vector: bool) -> Any:
    if not vector:
        return xp.solve_ex(a, b, left=left, vector=False)
    result, info = xp.solve_ex(a, xp.unsqueeze(b, axis=b._array.ndim), left=True, vector=False)
    return xp.squeeze(result, axis=b._array.ndim), info


def solve_ex(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    return (by(_solve) if statics["vector"] else broadcast_shifted)(level, row, inputs, statics)


def qr(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Without Q there is a vector of length 0 in its place, for any number of matrices."""
    q, r = apply(row, inputs[0]._whole, **statics)
    return level.closed([spread(q, level.size) if statics["mode"] == "r" else q, r])


def lstsq(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """What a driver does not give is a vector of length 0, for any number of matrices."""
    found = apply(row, *wholes_of(level, inputs), **statics)
    return level.closed([t if t._array.shape[0] == level.size else spread(t, level.size) for t in found])


def _upper(n: int) -> Tensor:
    rows, columns = np.triu_indices(n, 1)
    return wrap(rows * n + columns)


@by
def upper_triangle(xp: Any, x: Any) -> Any:
    n = x.shape[0]
    return xp.index_select(xp.reshape(x, shape=(n * n,)), _upper(n), axis=0)


@by
def one_triangle(xp: Any, x: Any, *, n: int) -> Any:
    return xp.reshape(xp.index_select_backward(x, _upper(n), shape=(n * n,), axis=0), shape=(n, n))


@by
def sum_all(xp: Any, x: Any) -> Any:
    return xp.sum(x, axis=None, keepdims=False)


@by
def mean_all(xp: Any, x: Any) -> Any:
    return xp.mean(x, axis=None, keepdims=False)
