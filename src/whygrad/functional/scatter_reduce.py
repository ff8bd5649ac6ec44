"""Combining values at positions (scatter_reduce, index_reduce, put), and parts written into a copy of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.numpy_scatter_reduce import UFUNCS
from whygrad.base.overlap import check_overlap
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.core.write import check_inplace
from whygrad.functional import gathering
from whygrad.functional.arguments import not_implemented, read_tensor, wrong_type
from whygrad.functional.determinism import alert_not_deterministic
from whygrad.functional.fresh import warn_once
from whygrad.functional.indexing import check_disjoint
from whygrad.functional.inplace import write
from whygrad.functional.memory import as_strided
from whygrad.functional.promotion import cast
from whygrad.functional.run import FUNCTIONS, public, rows
from whygrad.functional.shape import dim_of
from whygrad.functional.writes import with_out
from whygrad.functional.wrong_arguments import checks_flags
from whygrad.ops.table import TABLE

REDUCTIONS = tuple(UFUNCS)


def _scatter_reduce_arguments(self: Any, dim: Any, index: Any, src: Any, reduce: Any, include_self: Any) -> Any:
    read_tensor("scatter_reduce", src, "src", 4)
    if not isinstance(include_self, bool):
        raise wrong_type("scatter_reduce", "include_self", None, "bool", include_self)
    if not isinstance(reduce, str):
        raise wrong_type("scatter_reduce", "reduce", 5, "str", reduce)
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if src._array.dtype != self._array.dtype:
        dim_of("scatter_reduce", self, dim)
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    places, axis = gathering._element_index("scatter", self, dim, index, src)
    kind = self._array.dtype.kind
    if (kind == "b" and reduce == "mean") or (kind == "c" and reduce in ("amax", "amin")):
        raise NotImplementedError(f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for "
                                  f"'{self.dtype.scalar_name}'")
    return (places, src), {"axis": axis, "reduce": reduce, "include_self": include_self}


@public()
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True,
                   out: Any = None) -> Tensor:
    """The elements of `src` that fall on one place combined: "sum", "prod", "mean", "amax" or "amin"."""
    read_tensor("scatter_reduce", input)
    inputs, statics = _scatter_reduce_arguments(input, dim, index, src, reduce, include_self)
    return with_out("scatter_reduce", apply(TABLE["scatter_reduce"], input, *inputs, **statics), out, input, src)


@public(function=False)
def scatter_reduce_(self: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    check_inplace(self, (self, src))
    inputs, statics = _scatter_reduce_arguments(self, dim, index, src, reduce, include_self)
    check_overlap(self._array, ())
    check_disjoint(self, inputs)
    return write("scatter_reduce", self, self, *inputs, **statics)


def _refusing_kernel(x: np.ndarray, reduce: str) -> str | None:
    """The kernel of torch's index_reduce that does not take the dtype of `x`. Vectors have one of their own."""
    if x.dtype.kind not in "bc":
        return None
    if x.ndim < 2:
        return "index_func_"
    kernels = {"mean": "div_floor_cpu"} if x.dtype.kind == "b" else {"amax": "maximum_cpu", "amin": "minimum_cpu"}
    return kernels.get(reduce)


def _index_reduce_arguments(self: Any, dim: Any, index: Any, source: Any, reduce: Any, include_self: Any) -> Any:
    read_tensor("index_reduce", index, "index", 3)
    read_tensor("index_reduce", source, "source", 4)
    if not isinstance(reduce, str):
        raise wrong_type("index_reduce", "reduce", 5, "str", reduce)
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = dim_of("index_reduce", self, dim)
    places, given = index._array, source._array.shape
    if places.ndim > 1:
        raise IndexError(f"index_reduce_(): Index is supposed to be a vector, but got dim: {places.ndim} with type: "
                         f"{index.dtype.scalar_name} and size: {list(places.shape)}")
    if places.dtype not in gathering.INDEX_DTYPES:
        raise RuntimeError(f"index_reduce_(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_name}")
    if source._array.dtype != self._array.dtype:
        raise RuntimeError(f"index_reduce_(): self ({self.dtype.scalar_name}) and source ({source.dtype.scalar_name}) "
                           "must have the same scalar type")
    if axis >= max(len(given), 1):
        raise RuntimeError(f"index_reduce_(): Indexing dim {axis} is out of bounds of the source tensor with dim "
                           f"{len(given)}")
    length = given[axis] if given else 1
    if places.size != length:
        raise RuntimeError(f"index_reduce_(): Number of indices ({places.size}) should be equal to source.size(dim): "
                           f"({length}), for dim: {axis}")
    n = self._array.shape[axis] if self._array.ndim else 1
    gathering.check_bounds(index, n, lambda i: IndexError("index out of range in self"))
    if (kernel := _refusing_kernel(self._array, reduce)) is not None:
        raise not_implemented(kernel, self.dtype)
    warn_once("index_reduce() is in beta and the API may change at any time.")
    wide: Any = gathering.positions(index)
    wide = wide.reshape([-1 if a == axis else 1 for a in range(len(given))]).expand(given)
    statics = {"axis": axis, "reduce": reduce, "include_self": include_self, "node": "IndexReduceBackward0",
               "function": "index_reduce"}
    return (wide, source), statics


