"""Tensors filled with a value, by size or after the likeness of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.backends.memory_order import empty_like
from whygrad.base import dtypes, layouts
from whygrad.core.tensor import Tensor
from whygrad.functional import arguments, from_data, ranges
from whygrad.functional.determinism import determinism, fill_uninitialized
from whygrad.functional.fresh import allocate, check_out_place, deliver, dtype_for, fresh
from whygrad.functional.promotion import as_number
from whygrad.functional.run import made_under_transforms, public, run, with_out

__all__ = ["from_data", "ranges"]

CHANNELS_LAST = {layouts.channels_last: 4, layouts.channels_last_3d: 5}


def channels_last(make: Callable[..., np.ndarray], sizes: tuple[int, ...], dtype: np.dtype[Any],
                  wanted: Any) -> np.ndarray:
    """An array whose second axis lies innermost in memory."""
    rank = CHANNELS_LAST[wanted]
    if len(sizes) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {wanted._name} format")
    array = allocate(make, (sizes[0], *sizes[2:], sizes[1]), dtype)
    return np.moveaxis(array, -1, 1)


def _not_a_format(given: Any) -> Exception:
    if given is layouts.preserve_format:
        return RuntimeError("unsupported memory format Preserve")
    return arguments.wrong_type("empty", "memory_format", None, "torch.memory_format", given)


def _define_by_size(name: str, make: Callable[..., np.ndarray], what: str) -> None:
    def by_size(*args: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
                device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                memory_format: Any = None) -> Tensor:
        sizes = arguments.read_size(name, args, size)
        wanted = dtypes.get_default_dtype()
        if dtype is not None or out is not None:
            wanted = arguments.read_dtype(name, dtype_for(out, dtype, wanted), dtypes.float32)
        if layout is not None or device is not None or pin_memory:
            if out is not None:
                check_out_place(out, layout, device)
            arguments.check_place(name, layout, device, pin_memory)
        if name == "zeros" and sizes and min(sizes) < 0:
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if memory_format is not None and memory_format is not layouts.contiguous_format:
            if name != "empty":
                raise TypeError(f"{name}() got an unexpected keyword argument 'memory_format'")
            if memory_format not in CHANNELS_LAST:
                raise _not_a_format(memory_format)
            array = channels_last(make, sizes, wanted.numpy, memory_format)
        else:
            array = allocate(make, sizes, wanted.numpy)
        return fresh(array, requires_grad, function=name) if out is None else deliver(name, array, out, requires_grad)

    def like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
             requires_grad: bool = False, memory_format: Any = None) -> Tensor:
        array = like_array(make, f"{name}_like", input, dtype, layout, device, pin_memory, memory_format)
        return fresh(array, requires_grad)

    def new(self: Tensor, *args: Any, size: Any = None, dtype: Any = None, device: Any = None, layout: Any = None,
            pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
        sizes = arguments.read_size(f"new_{name}", args, size, 2)
        wanted = arguments.read_dtype(f"new_{name}", dtype, self.dtype)
        arguments.check_place(f"new_{name}", layout, device or self.device, pin_memory)
        arguments.check_sizes(sizes)
        return fresh(allocate(make, sizes, wanted.numpy), requires_grad)

    public(method=False, name=name, doc=f"A tensor of the given size, {what}.")(by_size)
    public(method=False, name=f"{name}_like", doc=f"A tensor of the size and dtype of `input`, {what}.")(
        made_under_transforms("like")(like))
    public(function=False, name=f"new_{name}", doc=f"A tensor of the given size and of this tensor's dtype, {what}.")(
        made_under_transforms("like")(new))


def like_array(make: Callable[..., np.ndarray], name: str, input: Any, dtype: Any, layout: Any, device: Any,
               pin_memory: Any, memory_format: Any) -> np.ndarray:
    """An array of the size of `input`, in the order of its memory unless another order is asked for."""
    model = arguments.read_tensor(name, input)._array
    wanted = arguments.read_dtype(name, dtype, input.dtype).numpy
    if layout is not None or device is not None or pin_memory or type(model) is not np.ndarray:
        arguments.check_place(name, layout, device or input.device, pin_memory)
    if memory_format in CHANNELS_LAST:
        return channels_last(make, model.shape, wanted, memory_format)
    if model.flags.c_contiguous or memory_format is layouts.contiguous_format:
        return allocate(make, model.shape, wanted)
    array = empty_like(model, wanted)
    if make is np.empty:
        return fill_uninitialized(array) if determinism.enabled else array
    array[...] = 1 if make is _ones else 0
    return array


def _ones(sizes: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    array = np.empty(sizes, dtype)
    array.fill(1)  # np.ones takes twice as long for a few
    return array


for _filled, _make, _what in (("zeros", np.zeros, "filled with 0"), ("ones", _ones, "filled with 1"),
                              ("empty", np.empty, "not initialised")):
    _define_by_size(_filled, _make, _what)


def number_dtype(value: Any) -> dtypes.dtype:
    """The dtype torch.full gives to a number."""
    if type(value) is float:
        return dtypes.get_default_dtype()
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, int):
        return dtypes.int64
    return dtypes.get_default_complex_dtype() if isinstance(value, complex) else dtypes.get_default_dtype()


def _filled_with(name: str, array: np.ndarray, fill_value: Any, dtype: dtypes.dtype) -> np.ndarray:
    fill_value = arguments.read_fill(fill_value, dtype, array.size)
    array.fill(as_number(fill_value, dtype, name) if dtype.category < 2 else fill_value)
    return array


@public(method=False)
def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A tensor of the given size, filled with a number."""
    return _full("full", size, fill_value, 1, out, dtype, layout, device, pin_memory, requires_grad)


