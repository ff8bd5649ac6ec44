"""Joining tensors, and taking them apart again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional import arguments
from whygrad.functional.fresh import warn_once
from whygrad.functional.out_dtypes import check_out_dtype
from whygrad.functional.outs import with_disjoint_out
from whygrad.functional.promotion import promote, result_dtype
from whygrad.functional.run import FUNCTIONS, public, register, rows
from whygrad.functional.shape import dim_of, flatten, reshape_to


def read_tensors(function: str, tensors: Any) -> list[Tensor]:
    """A tuple or list of tensors, and nothing else."""
    if not isinstance(tensors, (tuple, list)):
        raise arguments.wrong_type(function, "tensors", 1, "tuple of Tensors", tensors)
    return arguments.read_each(tensors)


def _one_dtype(name: str, tensors: list[Tensor]) -> list[Tensor]:
    dtype = tensors[0]._array.dtype
    return tensors if all(x._array.dtype is dtype for x in tensors) else promote(name, *tensors)


def _are_alike(tensors: Any) -> bool:
    """A list of Tensors of one dtype and shape, and not 0-dim: nothing more to check."""
    if (type(tensors) is not list and type(tensors) is not tuple) or not tensors:
        return False
    shape = dtype = None
    for x in tensors:
        if not isinstance(x, Tensor):
            return False
        array = x._array
        if shape is None:
            shape, dtype = array.shape, array.dtype
        elif array.shape != shape or array.dtype is not dtype:
            return False
    return shape != () and shape != (0,)


@public(method=False, autocast="widest")
def cat(tensors: Any, dim: int = 0, *, axis: Any = None, out: Any = None) -> Tensor:
    """The tensors one after the other along a dim."""
    if out is None and axis is None and _are_alike(tensors):
        return rows.cat(*tensors, axis=dim_of("cat", tensors[0], dim))
    tensors = read_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not x._array.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    if isinstance(out, Tensor) and (dtype := result_dtype(*tensors)) is not out.dtype and not any(
            t.requires_grad for t in (out, *tensors)):  # of which torch speaks first
        check_out_dtype("cat", dtype, out.dtype)
    # A vector of length 0 fits anywhere, for the sake of old programs.
    joined = [x for x in tensors if x._array.shape != (0,)] or tensors[:1]
    first = joined[0]._array.shape
    axis = 0 if first == (0,) else dim_of("cat", joined[0], dim if axis is None else axis)
    for i, x in enumerate(tensors):
        shape = x._array.shape
        if shape == (0,):
            continue
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (m, n) in enumerate(zip(first, shape, strict=True)):
            if m != n and d != axis:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {axis}. Expected size {m} but got "
                                   f"size {n} for tensor number {i} in the list.")
    promoted = _one_dtype("cat", tensors)
    result = rows.cat(*promoted, axis=axis)
    if out is None:
        return result

    return with_disjoint_out("cat", result, out, *tensors)


for _name in ("concat", "concatenate"):
    public(method=False, name=_name)(cat)


@public(method=False, autocast="widest")
def stack(tensors: Any, dim: int = 0, *, axis: Any = None, out: Any = None) -> Tensor:
    """The tensors side by side along a new dim."""
    if out is None and axis is None and _are_alike(tensors):
        return rows.stack(*tensors, axis=dim_of("stack", tensors[0], dim, extra=1))
    tensors = read_tensors("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._array.shape
    axis = dim_of("stack", tensors[0], dim if axis is None else axis, extra=1)
    for i, x in enumerate(tensors):
        if x._array.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                               f"{list(x._array.shape)} at entry {i}")
    return with_disjoint_out("stack", rows.stack(*_one_dtype("stack", tensors), axis=axis), out, *tensors)


def _joiner(name: str, prepare: Callable[[Any], Any], dim_for: Callable[[list[Tensor]], int], doc: str) -> None:
    def join(tensors: Any, *, out: Any = None) -> Tensor:
        tensors = read_tensors(name, tensors)
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        prepared = [prepare(x) for x in tensors]
        return cat(prepared, dim_for(prepared), out=out)

    public(name=name, doc=doc, method=False)(join)


_joiner("hstack", FUNCTIONS["atleast_1d"], lambda xs: 0 if xs[0]._array.ndim == 1 else 1, "Joined horizontally.")
_joiner("vstack", FUNCTIONS["atleast_2d"], lambda xs: 0, "Joined vertically.")
_joiner("dstack", FUNCTIONS["atleast_3d"], lambda xs: 2, "Joined along the third dim.")
_joiner("column_stack", lambda x: x if x._array.ndim > 1 else reshape_to(x, (x._array.size, 1)), lambda xs: 1,
        "Vectors as columns, and matrices, joined horizontally.")
register("row_stack", FUNCTIONS["vstack"], method=False)


@public(function=False)
def split(self: Any, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of `split_size` elements of a dim, the last maybe smaller; or of the sizes in a list."""
    if not arguments.is_integer(split_size):
        return split_with_sizes(self, split_size, dim)
    return _split_evenly(self, arguments.read_int("split", "split_size", 2, split_size), dim)


