"""What fits nowhere else: equality, number theory, bits of floating numbers, functions applied from Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whygrad.base.layouts import contiguous_format, memory_format
from whygrad.base.torch_homes import torch_home
from whygrad.base.unsupported import TENSOR_NAMES, missing, missing_from_tensor
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional import arguments, return_types, writes
from whygrad.functional.dispatch import FLOATS, Takes, binary, default_float, number_as_tensor
from whygrad.functional.outs import with_outs
from whygrad.functional.overriding import as_instance
from whygrad.functional.promotion import cast, promote, result_dtype
from whygrad.functional.rearrange import constant_pad, padding_by_dim
from whygrad.functional.reduction import read_axes
from whygrad.functional.run import FUNCTIONS, METHODS, made_under_transforms, public, register, rows, with_out, write
from whygrad.functional.shape import sizes
from whygrad.ops.table import TABLE


@public()
@made_under_transforms("refused")
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and elements."""
    arguments.check_tensors("equal", input=input, other=other)
    return bool(np.array_equal(input._array, other._array))


def _tolerances(input: Any, other: Any, rtol: Any, atol: Any, name: str) -> dict[str, Any]:
    arguments.check_tensors(name, input=input, other=other)
    rtol, atol = arguments.read_float(name, "rtol", 3, rtol), arguments.read_float(name, "atol", 4, atol)
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(f"{input.dtype.scalar_name} did not match {other.dtype.scalar_name}")
    for argument, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{argument} must be greater than or equal to zero, but got {value:g}")
    return {"rtol": rtol, "atol": atol}


@public()
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where `abs(input - other) <= atol + rtol * abs(other)`."""
    tolerances = _tolerances(input, other, rtol, atol, "isclose")
    return apply(TABLE["isclose"], input, other, **tolerances, equal_nan=equal_nan)  # type: ignore[no-any-return]


@public()
@made_under_transforms("refused")
def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close to each other (see `isclose`)."""
    tolerances = _tolerances(input, other, rtol, atol, "allclose")
    result = apply(TABLE["isclose"], input, other, **tolerances, equal_nan=equal_nan)
    return bool(result._array.all())


@public(method=False)
def isin(elements: Any = None, test_elements: Any = None, *, assume_unique: bool = False, invert: bool = False,
         element: Any = None, test_element: Any = None, out: Any = None) -> Tensor:
    """Which elements are among the test elements. Of either there may be but one, a number."""
    elements, test_elements = (a if b is None else b for a, b in ((elements, element), (test_elements, test_element)))
    numbers = [not isinstance(x, Tensor) for x in (elements, test_elements)]
    if all(numbers) or any(n and not isinstance(x, (int, float)) for n, x in
                           zip(numbers, (elements, test_elements), strict=True)):
        raise arguments.invalid_combination("isin", elements, test_elements)
    a, b = (x if isinstance(x, Tensor) else number_as_tensor(x) for x in (elements, test_elements))
    for t in (a, b):
        if t._array.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {t.dtype.scalar_name}")
    a, b = promote("isin", a, b)
    return with_out("isin", apply(TABLE["isin"], a, b, invert=invert), out, elements, test_elements)


for _name in ("gcd", "lcm"):
    binary(_name, numbers="none", overloaded=False, takes=Takes("iu", f"{_name}_cpu"))
    register(f"{_name}_", METHODS[f"{_name}_"], method=False)
binary("nextafter", numbers="none", overloaded=False, takes=Takes(FLOATS, "nextafter_cpu"))


def _check_heaviside(name: str, input: Any, values: Any) -> None:
    arguments.check_tensors(name, input=input, values=values)
    if "c" in (input._array.dtype.kind, values._array.dtype.kind):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input._array.dtype != values._array.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@public()
def heaviside(input: Any, values: Any, *, out: Any = None) -> Tensor:
    """0 for negative elements, 1 for positive ones, and `values` at zero."""
    _check_heaviside("heaviside", input, values)
    return with_out("heaviside", apply(TABLE["heaviside"], input, values), out, input, values)


@public(function=False)
def heaviside_(self: Any, values: Any) -> Tensor:
    _check_heaviside("heaviside_", self, values)
    return write("heaviside", self, self, values)


def _refuse_exponent(input: Tensor, other: Tensor) -> None:
    if other._array.dtype.kind == "b" and input._array.dtype.kind in "fV":
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")