def _full(name: str, size: Any, fill_value: Any, position: int, out: Any, dtype: Any, layout: Any, device: Any,
          pin_memory: bool, requires_grad: bool) -> Tensor:
    """`position` is where among its arguments the function `name` takes the size."""
    sizes = arguments.read_sizes(name, size, "size", position)
    number = fill_value if type(fill_value) is float else arguments.read_number(name, "fill_value", position + 1, fill_value)
    wanted = number_dtype(number)
    if dtype is not None or out is not None:
        wanted = arguments.read_dtype(name, dtype_for(out, dtype, wanted), dtypes.float32)
    if layout is not None or device is not None or pin_memory:
        arguments.check_place(name, layout, device, pin_memory)
    array = _filled_with(name, allocate(np.empty, sizes, wanted.numpy), number, wanted)
    return fresh(array, requires_grad, function=name) if out is None else deliver(name, array, out, requires_grad)


@public(method=False)
@made_under_transforms("like")
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """A tensor of the size and dtype of `input`, filled with a number."""
    array = like_array(np.empty, "full_like", input, dtype, layout, device, pin_memory, memory_format)
    number = arguments.read_number("full_like", "fill_value", 2, fill_value)
    return fresh(_filled_with("full_like", array, number, dtypes.FROM_NUMPY[array.dtype]), requires_grad)


@public(function=False)
@made_under_transforms("like")
def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, layout: Any = None,
             pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A tensor of the given size and of this tensor's dtype, filled with a number."""
    wanted = arguments.read_dtype("new_full", dtype, self.dtype)
    return _full("new_full", size, fill_value, 2, None, wanted, layout, device or self.device, pin_memory, requires_grad)


@public(method=False)
def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
                  requires_grad: bool = False) -> Tensor:
    """A 0-dim tensor of the default dtype that holds a number."""
    return full((), arguments.read_number("scalar_tensor", "s", 1, s), dtype=dtype or dtypes.get_default_dtype(), layout=layout,
                device=device, pin_memory=pin_memory, requires_grad=requires_grad)


