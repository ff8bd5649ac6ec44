"""Makers of pointwise functions: from a row and a few facts, the torch-named function and its in-place twin.

What they share: a short path for arguments that need nothing done, then argument checks, torch's promotion, `out=`.
Rows are compiled at the first call, not at import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.broadcasting import check_broadcast
from whygrad.base.door import MISSING, REFUSALS, Spec, call, dispatch, refuse
from whygrad.core.record import apply, compiled
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import INT64_LIMIT, invalid_combination, not_implemented, wrong_type
from whygrad.functional.inplace import ComputesIn, check_castable, write, writer
from whygrad.functional.promotion import cast, promote, result_dtype
from whygrad.functional.run import register
from whygrad.functional.writes import with_out
from whygrad.ops.table import TABLE, Row

# Kinds of NumPy dtypes: b bool, i and u integers, f floating, V bfloat16, c complex.
FLOATS = "fV"
REALS = "iufV"
ANY = "biufVc"
INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)

Function = Callable[..., Any]


class Takes:
    """The dtypes an op takes, and how it refuses the others."""

    def __init__(self, kinds: str = ANY, kernel: str = "", refusals: dict[str, Exception] | None = None) -> None:
        self.kinds = kinds
        self.kernel = kernel
        self.refusals = refusals or {}

    def check_tensor(self, name: str, input: Any) -> None:
        if not isinstance(input, Tensor):
            raise wrong_type(name, "input", 1, "Tensor", input)
        if input._array.dtype.kind not in self.kinds:
            self.check(input.dtype)

    def check(self, dtype: dtypes.dtype) -> None:
        if dtype is dtypes.complex32 and "c" not in self.kinds:
            raise NotImplementedError(f"\"{self.kernel}\" not implemented for 'ComplexHalf'")
        kind = dtype.numpy.kind
        if kind in self.kinds:
            return
        known = self.refusals.get(kind)
        if known is not None:
            raise type(known)(*known.args)
        raise not_implemented(self.kernel, dtype)

    def check_after_shapes(self, dtype: dtypes.dtype, *inputs: Any) -> None:
        """The same, but tensors that do not broadcast are refused first, as torch does."""
        if dtype is dtypes.complex32 or dtype.numpy.kind not in self.kinds:
            check_broadcast([x._array for x in inputs if isinstance(x, Tensor)])
        self.check(dtype)


ANYTHING = Takes()


def settled(takes: Takes, to_float: bool = False) -> ComputesIn:
    """For an in-place function: the dtype it computes in, after what torch checks in this order."""

    def computes_in(common: dtypes.dtype, target: dtypes.dtype) -> dtypes.dtype:
        dtype = default_float(common) if to_float else common
        check_castable(dtype, target)
        takes.check(common)
        return dtype

    return computes_in


def in_wide_steps(common: dtypes.dtype, target: dtypes.dtype) -> dtypes.dtype:
    """For an in-place function of half precision beside a number."""
    check_castable(common, target)
    return dtypes.float32


def publish(f: Function, name: str, *, doc: str, aliases: Iterable[str] = (), **options: Any) -> Function:
    """Give a made function its name, and put it where users find it (see `register`)."""
    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    for alias in aliases:
        register(alias, f, **options)
    return register(name, f, **options)


Short = Callable[[Spec], Function]


def as_given(x: Any, /, **named: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments and keywords of a call: of parameters that could be given by keyword, those that stand behind `x` were not."""
    given = {name: value for name, value in named.items() if value is not MISSING}
    return ((x, *given.values()), {}) if x is not MISSING and "input" in given else ((x,), given)


