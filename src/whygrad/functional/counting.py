"""Counting and searching: unique values, histograms, places in sorted sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import numpy_counting
from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.base.index_width import intp
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, cut, wrap
from whygrad.functional import arguments, return_types
from whygrad.functional.outs import with_outs
from whygrad.functional.promotion import result_dtype
from whygrad.functional.run import made_under_transforms, public, with_out
from whygrad.functional.shape import dim_of
from whygrad.functional.wrong_arguments import checks_flags
from whygrad.ops.table import TABLE


def _check_selected(x: Tensor, axis: int, function: str) -> None:
    """Slices without elements cannot be told apart."""
    shape = x._array.shape
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if 0 in shape[:axis] + shape[axis + 1:]:
        raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so {function} cannot be applied")


def _asked_for(results: Any, inverse: bool, counts: bool) -> Any:
    chosen = tuple([r for r, wanted in zip(results, (True, inverse, counts), strict=True) if wanted])
    return chosen if len(chosen) > 1 else chosen[0]


@public()
@checks_flags
def unique(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The different elements in order; with `dim`, the different slices."""
    x = arguments.read_tensor("unique", input)
    if dim is None:
        arguments.check_kinds("unique", x, "biufV")
        return _asked_for(apply(TABLE["unique"], x), return_inverse, return_counts)
    axis = dim_of("unique", x, dim)
    arguments.check_kinds("unique_dim", x, "biufV")
    _check_selected(x, axis, "unique")
    return _asked_for(apply(TABLE["unique_dim"], x, axis=axis), return_inverse, return_counts)


@public()
@checks_flags
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """The elements without those that equal their predecessor; with `dim`, the slices."""
    x = arguments.read_tensor("unique_consecutive", input)
    arguments.check_kinds("unique", x, "biufV")
    axis = None if dim is None else dim_of("unique_consecutive", x, dim)
    if axis is not None:
        _check_selected(x, axis, "unique")
    return _asked_for(apply(TABLE["unique_consecutive"], x, axis=axis), return_inverse, return_counts)


