"""Reading and writing at given positions: gather, scatter, index_*, masked_*, take, nonzero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base import acceleration
from whygrad.base.broadcasting import broadcast_shapes
from whygrad.base.dtypes import c_name
from whygrad.base.errors import warn
from whygrad.base.on_demand import on_demand
from whygrad.base.overlap import OVERLAP, SHARED, check_overlap, is_expanded
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import check_inplace
from whygrad.functional import indexing
from whygrad.functional.arguments import (
    check_range,
    check_tensors,
    invalid_combination,
    is_integer,
    read_each,
    read_tensor,
    wrong_type,
)
from whygrad.functional.dims import named_axis
from whygrad.functional.fresh import warn_once
from whygrad.functional.joining import unbind
from whygrad.functional.outs import with_disjoint_out
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.promotion import as_number, cast
from whygrad.functional.run import public, rows, with_out, write
from whygrad.functional.shape import dim_of, expand_to, flatten
from whygrad.functional.wrong_arguments import checks_flags
from whygrad.ops.table import TABLE

INT64 = np.dtype(np.int64)
INDEX_DTYPES = (INT64, np.dtype(np.int32))


def positions(index: Tensor) -> Tensor:
    """An index in the dtype the rows want; its version is still watched."""
    return index if index._array.dtype is INT64 or index._array.dtype == INT64 else cast(index, INT64)


def check_bounds(index: Tensor, n: int, error: Callable[[int], Exception], lowest: int = 0) -> None:
    _check_bounds(index._numbers, n, error, lowest)


@outside_rows
def _check_bounds(array: np.ndarray, n: int, error: Callable[[int], Exception], lowest: int) -> None:
    if not array.size or (acceleration.within(array, n) if not lowest else array.min() >= lowest and array.max() < n):
        return
    raise error(int(array[(array < lowest) | (array >= n)].ravel()[0]))


def counted_from_front(index: Tensor, n: int) -> Tensor:
    numbers = index._numbers
    counted = _counted_from_front(numbers, n)
    return index if counted is numbers else index._with_numbers(counted)


@outside_rows
def _counted_from_front(numbers: np.ndarray, n: int) -> np.ndarray:
    return numbers if not numbers.size or numbers.min() >= 0 else numbers % n


def _element_index(function: str, input: Tensor, dim: Any, index: Any, src: Any = None) -> tuple[Tensor, int]:
    """The checked index of gather and scatter: one position for each element."""
    axis = dim_of(function, input, dim)
    places = read_tensor(function, index, "index", 3)._array
    if places.dtype is not INT64 and places.dtype not in INDEX_DTYPES and places.size:
        raise RuntimeError(f"{function.removesuffix('_add')}(): Expected dtype int32/int64 for index")
    own, wanted = input._array.shape or (1,), places.shape or (1,)
    if places.size:
        if src is None and len(own) != len(wanted):
            raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
        if src is not None:
            _check_scatter_shapes(places.shape, input._array.shape, src, axis)
        elif function == "gather" and own != wanted:
            for d, (m, n) in enumerate(zip(wanted, own, strict=True)):
                if d != axis and m > n:
                    raise RuntimeError(f"Size does not match at dimension {d} expected index {list(wanted)} to be no "
                                       f"larger than self {list(own)} apart from dimension {axis}")
    n = own[axis]
    check_bounds(index, n, lambda i: RuntimeError(f"index {i} is out of bounds for dimension {axis} with size {n}"))
    return positions(index), axis


def _check_scatter_shapes(index: tuple[int, ...], own: tuple[int, ...], src: Any, axis: int) -> None:
    given = src._array.shape if isinstance(src, Tensor) else None
    if index == own and (given is None or given == own):
        return
    wanted, room = index or (1,), own or (1,)
    if len(wanted) != len(room):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if given is not None and len(wanted) != len(given or (1,)):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    fits = all(m <= n for d, (m, n) in enumerate(zip(wanted, room, strict=True)) if d != axis)
    if given is not None:
        fits = fits and all(m <= n for m, n in zip(wanted, given or (1,), strict=True))
    if not fits:
        end = "" if given is None else f" and to be no larger size than src {list(given)}"
        raise RuntimeError(f"Expected index {list(index)} to be no larger than self {list(own)} apart from dimension "
                           f"{axis}{end}")


@public()
def gather(input: Any, dim: Any = ..., index: Any = ..., *, axis: Any = ..., sparse_grad: bool = False,
           out: Any = None) -> Tensor:
    """The elements at `index` along a dim: `out[i][j] = input[index[i][j]][j]` for dim 0."""
    if dim is ... or index is ...:
        dim = named_axis("gather", axis if dim is ... else dim, index)
    places, axis = _element_index("gather", input, dim, index)
    if sparse_grad and input.requires_grad and input._array.ndim:
        return on_demand.load_sparse().gathered.gather(input, places, axis=axis)  # type: ignore[no-any-return]
    result = rows.gather(input, places, axis=axis)
    return with_disjoint_out("gather", result, out, input, index)


@public()
def take_along_dim(input: Any, indices: Any, dim: Any = None, *, out: Any = None) -> Tensor:
    """gather, with broadcasting of both; without `dim`, of the flattened tensors."""
    read_tensor("take_along_dim", input)
    read_tensor("take_along_dim", indices, "indices", 2)
    if dim is not None and input._array.ndim != indices._array.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for "
                           "indices")
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_name}")
    if dim is None:
        return gather(flatten(input), 0, flatten(_wrapped(indices, input._array.size)), out=out)
    axis = dim_of("take_along_dim", input, dim, position=3)
    own, wanted = list(input._array.shape), list(indices._array.shape)
    n = own[axis]
    own[axis] = wanted[axis] = 1
    common = list(broadcast_shapes(tuple(own), tuple(wanted)))
    common[axis] = n
    input = rows.expand(input, shape=tuple(common))
    common[axis] = indices._array.shape[axis]
    return gather(input, axis, expand_to(_wrapped(indices, n), tuple(common)), out=out)


def _wrapped(indices: Tensor, n: int) -> Tensor:
    """Positions modulo the size: torch does not check them here."""
    array = indices._numbers
    return indices._with_numbers(array % n) if array.size and (array.min() < 0 or array.max() >= n) else indices


def _scatter_arguments(name: str, self: Tensor, dim: Any, index: Any, src: Any, value: Any, reduce: Any) -> Any:
    src = value if src is None else src
    if not (isinstance(self, Tensor) and is_integer(dim) and isinstance(index, Tensor)
            and isinstance(src, (Tensor, int, float, complex))):
        raise invalid_combination(name, self, dim, index, src)
    if reduce is not None and reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if isinstance(src, Tensor):
        if reduce is not None:
            warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a "
                      "future PyTorch release. Use torch.scatter_reduce instead for more reduction options. (Triggered "
                      "internally at /__w/pytorch/pytorch/aten/src/ATen/native/TensorAdvancedIndexing.cpp:225.)")
        if src._array.dtype != self._array.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    else:
        check_range(src, self.dtype)
        src = src if self._array.dtype.kind in "fcV" else as_number(src, self.dtype, name)
    places, axis = _element_index("scatter", self, dim, index, src)
    return (places, src), {"axis": axis, "reduce": reduce}


@public()
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None,
            out: Any = None) -> Tensor:
    """A copy with the elements of `src`, or one value, written at `index` along a dim."""
    inputs, statics = _scatter_arguments("scatter", input, dim, index, src, value, reduce)
    return with_out("scatter", apply(TABLE["scatter"], input, *inputs, **statics), out, input)


@public(function=False)
def scatter_(self: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None) -> Tensor:
    check_inplace(self, (self, src))
    inputs, statics = _scatter_arguments("scatter_", self, dim, index, src, value, reduce)
    if is_expanded(self._array):
        raise RuntimeError(SHARED)
    indexing.check_disjoint(self, inputs)
    return write("scatter", self, self, *inputs, **statics)


def _scatter_add_arguments(self: Tensor, dim: Any, index: Any, src: Any) -> Any:
    axis = dim_of("scatter_add", self, dim)
    read_tensor("scatter_add", index, "index", 3)
    read_tensor("scatter_add", src, "src", 4)
    if src._array.dtype != self._array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    places, _ = _element_index("scatter_add", self, dim, index, src)
    return (places, src), {"axis": axis}


def _index_of(function: str, input: Tensor, dim: Any, index: Any) -> tuple[Tensor, int, int]:
    """The vector of positions of the index_* functions, its axis, and that axis' length."""
    name = function.rstrip("_")
    axis = dim_of(name, input, dim)
    read_tensor(name, index, "index", 3)
    n = input._array.shape[axis] if input._array.ndim else 1
    if index._array.ndim > 1:
        raise _not_a_vector(function, index)
    return index, axis, n