def short_for_one(load: Callable[[], Function], ready: str) -> tuple[Short, Short]:
    """Function and method that go straight to the row, if there is but a tensor of a dtype that the row takes as it is.

    The row is compiled (by `load`) when it is first needed. The tensor may be given by position or keyword; two parameters
    for it tell which, and cost less than `**kwargs`.
    """
    float_ready = "f" in ready

    def function(spec: Spec) -> Function:
        fast: Function

        def first(input: Tensor) -> Any:
            nonlocal fast
            fast = load()
            return fast(input)

        fast = first
        implementation = spec.implementation

        def short(x: Any = MISSING, /, input: Any = MISSING, out: Any = MISSING) -> Any:
            if input is not MISSING or out is not MISSING or x is MISSING or spec.handlers:
                return call(spec, *as_given(x, input=input, out=out))
            try:
                if isinstance(x, Tensor):
                    dtype = x._array.dtype
                    if (dtype is FLOAT32 and float_ready) or dtype.kind in ready:
                        return fast(x)
                return implementation(x)
            except REFUSALS as error:
                return refuse(error, spec, (x,), {})

        return short

    def method(spec: Spec) -> Function:
        fast: Function

        def first(input: Tensor) -> Any:
            nonlocal fast
            fast = load()
            return fast(input)

        fast = first
        implementation = spec.implementation

        def short(self: Any) -> Any:
            if spec.handlers:
                return dispatch(spec, (self,), {})
            try:
                if isinstance(self, Tensor):
                    dtype = self._array.dtype
                    if (dtype is FLOAT32 and float_ready) or dtype.kind in ready:
                        return fast(self)
                return implementation(self)
            except REFUSALS as error:
                return refuse(error, spec, (self,), {})

        return short

    return function, method


def short_for_two(load: Callable[[], Function], ready: str, with_number: Function | None = None) -> Short:
    """The same for two tensors of one dtype; and, if `with_number` is given, for float32 beside a number."""

    def function(spec: Spec) -> Function:
        fast: Function

        def first(input: Tensor, other: Tensor) -> Any:
            nonlocal fast
            fast = load()
            return fast(input, other)

        fast = first
        implementation = spec.implementation

        def short(input: Any = MISSING, other: Any = MISSING, /, *args: Any, **kwargs: Any) -> Any:
            if args or kwargs or other is MISSING or spec.handlers:
                return call(spec, (input, other, *args), kwargs)
            try:
                if isinstance(input, Tensor) and isinstance(other, Tensor):
                    dtype = input._array.dtype
                    if dtype is other._array.dtype and dtype.kind in ready:
                        return fast(input, other)
                elif with_number is not None and (type(other) is float or type(other) is int) and isinstance(input, Tensor) and (
                        input._array.dtype is FLOAT32 and -INT64_LIMIT <= other < INT64_LIMIT):
                    return with_number(input, other)
                return implementation(input, other)
            except REFUSALS as error:
                return refuse(error, spec, (input, other), {})

        return short

    return function


def short_along_dim(row_name: str, ready: str, whole_row_name: str = "") -> Short:
    """Straight to the row for a dim by position or keyword; in a reduction, with `keepdim`, or for all dims by another row."""

    def function(spec: Spec) -> Function:
        along: Function
        whole: Function

        def first(input: Tensor, **statics: Any) -> Any:
            nonlocal along
            along = compiled(TABLE[row_name], "t", at_door=True)
            return along(input, **statics)

        def first_whole(input: Tensor) -> Any:
            nonlocal whole
            whole = compiled(TABLE[whole_row_name], "t", at_door=True)
            return whole(input)

        along, whole = first, first_whole
        implementation = spec.implementation

        def short(input: Any = MISSING, dim: Any = MISSING, /, *args: Any, **kwargs: Any) -> Any:
            if input is MISSING or args or spec.handlers:
                return call(spec, (input, dim, *args), kwargs)
            try:
                if isinstance(input, Tensor) and input._array.dtype.kind in ready:
                    if not kwargs:
                        if dim is MISSING and whole_row_name:
                            return whole(input)
                        axis, keepdim = dim, False
                    else:
                        axis = dim if dim is not MISSING else kwargs.get("dim")
                        keepdim = kwargs.get("keepdim", False)
                        if len(kwargs) != (axis is not dim) + ("keepdim" in kwargs):
                            axis = None  # there is more
                    if type(axis) is int and type(keepdim) is bool and -(ndim := input._array.ndim) <= axis < ndim:
                        if whole_row_name:
                            return along(input, axis=(axis % ndim,), keepdims=keepdim)
                        if "keepdim" not in kwargs:
                            return along(input, axis=(axis % ndim,))
                return implementation(input, **kwargs) if dim is MISSING else implementation(input, dim, **kwargs)
            except REFUSALS as error:
                return refuse(error, spec, (input,) if dim is MISSING else (input, dim), kwargs)

        return short

    return function


