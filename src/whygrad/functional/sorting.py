"""Putting in order, and picking out by order: sort, topk, kthvalue, mode, quantile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional import return_types
from whygrad.functional.arguments import check_kinds, invalid_combination, read_int, read_tensor
from whygrad.functional.indexing import check_disjoint
from whygrad.functional.outs import with_outs
from whygrad.functional.reduction import check_not_empty, check_ordered
from whygrad.functional.run import public, with_out
from whygrad.functional.shape import dim_of
from whygrad.functional.wrong_arguments import checks_flags
from whygrad.ops.table import TABLE


def _sort(name: str, input: Any, dim: Any, descending: bool, stable: bool | None) -> Any:
    x = read_tensor(name, input)
    if isinstance(dim, bool) or not isinstance(descending, bool):
        raise invalid_combination(name, input, dim, descending)
    axis = dim_of(name, x, dim)
    if x._array.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    return apply(TABLE["sort"], x, axis=axis, descending=descending, stable=stable)


@public()
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None, axis: Any = None,
         out: Any = None) -> Any:
    """The elements in order along a dim, and where they came from. NaN counts as the largest."""
    results = _sort("sort", input, dim if axis is None else axis, descending, stable)
    return with_outs("sort", return_types.sort(*results), out, input)


@public()
def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None, axis: Any = None,
            out: Any = None) -> Tensor:
    """The indices that put the elements in order along a dim."""
    if out is not None and stable is None:
        raise invalid_combination("argsort", input, dim, descending, out)
    indices: Tensor = _sort("argsort", input, dim if axis is None else axis, descending, stable)[1]
    return with_out("argsort", indices, out, input)  # type: ignore[no-any-return]


@public()
def msort(input: Any, *, out: Any = None) -> Tensor:
    """The elements in order along the first dim."""
    return with_out("msort", _sort("msort", input, 0, False, None)[0], out, input)


@public()
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, axis: Any = None,
         out: Any = None) -> Any:
    """The `k` largest (or smallest) elements along a dim, in order, and their indices."""
    x = read_tensor("topk", input)
    k = read_int("topk", "k", 2, k)
    axis = dim_of("topk", x, dim if axis is None else axis, position=3)
    if k < 0 or k > (x._array.shape[axis] if x._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if x._array.dtype.kind in "cb":
        kind = " topk does not support complex" if x._array.dtype.kind == "c" else "topk does not support bool"
        raise RuntimeError(f"{kind} dtypes on CPU")
    check_ordered(x, "topk_cpu")
    return with_outs("topk", return_types.topk(*apply(TABLE["topk"], x, k=k, axis=axis, largest=largest)), out, input)


@public()
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The k-th smallest element along a dim, counted from 1, and its index."""
    x = read_tensor("kthvalue", input)
    k = read_int("kthvalue", "k", 2, k)
    axis = dim_of("kthvalue", x, dim, position=3)
    check_not_empty("kthvalue():", x, (axis,))
    if not 1 <= k <= (x._array.shape[axis] if x._array.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    check_kinds("kthvalue_cpu", x, "iufVc")
    check_ordered(x, "kthvalue_cpu")
    results = apply(TABLE["kthvalue"], x, k=k, axis=axis, keepdims=keepdim)
    if isinstance(out, (tuple, list)):
        check_disjoint(out[0], (x,))
    return with_outs("kthvalue", return_types.kthvalue(*results), out, input)


@public()
@checks_flags
def mode(input: Any, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent value along a dim, the smallest of several, and the index of its last occurrence."""
    x = read_tensor("mode", input)
    axis = dim_of("mode", x, dim, position=2)
    check_not_empty("mode():", x, (axis,))
    check_ordered(x, "mode_cpu")
    return with_outs("mode", return_types.mode(*apply(TABLE["mode"], x, axis=axis, keepdims=keepdim)), out, input)


INTERPOLATIONS: dict[str, Callable[..., Any] | None] = {
    "linear": None, "lower": np.floor, "higher": np.ceil, "midpoint": None, "nearest": np.rint}


def _quantile(name: str, ignore_nan: bool) -> Callable[..., Tensor]:
    def quantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear",
                 out: Any = None) -> Tensor:
        x = read_tensor(name, input)
        q = _read_q(name, x, q)
        axis = None if dim is None else dim_of(name, x, dim, position=3)
        if interpolation not in INTERPOLATIONS:
            raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
                               f"got {interpolation}")
        lanes = _lanes(x, axis)
        if keepdim and x._array.ndim:
            shape = [1] * x._array.ndim if axis is None else list(x._array.shape)
            shape[axis or 0] = 1
            lanes = lanes.reshape((*shape, lanes._array.shape[-1]))
        return with_out(name, _quantiles_of_lanes(lanes, q, interpolation, ignore_nan), out, input)

    nan = ", NaNs left out." if ignore_nan else "; NaN if there is one."
    return public(name=name, doc="The values below which a fraction `q` of the elements lies" + nan, autocast="float32")(quantile)


def _read_q(name: str, x: Tensor, q: Any) -> Tensor:
    if isinstance(q, Tensor):
        if q._array.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    elif isinstance(q, (int, float)):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    else:
        raise invalid_combination(name, x, q)
    if not x._array.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if x._array.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not isinstance(q, Tensor):
        return wrap(np.asarray(q, x._array.dtype))
    if q._array.dtype != x._array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not np.all((q._numbers >= 0) & (q._numbers <= 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _lanes(x: Any, axis: int | None) -> Any:
    """What is to be reduced as the last dim, in order."""
    if axis is None:
        x = x.flatten()
    elif axis < x._array.ndim - 1:
        x = x.movedim(axis, -1)
    return sort(x).values


def _quantiles_of_lanes(ordered: Any, q: Tensor, interpolation: str, ignore_nan: bool) -> Any:
    """Quantiles over the last dim; a dim for `q`, if it has one, comes first."""
    if not ordered._array.ndim:
        ordered = ordered.unsqueeze(0)
    last = ordered._array.shape[-1] - 1
    missing = ordered._with_numbers(np.isnan(ordered._numbers))
    if ignore_nan:
        numbers = missing.logical_not().sum(-1, keepdim=True)
        ranks = q * (numbers - 1).to(ordered.dtype)  # type: ignore[operator]
        ranks = ranks.masked_fill(ranks < 0, 0)
    else:
        ranks = q * last  # type: ignore[operator]
        shape = np.broadcast_shapes(ranks._array.shape, (*ordered._array.shape[:-1], 1))
        # A rank at the end, where the NaN is.
        ranks = ranks.expand(shape).masked_fill(missing.any(-1, keepdim=True), last)
    rounding = INTERPOLATIONS[interpolation]
    below = (np.floor if rounding is None else rounding)(ranks._numbers)
    result = ordered.gather(-1, ranks._with_numbers(below.astype(np.int64)))
    if rounding is None:
        above = ordered.gather(-1, ranks._with_numbers(np.ceil(ranks._numbers).astype(np.int64)))
        weights = (ranks._with_numbers(np.full_like(below, 0.5)) if interpolation == "midpoint"
                   else ranks - ranks._with_numbers(below))
        result = result.lerp_(above, weights)
    if not q._array.ndim:
        return result.squeeze_(-1)
    return result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)


quantile = _quantile("quantile", ignore_nan=False)
nanquantile = _quantile("nanquantile", ignore_nan=True)