def _not_a_vector(function: str, index: Tensor) -> Exception:
    shape = index._array.shape
    if function == "index_add_":
        return IndexError(f"index_add_(): Index is supposed to be a vector, but got dim: {len(shape)} with type: "
                          f"{index.dtype.scalar_name} and size: {list(shape)}")
    if function == "index_copy_":
        return IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(shape)})")
    if function == "index_fill_":
        if index._array.dtype != np.int64:
            return IndexError("index_fill_(): Expected dtype int64 for index.")
        return RuntimeError("Index has to be a vector/scalar")
    return IndexError(f"{function}(): Index is supposed to be a vector")


@public()
def index_select(input: Any, dim: Any = ..., index: Any = ..., *, axis: Any = ..., out: Any = None) -> Tensor:
    """The slices of a dim at these positions."""
    if dim is ... or index is ...:
        dim = named_axis("index_select", axis if dim is ... else dim, index)
    index, axis, n = _index_of("index_select", input, dim, index)
    if index._array.dtype not in INDEX_DTYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not input._array.ndim and index._array.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._array.size} value(s)")
    if n == 0 and input._array.ndim > 1 and index._array.size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    names_index = axis == 1 or 0 in input._array.shape[1:]
    check_bounds(index, n, lambda i: RuntimeError(f"INDICES element is out of DATA bounds, id={i} axis_dim={n}")
                 if names_index else IndexError("index out of range in self"))
    return with_disjoint_out("index_select", rows.index_select(input, positions(index), axis=axis), out, input)