@public(method=False, name="split")
def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return split(arguments.read_tensor("split", tensor, "tensor"), split_size_or_sections, dim)


def _split_evenly(self: Tensor, size: int, dim: int, row: str = "split") -> tuple[Tensor, ...]:
    if not self._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    axis = dim_of(row, self, dim, position=3)
    n = self._array.shape[axis]
    if size == 0 and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    count = max(-(-n // size), 1) if size else 1
    sizes = (size,) * (count - 1) + (n - size * (count - 1),)
    return tuple(getattr(rows, row)(self, sizes=sizes, axis=axis))


@public()
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of these sizes."""
    return _split_unevenly(input, split_sizes, dim, "split_with_sizes")


def _split_unevenly(self: Tensor, split_sizes: Any, dim: int, row: str) -> tuple[Tensor, ...]:
    arguments.read_tensor(row, self)
    sizes = arguments.read_sizes(row, split_sizes, "split_sizes", 2)
    if not self._array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = dim_of(row, self, dim, position=3)
    n = self._array.shape[axis]
    if min(sizes, default=0) < 0:
        raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes="
                           f"{list(sizes)}")
    if sum(sizes) != n:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
                           f"dimension {axis}), but got split_sizes={list(sizes)}")
    return tuple(getattr(rows, row)(self, sizes=sizes, axis=axis))


@public()
def unsafe_split(input: Any, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """split, whose pieces may be written to one by one."""
    arguments.read_tensor("unsafe_split", input)
    return _split_evenly(input, arguments.read_int("unsafe_split", "split_size", 2, split_size), dim, "unsafe_split")


@public()
def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """split_with_sizes, whose pieces may be written to one by one."""
    return _split_unevenly(input, split_sizes, dim, "unsafe_split_with_sizes")


@public()
def chunk(input: Any, chunks: int, dim: int = 0, *, axis: Any = None) -> tuple[Tensor, ...]:
    """About `chunks` pieces of equal size."""
    return _chunk(input, chunks, dim if axis is None else axis, "")


@public()
def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """chunk, whose pieces may be written to one by one."""
    return _chunk(input, chunks, dim, "unsafe_")


def _chunk(input: Tensor, chunks: int, dim: int, prefix: str) -> tuple[Tensor, ...]:
    arguments.read_tensor(f"{prefix}chunk", input)
    chunks = arguments.read_int(f"{prefix}chunk", "chunks", 2, chunks)
    if not input._array.ndim:
        arguments.read_int(f"{prefix}chunk", "dim", 3, dim)
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    axis = dim_of(f"{prefix}chunk", input, dim, position=3)
    n = input._array.shape[axis]
    if n == 0:
        return tuple(getattr(rows, f"{prefix}split_with_sizes")(input, sizes=(0,) * chunks, axis=axis))
    return _split_evenly(input, -(-n // chunks), axis, f"{prefix}split")


@public()
def unbind(input: Any, dim: int = 0, *, axis: Any = None) -> tuple[Tensor, ...]:
    """The slices along a dim."""
    axis = dim_of("unbind", input, dim if axis is None else axis)
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return tuple(rows.unbind(input, axis=axis))


@public()
def tensor_split(input: Any, indices_or_sections: Any = None, dim: int = 0, *, sections: Any = None, indices: Any = None,
                 tensor_indices_or_sections: Any = None) -> tuple[Tensor, ...]:
    """As many pieces as asked for, or pieces that end at the given positions."""
    given = (indices_or_sections, sections, indices, tensor_indices_or_sections)
    where: Any = next((x for x in given if x is not None), None)
    if not isinstance(input, Tensor) or not arguments.is_integer(dim) or not _is_split(where):
        raise arguments.invalid_combination("tensor_split", input, where, dim)
    if not input._array.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = dim_of("tensor_split", input, dim, position=3)
    n = input._array.shape[axis]
    if isinstance(where, Tensor):
        where = _split_positions(where)
    if arguments.is_integer(where):
        where = arguments.read_int("tensor_split", "sections", 2, where)
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        small, larger = divmod(n, where)
        ends = [(i + 1) * small + min(i + 1, larger) for i in range(where - 1)]
    else:
        ends = list(arguments.read_sizes("tensor_split", where, "indices", 2))
    parts, start = [], 0
    for end in (*ends, n):
        low, high, _ = slice(start, end).indices(n)
        parts.append(rows.slice(input, axis=axis, start=low, stop=max(low, high), step=1))
        start = end
    return tuple(parts)


def _is_split(where: Any) -> bool:
    return isinstance(where, Tensor) or arguments.is_integer(where) or (
        isinstance(where, (tuple, list)) and all(arguments.is_integer(n) for n in where))


def _split_positions(where: Tensor) -> Any:
    """A tensor in the place of a number or of a list of positions."""
    if where._array.ndim > 1:
        raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                           f"one-dimensional tensor, but got a tensor with {where._array.ndim} dims")
    if where._array.dtype != "int64":
        raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                           f"{where.dtype.scalar_name}")
    return where._array.tolist()


def _splitter(name: str, least: int, axis_for: Callable[[int], int]) -> None:
    def pieces(input: Any, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None) -> tuple[Tensor, ...]:
        indices_or_sections = next((x for x in (sections, indices) if x is not None), indices_or_sections)
        if not isinstance(input, Tensor) or not _is_split(indices_or_sections) or (
                isinstance(indices_or_sections, Tensor) and not arguments.is_integer(indices_or_sections)):
            raise arguments.invalid_combination(name, input, indices_or_sections)
        ndim = input._array.ndim
        if ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                               f"{ndim} dimensions!")
        axis = axis_for(ndim)
        n = input._array.shape[axis]
        if arguments.is_integer(indices_or_sections):
            indices_or_sections = arguments.read_int(name, "sections", 2, indices_or_sections)
        if arguments.is_integer(indices_or_sections) and (indices_or_sections == 0 or n % indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension "
                               f"{n} is not divisible by the split_size {indices_or_sections}!")
        return tensor_split(input, indices_or_sections, axis)

    public(name=name, doc=f"tensor_split along the dim that {name} is named after.")(pieces)


_splitter("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1)
_splitter("vsplit", 2, lambda ndim: 0)
_splitter("dsplit", 3, lambda ndim: 2)


@public(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded to a grid."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    arguments.read_each(tensors)
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    elif indexing not in ("xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in tensors:
        if x._array.dtype != tensors[0]._array.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    for x in tensors:
        if x._array.ndim > 1:
            raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got:  1  1")
    swap = indexing == "xy" and len(tensors) > 1
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = tuple([x._array.size for x in ordered])
    grids = [rows.expand(reshape_to(x, tuple([n if i == d else 1 for i, n in enumerate(shape)])), shape=shape)
             for d, x in enumerate(ordered)]
    return (grids[1], grids[0], *grids[2:]) if swap else tuple(grids)


@public(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of elements, one from each vector."""
    for x in arguments.read_each(tensors):
        if x._array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], dim=1)