def as_operand(value: Any) -> Any:
    """A Tensor or Python number as it is, a NumPy scalar as a Python number, anything else as NotImplemented."""
    if isinstance(value, Tensor) or type(value) is float or type(value) is int:
        return value
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, (int, float, complex)):
        return value
    if isinstance(value, np.bool_):
        return float(value)
    return NotImplemented


def default_float(dtype: dtypes.dtype) -> dtypes.dtype:
    """What functions with fractional results compute in."""
    return dtype if dtype.category > 1 else dtypes.get_default_dtype()


def number_as_tensor(value: Any) -> Tensor:
    return wrap(np.asarray(value, dtypes.result_dtype([value]).numpy))


def is_at_home(number: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number beside an array of this dtype needs no promotion, and no check."""
    if type(number) is float:
        return dtype.char in "fdFD"
    return type(number) is int and -INT64_LIMIT <= number < INT64_LIMIT and (dtype.char in "fdFD" or dtype is INT64)


HALVES = (dtypes.float16, dtypes.bfloat16)


def is_half_beside_number(dtype: dtypes.dtype, other: Any) -> bool:
    """Whether torch multiplies or divides in float32 here: it rounds the result, and not a number such as 0.1 before that."""
    return dtype in HALVES and not (isinstance(other, Tensor) and other._array.ndim)


def scaled(row: Row, dtype: dtypes.dtype, a: Any, b: Any) -> Any:
    """A product or a quotient in `dtype`."""
    if is_half_beside_number(dtype, b):
        return cast(apply(row, *promote(row.name, a, b, dtype=dtypes.float32)), dtype.numpy)
    return apply(row, *promote(row.name, a, b, dtype=dtype))


def unary(name: str, *, takes: Takes = ANYTHING, to_float: bool = False, complex_row: str | None = None,
          inplace: bool = True, inplace_row: str | None = None, inplace_function: bool = True,
          out_argument: bool = True, aliases: tuple[str, ...] = ()) -> Function:
    """`f(input, *, out)` and `input.f_()`. With `to_float` integers become floating first."""
    row = TABLE[name]
    ready = takes.kinds.translate(str.maketrans("", "", ("biu" if to_float else "") + ("c" if complex_row else "")))

    def run(input: Any) -> Any:
        if not isinstance(input, Tensor):
            raise wrong_type(name, "input", 1, "Tensor", input)
        dtype = input.dtype
        takes.check(dtype)
        if to_float and dtype.category < 2:
            input = cast(input, dtypes.get_default_dtype().numpy)
        return apply(TABLE[complex_row] if complex_row and dtype.is_complex else row, input)

    def function(input: Any, *, out: Any = None) -> Any:
        return with_out(name, run(input), out, input)

    def function_without_out(input: Any) -> Any:
        return run(input)

    def written(input: Any) -> Any:
        if not isinstance(input, Tensor):
            raise wrong_type(f"{name}_", "input", 1, "Tensor", input)
        row_name = complex_row if complex_row and input._array.dtype.kind == "c" else inplace_row or name
        return write(row_name, input, input, computes_in=computes_in)

    write_self = writer(inplace_row or name, "t")
    computes_in = settled(takes, to_float)

    short, short_method = short_for_one(lambda: compiled(row, "t", at_door=True), ready)
    chosen = publish(function if out_argument else function_without_out, name, doc=f"{name} of each element.",
                     aliases=aliases, short=short, short_method=short_method)
    if inplace:
        short, short_method = short_for_one(lambda: write_self, ready)
        publish(written, f"{name}_", doc=f"In-place version of `{name}`.", aliases=[f"{a}_" for a in aliases],
                function=inplace_function, short=short, short_method=short_method)
    return chosen


def binary(name: str, *, row_name: str | None = None, takes: Takes = ANYTHING, to_float: bool = False,
           numbers: str = "second", overloaded: bool = True, inplace: bool = True, method: bool = True, scales: bool = False,
           of_number: str | None = None, aliases: tuple[str, ...] = ()) -> Function:
    """`f(input, other, *, out)` and `input.f_(other)`.

    `numbers` says where a Python number may stand instead of a tensor: "none", "second", "either", "both". `overloaded`
    chooses between torch's two ways to refuse an argument. `scales`: a number beside half precision is not rounded to it.
    `of_number` is the row for a number as the first argument, if it is another one.
    """
    row = TABLE[row_name or name]
    number_row = TABLE[of_number] if of_number else row
    ready = takes.kinds.translate(str.maketrans("", "", "biu" if to_float else ""))

    write_tensor, write_number = writer(row.name, "tt"), writer(row.name, "ts")

    def operands(caller: str, input: Any, other: Any) -> tuple[Any, Any]:
        a, b = as_operand(input), as_operand(other)
        fits = (isinstance(a, Tensor) or (numbers in ("either", "both") and a is not NotImplemented),
                isinstance(b, Tensor) or (numbers != "none" and b is not NotImplemented))
        if not all(fits) or not (isinstance(a, Tensor) or isinstance(b, Tensor) or not overloaded or numbers == "both"):
            if overloaded:
                raise invalid_combination(caller, input, other)
            position = 2 if fits[0] else 1
            name_shown, value = (("input", input), ("other", other))[position - 1]
            raise wrong_type(caller, name_shown, position, "Tensor", value)
        if not isinstance(a, Tensor) and not isinstance(b, Tensor):
            a = number_as_tensor(a)
        return a, b

    def function(input: Any, other: Any, *, out: Any = None) -> Any:
        a, b = operands(name, input, other)
        dtype = result_dtype(a, b)
        takes.check_after_shapes(dtype, a, b)
        if to_float:
            dtype = default_float(dtype)
        chosen = row if isinstance(a, Tensor) else number_row
        result = scaled(row, dtype, a, b) if scales else apply(chosen, *promote(name, a, b, dtype=dtype))
        return with_out(name, result, out, input, other)

    def written(input: Any, other: Any) -> Any:
        if numbers != "none" and isinstance(input, Tensor) and is_at_home(other, input._array.dtype) and (
                input._array.dtype.kind in ready):
            return write_number(input, other)
        a, b = operands(f"{name}_", input, other)
        if a is not input or not isinstance(a, Tensor):
            raise invalid_combination(f"{name}_", input, other)
        wide = scales and is_half_beside_number(a.dtype, b)
        return write(row.name, a, a, b, computes_in=in_wide_steps if wide else computes_in)

    computes_in = settled(takes, to_float)
    short = short_for_two(lambda: compiled(row, "tt", at_door=True), ready)
    published = publish(function, name, doc=f"{name} of two tensors, element by element.", method=method, aliases=aliases,
                        short=short)
    if inplace:
        number = write_number if numbers != "none" and "f" in ready else None
        publish(written, f"{name}_", doc=f"In-place version of `{name}`.", function=False,
                aliases=[f"{a}_" for a in aliases], short=short_for_two(lambda: write_tensor, ready, number))
    return published