def _index_add_arguments(self: Tensor, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    index, axis, n = _index_of("index_add_", self, dim, index)
    read_tensor("index_add", source, "source", 4)
    if index._array.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_name}")
    if source._array.dtype != self._array.dtype:
        raise RuntimeError(f"index_add_(): self ({self.dtype.scalar_name}) and source ({source.dtype.scalar_name}) "
                           "must have the same scalar type")
    own, given = self._array.shape, source._array.shape
    if len(own) != len(given) or own[:axis] + own[axis + 1:] != given[:axis] + given[axis + 1:]:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {list(own)} source.shape = {list(given)}")
    length = given[axis] if given else 1
    if index._array.size != length:
        raise RuntimeError(f"index_add_(): Number of indices ({index._array.size}) should be equal to "
                           f"source.size(dim): ({length}), for dim: {axis}")
    names_index = len(own) > 1 and axis in (0, len(own) - 1) and alpha == 1 and index._array.dtype == np.int64
    check_bounds(index, n, lambda i: RuntimeError(f"index {i} is out of bounds for dimension {axis} with size {n}")
                 if names_index else IndexError("index out of range in self"))
    if self._array.dtype.kind == "u" and isinstance(alpha, int):
        alpha %= 1 << 8 * self._array.itemsize  # C's arithmetic: -1 is 255
    return (positions(index), source), {"axis": axis, "alpha": alpha}


def _index_copy_arguments(self: Tensor, dim: Any, index: Any, source: Any) -> Any:
    index, axis, n = _index_of("index_copy_", self, dim, index)
    read_tensor("index_copy", source, "source", 4)
    own, given = self._array.shape, source._array.shape
    if index._array.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    if source._array.dtype != self._array.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{self.dtype.scalar_name} and (source) {source.dtype.scalar_name}")
    outer, given_outer = own[:axis] + own[axis + 1:], given[:axis] + given[axis + 1:]
    if outer != given_outer:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
                           f"shape: {' '.join(map(str, outer))} at dimension {axis} and source slice shape: "
                           f"{' '.join(map(str, given_outer))} at dimension {axis}.")
    length = given[axis] if given else 1
    if index._array.size != length:
        raise IndexError(f"index_copy_(): Number of indices ({index._array.size}) should be equal to source.size(dim) "
                         f"({length})")
    check_bounds(index, n, lambda i: IndexError(f"index_copy_(): index {i} is out of bounds for dimension {axis} with "
                                                f"size {n}"))
    return (index, source), {"axis": axis}


