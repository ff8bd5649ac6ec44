"""Reductions and scans on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.half_precision import in_float32
from whygrad.backends.running import accumulate
from whygrad.base.index_width import gives_indices

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
SMALLEST_VARIANCE = 1e-30  # below it, squares of float32 numbers may be too small for that type

# Called positionally, as (x, axis, dtype, out, keepdims): for small arrays keywords cost as much as the sum.
add_reduce: Any = np.add.reduce
multiply_reduce: Any = np.multiply.reduce
maximum_reduce: Any = np.maximum.reduce
minimum_reduce: Any = np.minimum.reduce
and_reduce: Any = np.logical_and.reduce
or_reduce: Any = np.logical_or.reduce


def is_half(dtype: Any) -> bool:
    """Whether the dtype is float16 or the bfloat16 of ml_dtypes, whose kind is V."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def count(x: Any, axis: Any) -> int:
    return x.size if axis is None else math.prod([x.shape[i] for i in axis])


def sum(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    dtype = x.dtype
    if dtype is FLOAT32 or dtype is FLOAT64:
        return add_reduce(x, axis, None, None, keepdims)
    if is_half(dtype):
        return add_reduce(x, axis, np.float32, None, keepdims).astype(dtype)
    if dtype.kind == "b" and axis is None and not keepdims:
        return np.int64(np.count_nonzero(x))
    return add_reduce(x, axis, np.int64 if dtype.kind == "b" else dtype, None, keepdims)


def sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    extra = x.ndim - len(shape)
    axis = (*range(extra), *[extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1])
    return sum(x, axis=axis, keepdims=True).reshape(shape) if axis else x


def mean(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    n = count(x, axis)
    if is_half(x.dtype):
        return (add_reduce(x, axis, np.float32, None, keepdims) / np.float32(n)).astype(x.dtype)
    total = add_reduce(x, axis, None, None, keepdims)
    return total / n if n else total * math.nan


sum_all, mean_all = sum, mean


def _variance(x: Any, axis: Any, keepdims: bool, correction: float) -> Any:
    """In the dtype of `x`, but in double precision if squares leave the range of single precision."""
    distance = None
    if axis is not None and x.size:
        # Relative to the first element: as with torch's running mean, the variance of equal numbers is then exactly 0.
        distance = x - x[tuple([slice(1) if i in axis else slice(None) for i in range(x.ndim)])]
        distance -= mean(distance, axis=axis, keepdims=True)
    if distance is None or not np.isfinite(distance).all():  # the difference may overflow
        distance = x - mean(x, axis=axis, keepdims=True)
    if x.dtype.kind == "c":
        distance = np.abs(distance)
    distance *= distance
    total = add_reduce(distance, axis, None, None, keepdims)
    freedom = count(x, axis) - correction
    result = total / freedom if freedom > 0 else total * math.inf
    if x.dtype.char in "fF" and x.size and not ((result > SMALLEST_VARIANCE) & (result < math.inf)).all():
        return _variance(x.astype(np.float64 if x.dtype is FLOAT32 else np.complex128), axis, keepdims, correction)
    return result


@in_float32
@quiet
def var(x: Any, *, axis: Any, keepdims: bool, correction: float) -> Any:
    return _variance(x, axis, keepdims, correction).astype(f"f{x.real.itemsize}", copy=False)


var_complex = var


@quiet
def std(x: Any, *, axis: Any, keepdims: bool, correction: float) -> Any:
    return np.sqrt(_variance(x, axis, keepdims, correction)).astype(f"f{x.real.itemsize}", copy=False)


def amax(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return maximum_reduce(x, axis, None, None, keepdims)


def amin(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return minimum_reduce(x, axis, None, None, keepdims)


max, min = amax, amin


def max_along(x: Any, *, axis: int, keepdims: bool) -> Any:
    return amax(x, axis=axis if x.ndim else None, keepdims=keepdims), argmax(x, axis=axis, keepdims=keepdims)


def min_along(x: Any, *, axis: int, keepdims: bool) -> Any:
    return amin(x, axis=axis if x.ndim else None, keepdims=keepdims), argmin(x, axis=axis, keepdims=keepdims)


@gives_indices()
def argmax(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    """The first maximum, or the first NaN if there is one."""
    return x.argmax(axis if x.ndim else None, keepdims=keepdims)


@gives_indices()
def argmin(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    return x.argmin(axis if x.ndim else None, keepdims=keepdims)


def _median_along(skip_nan: bool) -> Callable[..., Any]:
    """The median (the lower one of two middle elements) and its index; a NaN if there is one, unless NaNs are skipped."""

    @gives_indices(1)
    def along(x: Any, *, axis: int, keepdims: bool) -> Any:
        if not x.ndim:
            return x.copy(), np.zeros((), np.int64)
        missing = add_reduce(x != x, axis=axis, keepdims=True)
        if not missing.any() and x.size:
            # np.sort is much faster than np.argsort.
            middle = (x.shape[axis] - 1) // 2
            values = np.sort(x, axis).take([middle], axis)
            if (add_reduce(x < values, axis=axis) == middle).all():  # else the index depends on the order of equal elements
                index = (x == values).argmax(axis, keepdims=True)
                return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))
        order = np.argsort(x, axis, "stable")  # NaNs come last
        numbers = x.shape[axis] - missing
        middle = np.maximum(numbers - 1, 0) // 2
        if not skip_nan:
            middle = np.where(missing == 0, middle, numbers)
        index = np.take_along_axis(order, middle, axis)
        values = np.take_along_axis(x, index, axis)
        return (values, index) if keepdims else (values.squeeze(axis), index.squeeze(axis))

    return along


def _of_all(along: Callable[..., Any]) -> Callable[..., Any]:
    def of_all(x: Any, *, axis: None = None, keepdims: bool = False) -> Any:
        return along(x.reshape(-1), axis=0, keepdims=False)[0] if x.size else np.full((), math.nan, x.dtype)

    return of_all


median_along, nanmedian_along = _median_along(skip_nan=False), _median_along(skip_nan=True)
median, nanmedian = _of_all(median_along), _of_all(nanmedian_along)


@quiet
def shares(x: Any, extreme: Any, *, axis: Any, find_nan: bool) -> Any:
    found = x == extreme
    if find_nan:
        found |= (x != x) & (extreme != extreme)
    weights = found.astype(x.dtype)
    ties = add_reduce(weights, axis=axis, keepdims=True)
    return weights if np.all(ties == 1) else weights / ties


def place(x: Any, index: Any, *, axis: int, shape: Any) -> Any:
    result = np.zeros(shape, x.dtype)
    lanes, subscript = _lanes(result, index, axis)
    lanes[subscript] = x.reshape(index.shape if not shape else lanes.shape[::2])
    return result


def pick(x: Any, index: Any, *, axis: int) -> Any:
    lanes, subscript = _lanes(x, index, axis)
    return lanes[subscript].reshape(index.shape)


def _lanes(x: Any, index: Any, axis: int) -> Any:
    """`x` reshaped to (before, axis, after), and the subscript that selects element `index` of each lane."""
    if not x.ndim:
        return x, ...
    before, after = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1:])
    lanes = x.reshape(before, x.shape[axis], after)
    return lanes, (np.arange(before)[:, None], index.reshape(before, after), np.arange(after))


def all(x: Any, *, axis: Any, keepdims: bool) -> Any:
    result = and_reduce(x, axis, np.bool_, None, keepdims)
    return result.astype(np.uint8) if x.dtype == np.uint8 else result


def any(x: Any, *, axis: Any, keepdims: bool) -> Any:
    result = or_reduce(x, axis, np.bool_, None, keepdims)
    return result.astype(np.uint8) if x.dtype == np.uint8 else result


def count_nonzero(x: Any, *, axis: Any, keepdims: bool) -> Any:
    return np.asarray(np.count_nonzero(x, axis=axis if x.ndim else None, keepdims=keepdims), np.int64)


@in_float32
@quiet
def logsumexp(x: Any, *, axis: Any, keepdims: bool) -> Any:
    if not count(x, axis):
        return np.log(add_reduce(x, axis=axis, keepdims=keepdims))
    highest = maximum_reduce(x.real, axis=axis, keepdims=True)
    highest = np.where(np.isinf(highest), 0, highest).astype(x.real.dtype)
    total = np.log(add_reduce(np.exp(x - highest), axis=axis, keepdims=keepdims))
    return total + (highest if keepdims else highest.reshape(np.shape(total)))


@in_float32
@quiet
def vector_norm(x: Any, *, ord: float, axis: Any = None, keepdims: bool = False) -> Any:
    if ord == 2:
        return np.sqrt(add_reduce(x * x, axis, None, None, keepdims))
    if ord == 0:
        return add_reduce((x != 0).astype(x.dtype), axis, None, None, keepdims)
    size = np.abs(x)
    if ord == math.inf:
        return amax(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return amin(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return add_reduce(size, axis, None, None, keepdims)
    return add_reduce(size ** ord, axis, None, None, keepdims) ** (1 / ord)


@quiet
@in_float32
def cumsum(x: Any, *, axis: int, reverse: bool = False) -> Any:
    if not x.ndim:
        return x.copy()
    return accumulate(np.add, x, axis, reverse)


@in_float32
@quiet
def cumprod(x: Any, *, axis: int) -> Any:
    return np.multiply.accumulate(x, axis, x.dtype) if x.ndim else x.copy()


@in_float32
@quiet
def prod(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    return multiply_reduce(x, axis, x.dtype, None, keepdims)


@quiet
def product_before(x: Any, *, axis: int, reverse: bool = False) -> Any:
    result = np.ones_like(x)
    if not x.ndim or not x.shape[axis]:
        return result
    factors, products = _shifted(x, axis, not reverse), _shifted(result, axis, reverse)
    if reverse:
        factors, products = np.flip(factors, axis), np.flip(products, axis)
    np.multiply.accumulate(factors, axis, None, products)
    return result


@quiet
def product_of_others(x: Any, *, axis: int) -> Any:
    if not x.all():
        return product_before(x, axis=axis) * product_before(x, axis=axis, reverse=True)
    return multiply_reduce(x, axis=axis, keepdims=True) / x


@quiet
def scan(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    """Scan by doubling: after the round of `step`, each element holds the recurrence over the last 2 * step elements."""
    result = np.zeros_like(b)
    if not b.ndim or not b.shape[axis]:
        return result
    factor, total = [np.moveaxis(_shifted(v, axis, not reverse), axis, 0).copy() for v in (a, b)]
    if reverse:
        factor, total = factor[::-1], total[::-1]
    step = 1
    while step < len(total):
        total[step:] += factor[step:] * total[:-step]
        factor[step:] *= factor[:-step]
        step *= 2
    np.moveaxis(_shifted(result, axis, reverse), axis, 0)[...] = total[::-1] if reverse else total
    return result


def _shifted(x: Any, axis: int, without_last: bool) -> Any:
    """All but the last element along an axis, or all but the first."""
    return x[(slice(None),) * axis + (slice(None, -1) if without_last else slice(1, None),)]