@public()
@made_under_transforms("looped")
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number occurs, or the sum of its weights."""
    x = arguments.read_tensor("bincount", input)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    array = x._array
    if array.dtype.kind not in "iu":
        raise arguments.not_implemented("bincount_cpu", x.dtype)
    if array.ndim == 1 and not array.size:
        return wrap(np.zeros(minlength, np.int64))
    if array.ndim != 1 or (array.dtype.kind == "i" and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    return apply(TABLE["bincount"], x, weights, length=minlength)  # type: ignore[no-any-return]


@public()
@made_under_transforms("looped")
def histc(input: Any, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Any = None) -> Tensor:
    """Counts in bins of one width between `min` and `max`; between the extremes of the data if both are equal."""
    x = arguments.read_tensor("histc", input)
    bins = arguments.read_int("histc", "bins", 2, bins)
    min, max = arguments.read_number("histc", "min", 3, min), arguments.read_number("histc", "max", 4, max)
    dtype = x._array.dtype
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if dtype.kind in "bc":
        raise NotImplementedError(f"\"{'linspace_cpu' if dtype.kind == 'b' else 'histogram_cpu'}\" not implemented for "
                                  f"'{x.dtype.scalar_name}'")
    for value in (min, max):
        arguments.check_range(value, x.dtype)
        if dtype.kind == "u" and value < 0:
            raise RuntimeError(f"value cannot be converted to type {c_name(x.dtype)} without overflow")
    low, high = (float(dtype.type(value)) for value in (min, max))
    if low == high and x._array.size:
        low, high = float(x._array.min()), float(x._array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    if dtype.kind != "f" and dtype.kind != "V":
        raise arguments.not_implemented("histogram_cpu", x.dtype)
    places = np.floor((x._array.reshape(-1).astype(np.float64) - low) * (bins / (high - low)))
    inside = (x._array.reshape(-1) >= low) & (x._array.reshape(-1) <= high)
    places = np.minimum(places[inside].astype(np.int64), bins - 1)
    result = wrap(np.bincount(intp(places), minlength=bins).astype(dtype))
    result._cause = cut(input, "non-differentiable-op", "counts do not change by small steps")
    return with_out("histc", result, out, input)


def _edges(x: Tensor, bins: list[Any], range: Any) -> tuple[Any, ...]:
    """The edges of the bins of each column of `x`."""
    columns = len(bins)
    if range is not None and len(range) != 2 * columns:
        raise RuntimeError(f"torch.histogramdd: for a {columns}-dimensional histogram range should have {2 * columns} "
                           f"elements, but got {len(range)}")
    points, edges = x._array.reshape(-1, columns), []
    for d, n in enumerate(bins):
        if isinstance(n, Tensor):
            _check_edges(x, n, d)
            edges.append(n._array)
            continue
        if n <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {n} for dimension {d}")
        if range is not None:
            low, high = range[2 * d:2 * d + 2]
        else:
            low, high = (float(points[:, d].min()), float(points[:, d].max())) if len(points) else (0.0, 1.0)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
                               f"dimension {d}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(numpy_counting.equal_bins(low, high, n, x._array.dtype))
    return tuple(edges)


def _check_edges(x: Tensor, edges: Tensor, d: int) -> None:
    if edges._array.dtype != x._array.dtype:
        raise RuntimeError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input "
                           f"with dtype {c_name(x.dtype)} and bins for dimension {d} with dtype {c_name(edges.dtype)}")
    if edges._array.ndim != 1:
        raise RuntimeError(f"torch.histogramdd: bins tensor should have one dimension, but got {edges._array.ndim} "
                           f"dimensions in the bins tensor for dimension {d}")
    if not edges._array.size:
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the "
                           f"bins tensor for dimension {d}")


def _histogram(x: Tensor, columns: int, bins: list[Any], range: Any, weight: Any, density: bool) -> Any:
    if x._array.dtype.name not in ("float32", "float64"):
        raise arguments.not_implemented("histogramdd", x.dtype)
    points = (*x._array.shape[:-1], columns) if columns > 1 else (x._array.size, 1)
    if weight is not None:
        if weight._array.shape != points[:-1] and weight._array.shape != x._array.shape:
            raise RuntimeError("torch.histogramdd: if weight tensor is provided it should have the same shape as the "
                               f"input tensor excluding its innermost dimension, but got input with shape {list(points)} "
                               f"and weight with shape {list(weight._array.shape)}")
        if weight._array.dtype != x._array.dtype:
            raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should "
                               f"have the same dtype, but got input(dtype={c_name(x.dtype)}), and weight(dtype="
                               f"{c_name(weight.dtype)})")
    return apply(TABLE["histogram"], x, weight, limits=_edges(x, bins, range), density=density)


@public()
@made_under_transforms("looped")
def histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False,
              out: Any = None) -> Any:
    """Counts (or sums of weights) in bins: a number of them of one width, or their edges."""
    x = arguments.read_tensor("histogram", input)
    if not isinstance(bins, Tensor) and not arguments.is_integer(bins):
        raise arguments.invalid_combination("histogram", input, bins)
    results = _histogram(x, 1, [bins], range, weight, density)
    return with_outs("histogram", return_types.histogram(*results), out, input)


@public(method=False)
@made_under_transforms("looped")
def histogramdd(input: Any, bins: Any, *, range: Any = None, density: bool = False, weight: Any = None) -> Any:
    """A histogram in several dims: the last dim of `input` holds the coordinates of a point."""
    x = arguments.read_tensor("histogramdd", input)
    if x._array.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    columns = x._array.shape[-1]
    bins = [bins] * columns if arguments.is_integer(bins) else list(bins)
    if len(bins) != columns:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    counts, *edges = _histogram(x, columns, bins, range, weight, density)
    # Given edges are returned as they are, not as results of this operation.
    edges = [given if isinstance(given, Tensor) else made for given, made in zip(bins, edges, strict=True)]
    return return_types.histogramdd(counts, tuple(edges))


def _search(name: str, sequence: Any, values: Any, out_int32: bool, right: bool, out: Any) -> Tensor:
    x = values if isinstance(values, Tensor) else wrap(np.asarray(values, dtypes.result_dtype([values]).numpy))
    for t in (sequence, x):
        arguments.check_kinds("searchsorted_out_cpu", t, "iufV")
    dtype = result_dtype(sequence, x if isinstance(values, Tensor) else values).numpy
    found = numpy_counting.searchsorted(sequence._array.astype(dtype), x._array.astype(dtype), right=right)
    result = wrap(np.asarray(found, np.int32 if out_int32 else np.int64))
    result._cause = cut(x, "non-differentiable-op", "positions are integers")
    if isinstance(out, Tensor) and out.dtype is not result.dtype:
        wanted = "Int" if out_int32 else "Long"
        raise RuntimeError(f"torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
                           f"Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
                           f"{out.dtype.scalar_name} and out_int32 flag is {wanted == 'Int'}")
    return with_out(name, result, out)


@public(method=False)
@made_under_transforms("looped")
def searchsorted(sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, out: Any = None, sorter: Any = None) -> Tensor:
    """Where each element would be put in so that the sequence stays sorted: before its equals, or after (`right`)."""
    if not isinstance(sorted_sequence, Tensor) or not isinstance(input, (Tensor, int, float)):
        raise arguments.invalid_combination("searchsorted", sorted_sequence, input)
    own = sorted_sequence._array.shape
    given = input._array.shape if isinstance(input, Tensor) else ()
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while "
                           "right was True")
    if not own:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if not given and len(own) != 1:
        raise RuntimeError("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is "
                           f"1, but we got boundaries tensor dim({len(own)}) and input value's dim(0) numel(1)")
    if len(own) != 1 and own[:-1] != given[:-1]:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                           "boundaries tensor and input value tensor must match, but we got boundaries tensor "
                           f"{list(own)} and input value tensor {list(given)}")
    if sorter is not None:
        _check_sorter(sorter, own)
        sorted_sequence = wrap(np.take_along_axis(sorted_sequence._array, sorter._array, -1))
    return _search("searchsorted", sorted_sequence, input, out_int32, right or side == "right", out)


def _check_sorter(sorter: Tensor, shape: tuple[int, ...]) -> None:
    array = sorter._array
    if array.shape != shape:
        raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                           f"{list(shape)}and got sorter tensor {list(array.shape)}")
    if array.dtype != np.int64:
        raise RuntimeError("torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
                           f"{sorter.dtype.scalar_name}")
    if array.size and not (array.min() >= 0 and array.max() < shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


@public(method=False)
@made_under_transforms("looped")
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None) -> Tensor:
    """The bucket of each element: how many boundaries lie below it (or, if `right`, not above it)."""
    if not isinstance(boundaries, Tensor) or not isinstance(input, (Tensor, int, float)):
        raise arguments.invalid_combination("bucketize", input, boundaries)
    if boundaries._array.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})")
    return _search("bucketize", boundaries, input, out_int32, right, out)