@public(method=False)
def eye(n: int, m: Any = ..., *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    rows = arguments.read_int("eye", "n", 1, n)
    if m is not ... and not arguments.is_integer(m):
        raise arguments.invalid_combination("eye", n, m)
    columns = rows if m is ... else arguments.read_int("eye", "m", 2, m)
    for name, count in (("n", rows), ("m", columns)):
        if count < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {count}")
    wanted = arguments.read_dtype("eye", dtype_for(out, dtype, dtypes.get_default_dtype()), dtypes.float32)
    arguments.check_place("eye", layout, device, pin_memory)
    array = allocate(np.zeros, (rows, columns), wanted.numpy)
    np.fill_diagonal(array, 1)
    return deliver("eye", array, out, requires_grad)


@public(method=False)
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uninitialised memory seen with the given strides (counted in elements)."""
    sizes = arguments.read_sizes("empty_strided", size)
    strides = arguments.read_sizes("empty_strided", stride, "stride", 2)
    if len(sizes) != len(strides):
        raise RuntimeError(f"dimensionality of sizes ({len(sizes)}) must match dimensionality of strides "
                           f"({len(strides)})")
    arguments.check_sizes(sizes)
    arguments.check_place("empty_strided", layout, device, pin_memory)
    if any(s < 0 for s in strides):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)} and strides={list(strides)}")
    wanted = arguments.read_dtype("empty_strided", dtype, dtypes.get_default_dtype()).numpy
    count = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    memory = allocate(np.empty, (count,), wanted)
    bytes_ = [s * wanted.itemsize for s in strides]
    return fresh(np.lib.stride_tricks.as_strided(memory, sizes, bytes_), requires_grad)


@public(method=False)
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uninitialised memory whose axes lie in the order `physical_layout`, outermost first."""
    sizes = arguments.read_sizes("empty_permuted", size)
    order = arguments.read_sizes("empty_permuted", physical_layout, "physical_layout", 2)
    if len(sizes) != len(order):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. "
                           f"len(size) = {len(sizes)} is not equal to len(physical_layout) = {len(order)}")
    for i, dim in enumerate(order):
        if not 0 <= dim < len(sizes):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(sizes) - 1}, but got {dim} at index "
                               f"{i}).  NB: negative dims not currently supported; file an issue if you want it.")
        if dim in order[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    arguments.check_sizes(sizes)
    arguments.check_place("empty_permuted", layout, device, pin_memory)
    wanted = arguments.read_dtype("empty_permuted", dtype, dtypes.get_default_dtype()).numpy
    memory = allocate(np.empty, tuple([sizes[d] for d in order]), wanted)
    return fresh(memory.transpose(np.argsort(order)), requires_grad)


def _define_triangle(name: str, choose: Callable[..., Any]) -> None:
    def indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None,
                pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
        rows, columns = arguments.read_int(name, "row", 1, row), arguments.read_int(name, "col", 2, col)
        offset = arguments.read_int(name, "offset", 3, offset)
        for argument, count in (("row", rows), ("col", columns)):
            if count < 0:
                raise RuntimeError(f"{argument} must be non-negative, got{count}")
        arguments.check_place(name, layout, device, pin_memory)
        wanted = arguments.read_dtype(name, dtype, dtypes.int64)
        if wanted not in (dtypes.int64, dtypes.int32):
            raise arguments.not_implemented(name, wanted)
        return fresh(np.stack(choose(rows, offset, columns)).astype(wanted.numpy, copy=False), requires_grad)

    half = "lower" if name == "tril_indices" else "upper"
    public(method=False, name=name, doc=f"Row and column numbers of the {half} triangle of a matrix, row by row.")(indices)


_define_triangle("tril_indices", np.tril_indices)
_define_triangle("triu_indices", np.triu_indices)


def _of_parts(name: str, first: str, second: str, a: Tensor, b: Tensor, out: Any) -> Tensor:
    arguments.read_tensor(name, a, first)
    arguments.read_tensor(name, b, second, 2)
    kinds = (a.dtype, b.dtype)
    if not all(kind in (dtypes.float16, dtypes.float32, dtypes.float64) for kind in kinds):
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got "
                           f"{kinds[0].scalar_name} and {kinds[1].scalar_name}")
    if kinds[0] is not kinds[1]:
        raise RuntimeError(f"Expected object of scalar type {kinds[0].scalar_name} but got scalar type "
                           f"{kinds[1].scalar_name} for second argument")
    whole = kinds[0].to_complex()
    if isinstance(out, Tensor) and out.dtype is not whole:
        raise RuntimeError(f"Expected object of scalar type {whole.scalar_name} but got scalar type "
                           f"{out.dtype.scalar_name} for argument 'out'")
    statics = {"part": kinds[0].numpy, "whole": whole.numpy}
    return with_out(name, run(name, a, b, **statics), out, a, b)  # type: ignore[no-any-return]


@public(method=False, name="complex")
def complex_(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
    return _of_parts("complex", "real", "imag", real, imag, out)


@public(method=False, autocast="float32")
def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:
    """Complex numbers from their absolute values and angles."""
    return _of_parts("polar", "abs", "angle", abs, angle, out)


@public(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of `x` as columns, the highest first unless `increasing`."""
    arguments.read_tensor("vander", x, "x")
    if x._array.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._array.shape[0] if N is None else arguments.read_int("vander", "N", 2, N)
    arguments.read_flag("vander", "increasing", 3, increasing)
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = ranges.arange(count) if increasing else ranges.arange(count - 1, -1, -1) if count else ranges.arange(0)
    return x.reshape((-1, 1)) ** powers  # type: ignore[no-any-return, attr-defined]