@public()
@checks_flags
def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True,
                 out: Any = None) -> Tensor:
    """The slices of `source` that fall on one slice combined: "prod", "mean", "amax" or "amin"."""
    read_tensor("index_reduce", input)
    inputs, statics = _index_reduce_arguments(input, dim, index, source, reduce, include_self)
    return with_out("index_reduce", apply(TABLE["scatter_reduce"], input, *inputs, **statics), out, input, source)


@public(function=False)
@checks_flags
def index_reduce_(self: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    check_inplace(self, (self, source))
    inputs, statics = _index_reduce_arguments(self, dim, index, source, reduce, include_self)
    check_disjoint(self, (index, source))
    return write("scatter_reduce", self, self, *inputs, **statics)


def _put_arguments(self: Any, index: Any, source: Any) -> tuple[Tensor, Tensor]:
    read_tensor("put", index, "index", 2)
    read_tensor("put", source, "source", 3)
    if index._array.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    if source._array.dtype != self._array.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{self.dtype.scalar_name} and source.dtype = {source.dtype.scalar_name}")
    if source._array.size != index._array.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                         f"{source._array.size}, index.numel() = {index._array.size}")
    n = self._array.size
    if not n and index._array.size:
        raise IndexError("put_(): self is an empty tensor but index is not")
    gathering.check_bounds(index, n, lambda i: IndexError(f"out of range: tried to access index {i} on a tensor of {n} "
                                                          "elements."), lowest=-n)
    return gathering.counted_from_front(index, n), source


@public()
@checks_flags
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """A copy with `source` written (or added) at places of the flattened tensor."""
    if not accumulate:
        alert_not_deterministic("put_")
    places, values = _put_arguments(read_tensor("put", input), index, source)
    return rows.put(input, places, values, accumulate=accumulate)


@public(function=False)
@checks_flags
def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    check_inplace(self, (self, source))
    if not accumulate:
        alert_not_deterministic("put_")
    places, values = _put_arguments(self, index, source)
    check_disjoint(self, (index, source), "put")
    return write("put", self, self, places, values, accumulate=accumulate)


def _embed(name: str, input: Any, src: Any, part: tuple[int, ...], **statics: Any) -> Tensor:
    read_tensor(name, src, "src", 2)
    if src._array.shape != part:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src._array.shape)}, slice size = {list(part)}")
    return apply(TABLE[name], input, cast(src, input._array.dtype), **statics)  # type: ignore[no-any-return]


@public()
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Tensor:
    """A copy with `src` at one position of a dim."""
    part = FUNCTIONS["select"](read_tensor("select_scatter", input).detach(), dim, index)  # type: ignore[attr-defined]
    axis = dim_of("select", input, dim)
    return _embed("select_scatter", input, src, part._array.shape, axis=axis, index=index % input._array.shape[axis])


@public()
def slice_scatter(input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1, *, out: Any = None) -> Tensor:
    """A copy with `src` in a slice of a dim."""
    axis = dim_of("slice_scatter", read_tensor("slice_scatter", input), dim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    shape = input._array.shape
    chosen = range(*slice(start, end, step).indices(shape[axis]))
    part = (*shape[:axis], len(chosen), *shape[axis + 1:])
    result = _embed("slice_scatter", input, src, part, axis=axis, start=chosen.start, stop=max(chosen.start, chosen.stop),
                    step=step)
    return with_out("slice_scatter", result, out, input, src)  # type: ignore[no-any-return]


@public()
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with `src` on a diagonal."""
    x: Any = read_tensor("diagonal_scatter", input)
    part = FUNCTIONS["diagonal"](x.detach(), offset, dim1, dim2)
    return _embed("diagonal_scatter", x, src, part._array.shape, offset=offset, axis1=dim_of("diagonal", x, dim1),
                  axis2=dim_of("diagonal", x, dim2))


@public()
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy with `src` on the elements that `as_strided` finds."""
    whole = read_tensor("as_strided_scatter", input).detach()  # type: ignore[attr-defined]
    part = as_strided(whole if whole._array.flags.c_contiguous else whole.contiguous(), size, stride, storage_offset)
    geometry = (tuple(size), tuple(stride), storage_offset or 0)
    return _embed("as_strided_scatter", input, src, part._array.shape, geometry=geometry)


@public(function=False)
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """The diagonal filled with one value; in tall matrices with `wrap` it begins anew below."""
    if isinstance(fill_value, Tensor) and fill_value._array.ndim:
        raise wrong_type("fill_diagonal_", "fill_value", 2, "Number", fill_value)
    shape = self._array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if len(shape) > 2:
        diagonal = self
        for _ in shape[1:]:
            diagonal = diagonal.diagonal()  # of the first two dims, as a new last one
        diagonal.fill_(fill_value)
        return self  # type: ignore[no-any-return]
    rows, columns = shape
    for start in range(0, max(rows, 1) if wrap else 1, columns + 1):
        self[start:start + columns].diagonal().fill_(fill_value)
    return self  # type: ignore[no-any-return]