def _index_fill_arguments(self: Tensor, dim: Any, index: Any, value: Any) -> Any:
    index, axis, n = _index_of("index_fill_", self, dim, index)
    if index._array.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if isinstance(value, complex) and self._array.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    value = _fill_value("index_fill", self, value, dim, index)
    check_bounds(index, n, lambda i: IndexError(f"index {i} is out of bounds for dimension {axis} with size "
                                                f"{n}"), lowest=-n)
    index = counted_from_front(index, n)
    if isinstance(value, Tensor) and index._array.ndim and index._numbers is index._array:
        index = wrap(np.unique(index._array))  # a place that is filled twice counts once in the gradient
    return (index, value), {"axis": axis}


def _fill_value(name: str, self: Tensor, value: Any, *given: Any) -> Any:
    """A number or 0-dim tensor in the dtype of `self`."""
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(f"{name}_ only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value._array.ndim} dimension(s).")
        if value._array.dtype.kind == "c" and self._array.dtype.kind != "c":
            check_range(value._array.item(), self.dtype)
        return cast(value, self._array.dtype)
    if not isinstance(value, (int, float, complex)):
        raise invalid_combination(name, self, *given, value)
    if not (type(value) is float and self._array.dtype.kind == "f" and -65504 <= value <= 65504):
        check_range(value, self.dtype)
        if self.dtype.category < 2:
            return as_number(value, self.dtype, name)
    return value


def _masked_fill_arguments(self: Tensor, mask: Any, value: Any) -> Any:
    if not isinstance(mask, Tensor) or not isinstance(value, (Tensor, int, float, complex)):
        raise invalid_combination("masked_fill", self, mask, value)
    value = _fill_value("masked_fill", self, value, mask)
    if mask._array.dtype != np.bool_:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{c_name(mask.dtype)}")
    return (mask, value), {}


def _masked_scatter_arguments(self: Tensor, mask: Any, source: Any) -> Any:
    read_tensor("masked_scatter", mask, "mask", 2)
    read_tensor("masked_scatter", source, "source", 3)
    if self._array.dtype != source._array.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{self.dtype.scalar_name} and {source.dtype.scalar_name}")
    if mask._array.dtype == np.uint8:
        warn("masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a mask with "
             "dtype torch.bool instead.")
    if mask._array.dtype != np.bool_:
        raise RuntimeError("masked_scatter_ only supports boolean masks, but got mask with dtype "
                           f"{mask.dtype.scalar_name}")
    shape = broadcast_shapes(mask._array.shape, self._array.shape)
    # A mask with a batch may select more for one element than for another.
    selected = np.count_nonzero(mask._numbers, axis=tuple(range(-mask._array.ndim, 0)))
    times = math.prod(shape) // max(mask._array.size, 1)
    if source._array.size < np.max(selected, initial=0) * times:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return (mask, source), {}