@public()
def ldexp(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * 2**other."""
    arguments.check_tensors("ldexp", input=input, other=other)
    _refuse_exponent(input, other)
    dtype = default_float(result_dtype(input, other))
    return with_out("ldexp", apply(TABLE["ldexp"], *promote("ldexp", input, other, dtype=dtype)), out, input, other)


@public()
def ldexp_(input: Any, other: Any) -> Tensor:
    arguments.check_tensors("ldexp_", input=input, other=other)
    _refuse_exponent(input, other)
    if input.dtype.category < 2:
        raise RuntimeError(f"ldexp can't be cast to the desired output type {input.dtype.scalar_name}")
    return write("ldexp", input, input, cast(other, input._array.dtype))


@public()
def frexp(input: Any, *, out: Any = None) -> Any:
    """Mantissa (of absolute value between 1/2 and 1) and exponent: input = mantissa * 2**exponent."""
    if arguments.read_tensor("frexp", input)._array.dtype.kind not in "fV":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return with_outs("frexp", return_types.frexp(*apply(TABLE["frexp"], input)), out, input)


@public(function=False)
def sum_to_size(self: Any, *given: Any, size: Any = None) -> Tensor:
    """The sum over those dims along which `size` would be broadcast to the shape of this tensor."""
    shape, own = sizes("sum_to_size", given, size), self._array.shape
    extra = len(own) - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, own[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    if not shape:
        return self.sum()  # type: ignore[no-any-return]
    dims = [*range(extra), *[extra + d for d, n in enumerate(shape) if n == 1 and own[extra + d] != 1]]
    result = self.sum(dims, keepdim=True) if dims else self
    return result.view(shape) if extra else result  # type: ignore[no-any-return]


@public(method=False)
def fill(input: Any, value: Any) -> Tensor:
    """A tensor like `input`, filled with one value."""
    arguments.read_tensor("fill", input)
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value._array.ndim} dimensions.")
        value = cast(value, input._array.dtype)
    elif not arguments.is_number(value):
        raise arguments.invalid_combination("fill", input, value)
    return apply(TABLE["filled"], input, value)  # type: ignore[no-any-return]


@public(method=False)
def fill_(input: Any, value: Any) -> Tensor:
    """One value everywhere, in place."""
    return writes.fill_(input, value)


@public(method=False)
def zero_(input: Any) -> Tensor:
    """Zero everywhere, in place."""
    return writes.zero_(input)


for _name in ("addmv_", "as_strided_", "index_put_", "resize_as_", "xlogy_"):
    register(_name, METHODS[_name], method=False)


@public(method=False)
def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """Positions in a flattened tensor as positions along each dim of `shape`."""
    places = arguments.read_tensor("unravel_index", indices, "indices")._array
    if places.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, Tensor) or not isinstance(shape, (int, Sequence)):
        kind = "<class 'torch.Tensor'>" if isinstance(shape, Tensor) else type(shape)
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {kind}")
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in lengths:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in lengths):
        raise ValueError(f"'shape' cannot have negative values, but got {lengths}")
    widths = [math.prod(lengths[d + 1:]) for d in range(len(lengths))]
    found = places[..., None] // np.array(widths, np.int64) % np.array(lengths, np.int64)
    return tuple([wrap(found[..., d]) for d in range(len(lengths))])


@public()
def nonzero_static(input: Any, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The first `size` positions of nonzero elements, filled up with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = FUNCTIONS["nonzero"](arguments.read_tensor("nonzero_static", input))._array[:size]
    result = np.full((size, input._array.ndim), fill_value, np.int64)
    result[:len(found)] = found
    return with_out("nonzero_static", wrap(result), out)


@public()
def hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None) -> Tensor:
    """The bits of all elements combined by exclusive or, as a 64-bit number."""
    x = arguments.read_tensor("hash_tensor", input)
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    axes = read_axes("hash_tensor", x, dim) if dim != () else None
    return with_out("hash_tensor", apply(TABLE["hash_tensor"], x, axis=axes, keepdims=keepdim), out)


def _from_python(name: str) -> Callable[..., Tensor]:
    """apply_, map_ and map2_: every element replaced by what a Python function makes of it. Slow, as in torch."""
    def method(self: Any, *others_and_callable: Any) -> Tensor:
        *others, function = others_and_callable
        for t in (self, *others):
            if t.requires_grad:
                raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
                                   "instead.")
        for other in others:
            if other._array.dtype != self._array.dtype:
                raise TypeError(f"{name}: expected {self.type()} for 'other' (got {other.type()})")
        if not callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
        vectorised = np.frompyfunc(function, 1 + len(others), 1)
        others = [t.expand_as(self)._array for t in others]
        found = vectorised(self._array, *others)
        if found.size and not isinstance(first := np.ravel(found)[0], (int, float, complex, np.number)):
            raise TypeError(f"must be real number, not {type(first).__name__}")
        self._array[...] = found  # torch counts no version
        return self  # type: ignore[no-any-return]

    return public(function=False, name=name, doc="Every element replaced by what a Python function makes of it.")(method)


for _name in ("apply_", "map_", "map2_"):
    _from_python(_name)


def _copying(name: str, base: Callable[..., Any]) -> Callable[..., Any]:
    """`view_copy` and the like: what the view function gives, in memory of its own."""
    def copy(input: Any, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        kwargs.pop("implicit", None)
        result = base(arguments.read_tensor(name, input), *args, **kwargs)
        if isinstance(result, (tuple, list)):
            if out is not None:
                for piece, given in zip(result, out, strict=True):
                    with_out(name, piece, given, input)
                return None
            return tuple([piece.clone(memory_format=contiguous_format) for piece in result])
        return with_out(name, result.clone(memory_format=contiguous_format), out, input)

    return public(method=name == "narrow_copy", name=name, doc=f"`{name.removesuffix('_copy')}` as a copy.")(copy)


for _name in ("as_strided", "diagonal", "expand", "permute", "select", "split", "split_with_sizes",
              "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_real", "view_as_complex"):
    _copying(f"{_name}_copy", METHODS.get(_name) or FUNCTIONS[_name])
_copying("alias_copy", lambda x: x)


def _narrow(x: Any, dim: int, start: int, length: int) -> Any:
    if arguments.read_int("narrow_copy", "dim", 2, dim) >= x._array.ndim:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.")
    return FUNCTIONS["narrow"](x, dim, start, length)


_copying("narrow_copy", _narrow)


@public(method=False)
def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *,
               out: Any = None) -> Tensor:
    """A slice of one dim as a copy."""
    arguments.read_tensor("slice_copy", input)
    dim = arguments.read_int("slice_copy", "dim", 2, dim)
    places = (slice(None),) * (dim % max(input._array.ndim, 1)) + (slice(start, end, step),)
    return with_out("slice_copy", input[places].clone(), out, input)  # type: ignore[no-any-return]


@public(method=False)
def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Tensor:
    """`nn.functional.pad` with a constant, which may be complex."""
    shape = arguments.read_tensor("constant_pad_nd", input)._array.shape
    pairs = padding_by_dim(arguments.read_sizes("constant_pad_nd", pad, "pad", 2), shape)
    return constant_pad(input, pairs, arguments.read_number("constant_pad_nd", "value", 3, value))


@public(function=False)
@made_under_transforms("like")
def new_empty_strided(self: Any, size: Any, stride: Any, *, dtype: Any = None, **place: Any) -> Tensor:
    """An uninitialised tensor with these strides, in the dtype of this one."""
    return FUNCTIONS["empty_strided"](size, stride, dtype=dtype or self.dtype, **place)  # type: ignore[no-any-return]


@public(function=False)
def chalf(self: Any, *, memory_format: Any = None) -> Tensor:
    """Not supported: NumPy has no complex numbers of half precision."""
    raise NotImplementedError("Tensor.chalf() is not supported: NumPy has no complex32; use cfloat()")


@public(method=False)
def typename(obj: Any) -> str:
    """The name of an object's type as torch gives it."""
    if isinstance(obj, Tensor):
        return obj.type()  # type: ignore[attr-defined, no-any-return]
    kind = type(obj)
    if kind.__module__ in ("", "builtins"):
        return kind.__qualname__
    return f"{torch_home(kind) or kind.__module__}.{kind.__qualname__}"


@public(function=False)
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself: there are no others than dense ones."""
    return self if dtype is None else self.to(dtype)  # type: ignore[no-any-return]


@public(function=False)
def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether both look at the same memory in the same way."""
    a, b = arguments.read_tensor("is_set_to", self)._memory, arguments.read_tensor("is_set_to", tensor, "tensor")._memory
    return a.__array_interface__["data"] == b.__array_interface__["data"] and (a.shape, a.strides) == (b.shape, b.strides)


@public(function=False)
def as_subclass(self: Any, cls: type[Tensor]) -> Any:
    """The same tensor, in the graph and in memory, as one of another class."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError("cls must be a type (not an instance) that inherits from Tensor")
    result = rows.alias(arguments.read_tensor("as_subclass", self))
    return result if cls is Tensor else as_instance(cls, result)


@public(function=False)
def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the one with the largest step in memory to the one with the smallest."""
    array = arguments.read_tensor("dim_order", self)._array
    strides = array.strides
    if not isinstance(ambiguity_check, (bool, list)) or (ambiguity_check and isinstance(ambiguity_check, list) and not all(
            isinstance(format, memory_format) for format in ambiguity_check)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if isinstance(ambiguity_check, list):
        is_ambiguous = sum(self.is_contiguous(memory_format=format) for format in ambiguity_check) != 1
    else:
        is_ambiguous = ambiguity_check and (1 in array.shape or len(set(strides)) < len(strides))
    if is_ambiguous:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


class _Absent:
    """Stands for a name that torch's Tensor has and ours has not. (A `__getattr__` would slow every attribute down.)"""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:  # programs go through dir(torch.Tensor)
            return missing(f"torch.Tensor.{self._name}")
        raise missing_from_tensor(owner.__name__, self._name)


for _name in TENSOR_NAMES:
    METHODS[_name] = _Absent(_name)  # type: ignore[assignment]