def _writer(name: str, arguments: Callable[..., Any], doc: str) -> None:
    """A function that gives a changed copy, and its in-place twin. `arguments` checks and orders what the row takes."""
    masked = name.startswith("masked")

    def changed(input: Any, *args: Any, **kwargs: Any) -> Tensor:
        out = kwargs.pop("out", None)
        if name in ("index_fill", "masked_fill") and (out is not None or not isinstance(input, Tensor)):
            raise invalid_combination(name, input, *args)
        inputs, statics = arguments(read_tensor(name, input), *args, **kwargs)
        if masked and inputs[0]._array.shape != input._array.shape:
            shape = broadcast_shapes(inputs[0]._array.shape, input._array.shape)
            input = input if shape == input._array.shape else rows.expand(input, shape=shape)
        return with_out(name, apply(TABLE[name], input, *inputs, **statics), out, input)

    def inplace(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        check_inplace(self, (self, *args, *kwargs.values()))
        inputs, statics = arguments(self, *args, **kwargs)
        if masked and inputs[0]._array.shape != self._array.shape:
            shape = broadcast_shapes(self._array.shape, inputs[0]._array.shape)
            if shape != self._array.shape:
                raise RuntimeError(f"output with shape {list(self._array.shape)} doesn't match the broadcast shape "
                                   f"{list(shape)}")
        if name == "masked_scatter":
            check_overlap(self._array, ())
        else:
            indexing.check_disjoint(self, inputs[:1] if name == "masked_fill" else (*args, *kwargs.values()), name)
        return write(name, self, self, *inputs, **statics)

    public(name=name, doc=doc, autocast="widest" if name == "index_copy" else None)(changed)
    public(name=f"{name}_", doc=f"{doc} In place.", function=False)(inplace)


_writer("scatter_add", _scatter_add_arguments, "The elements of `src` added at `index` along a dim.")
_writer("index_add", _index_add_arguments, "The slices of `source` added to the slices at `index`.")
_writer("index_copy", _index_copy_arguments, "The slices at `index` replaced by those of `source`.")
_writer("index_fill", _index_fill_arguments, "The slices at `index` filled with one value.")
_writer("masked_fill", _masked_fill_arguments, "One value where the mask is true.")
_writer("masked_scatter", _masked_scatter_arguments, "The elements of `source`, in order, where the mask is true.")


def _put_places(self: Tensor, indices: Any, values: Tensor, accumulate: bool) -> tuple[Any, Tensor]:
    """Where to write, as `locate` has it, and what."""
    if not isinstance(indices, (tuple, list)):
        raise wrong_type("index_put", "indices", 2, "tuple of Tensors", indices)
    found, axis = [], 0
    for index in read_each(indices, 1, "index_put"):
        array, counter = indexing.as_index(index)
        found.append((axis, array, counter))
        axis += array.ndim if array.dtype.kind == "b" else 1
    if not found:
        raise RuntimeError("sym_strides() called on an undefined Tensor")
    if axis > self._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self._array.ndim} (got {axis})")
    return indexing.locate(self, found), values if accumulate else indexing.filling(self, found, values)


@public()
@checks_flags
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """A copy with `values` written (or added, if `accumulate`) at the given indices."""
    read_tensor("index_put", input)
    read_tensor("index_put", values, "values", 3)
    (index, axes, lengths), values = _put_places(input, indices, values, accumulate)
    indexing.refuse_into_nothing(index, lengths)
    values = indexing.put_value(input, index, axes, values)
    return rows.index_put(input, values, indexing.checked(index, lengths, input), axes=axes, accumulate=accumulate)


@public(function=False)
@checks_flags
def index_put_(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    read_tensor("index_put_", input)
    read_tensor("index_put_", values, "values", 3)
    check_inplace(input, (input, values))
    places, values = _put_places(input, indices, values, accumulate)
    if any(index is input for index in indices):
        raise RuntimeError(OVERLAP)
    return indexing.index_put_at(input, places, values, accumulate)


@public()
def masked_select(input: Any, mask: Any, *, out: Any = None) -> Tensor:
    """The elements where the mask is true, as a vector."""
    check_tensors("masked_select", input=input, mask=mask)
    if mask._array.dtype != np.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(mask._array.shape, input._array.shape)
    wide = input if shape == input._array.shape else rows.expand(input, shape=shape)
    return with_disjoint_out("masked_select", rows.masked_select(wide, mask), out, input, mask)


@public()
def take(input: Any, index: Any, *, out: Any = None) -> Tensor:
    """Elements of the flattened tensor, in the shape of the index."""
    check_tensors("take", input=input, index=index)
    if index._array.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    n = input._array.size
    if not n and index._array.size:
        raise IndexError("take(): tried to take from an empty tensor")
    check_bounds(index, n, lambda i: IndexError(f"out of range: tried to access index {i} on a tensor of {n} "
                                                "elements."), lowest=-n)
    return with_disjoint_out("take", rows.take(input, counted_from_front(index, n)), out, input, index)


@public()
def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """The positions of the nonzero elements: a line for each, or with `as_tuple` a vector for each dim."""
    read_tensor("nonzero", input)
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        wide = input if input._array.ndim else rows.unsqueeze(input, axis=0)
        return unbind(rows.nonzero(wide), 1)
    return with_out("nonzero", rows.nonzero(input), out)


@public()
def argwhere(input: Any) -> Tensor:
    """The indices of the elements that are not zero, a row for each."""
    return nonzero(read_tensor("argwhere", input))
