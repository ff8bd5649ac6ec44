"""Comparing and choosing, element by element."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.base.errors import warn
from whygrad.core.door import is_batched
from whygrad.core.modes import grad_state
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_range, invalid_combination, read_tensor, wrong_type
from whygrad.functional.dispatch import Function, Takes, as_operand, binary, number_as_tensor, publish, settled, unary
from whygrad.functional.inplace import write, writer
from whygrad.functional.promotion import cast, promote, result_dtype
from whygrad.functional.run import FUNCTIONS, public, with_out
from whygrad.ops.table import TABLE

NOT_COMPLEX = "biufV"
PLAIN = (float, int)
# The largest number that fits into every floating dtype.
LIMIT = 65504


def _write_booleans(name: str, row_name: str, takes: Takes, numbers: bool, aliases: tuple[str, ...]) -> None:
    """`x.eq_(y)`: compared in the common dtype, written as zeros and ones of `x`'s."""

    def written(self: Any, other: Any) -> Any:
        b = as_operand(other)
        if not numbers and not isinstance(b, Tensor):
            raise wrong_type(f"{name}_", "other", 2, "Tensor", other)
        if b is NotImplemented:
            raise invalid_combination(f"{name}_", self, other)
        dtype = result_dtype(self, b)
        takes.check(dtype)
        inputs = tuple(promote(name, self, b, dtype=dtype))
        return write(row_name, self, *inputs, promotes=False)

    publish(written, f"{name}_", doc=f"In-place version of `{name}`.", function=False,
            aliases=[f"{alias}_" for alias in aliases])


for _name, _alias in (("eq", ""), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
                      ("ge", "greater_equal")):
    _takes = Takes() if _name in ("eq", "ne") else Takes(NOT_COMPLEX, f"{_name}_cpu")
    _aliases = (_alias,) if _alias else ()
    binary(_name, takes=_takes, inplace=False, aliases=_aliases)
    _write_booleans(_name, f"{_name}_inplace", _takes, True, _aliases)

for _name in ("logical_and", "logical_or", "logical_xor"):
    binary(_name, numbers="none", overloaded=False, inplace=False)
    _write_booleans(_name, _name, Takes(), False, ())

unary("logical_not", inplace_function=False)
unary("bitwise_not", inplace_function=False, takes=Takes("biu", "bitwise_not_cpu"))

for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    binary(_name, numbers="either", takes=Takes("biu", f"{_name}_cpu"))

binary("bitwise_left_shift", numbers="either", takes=Takes("iu", "lshift_cpu"))
binary("bitwise_right_shift", numbers="either", takes=Takes("iu", "rshift_cpu"))

for _name in ("maximum", "minimum", "fmax", "fmin"):
    binary(_name, numbers="none", overloaded=False, inplace=False, takes=Takes(NOT_COMPLEX, refusals={
        "c": RuntimeError(f"{_name} not implemented for complex tensors.")}))


@public(method=False)
def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """`input` where the condition holds, `other` elsewhere; of the condition alone, where it holds."""
    if (out is None and isinstance(input, Tensor) and isinstance(other, Tensor) and isinstance(condition, Tensor)
            and input._array.dtype is other._array.dtype and condition._array.dtype.kind == "b"):
        return apply(TABLE["where"], condition, input, other)
    if not isinstance(condition, Tensor):
        raise invalid_combination("where", condition, input, other)
    if input is None and other is None:
        if grad_state.levels and is_batched(condition):
            raise condition._level.dynamic_shape("where")  # type: ignore[attr-defined]
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    a, b = as_operand(input), as_operand(other)
    if a is NotImplemented or b is NotImplemented:
        raise invalid_combination("where", condition, input, other)
    if out is not None:
        read_tensor("where", input, "input", 2)
        read_tensor("where", other, "other", 3)
    kind = condition._array.dtype.kind
    if kind != "b":
        if condition._array.dtype != "uint8":
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                               f"{condition.dtype.scalar_name}")
        warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
             "future version of PyTorch. Use a boolean condition instead.")
        condition = condition.to(bool)  # type: ignore[attr-defined]
    dtype = result_dtype(a, b)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = cast(number_as_tensor(a), dtype.numpy)
    if isinstance(out, Tensor) and out.dtype is not dtype:
        raise RuntimeError(f"Expected out type to be {dtype.scalar_name} but got {out.dtype.scalar_name}")
    result = apply(TABLE["where"], condition, *promote("where", a, b, dtype=dtype))
    return with_out("where", result, out, condition, input, other)


@public(function=False, name="where")
def where_method(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where the condition holds, `other` elsewhere."""
    return where(condition, self, other)


def _bounds(caller: str, input: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Two numbers, or two tensors, or None."""
    a = None if low is None else as_operand(low)
    b = None if high is None else as_operand(high)
    mixed = a is not None and b is not None and isinstance(a, Tensor) != isinstance(b, Tensor)
    if mixed:  # a tensor of no dims may be the other number
        a, b = (x._array.item() if isinstance(x, Tensor) and not x._array.ndim and not x.requires_grad else x for x in (a, b))
        mixed = isinstance(a, Tensor) or isinstance(b, Tensor)
    if a is NotImplemented or b is NotImplemented or mixed or not isinstance(input, Tensor):
        raise invalid_combination(caller, input, *(x for x in (low, high) if x is not None))
    if a is None and b is None:
        if caller.startswith(("clamp_m", "clip_m")):
            raise invalid_combination(caller, input, None)
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if (isinstance(a, complex) or isinstance(b, complex)) and not caller.startswith("clamp_m"):
        raise RuntimeError("value cannot be converted to type double without overflow")
    dtype = result_dtype(input, *(x for x in (a, b) if x is not None))
    if dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    one_side = "_min" if b is None else "_max" if a is None else ""
    if dtype is dtypes.bool_ and not (one_side and isinstance(b if a is None else a, Tensor)):
        kind = "" if isinstance(a, Tensor) else "_scalar"
        raise NotImplementedError(f"\"clamp{one_side}{kind}_cpu\" not implemented for 'Bool'")
    for x in (a, b):
        if x is not None and not isinstance(x, Tensor):
            check_range(x, dtype)
    return a, b


def _are_plain_bounds(input: Any, low: Any, high: Any) -> bool:
    """Numbers, at least one of them, which fit into every floating dtype: nothing to check, and nothing to promote."""
    return (isinstance(input, Tensor) and input._array.dtype.kind == "f" and (low is not None or high is not None)
            and (low is None or (type(low) in PLAIN and -LIMIT <= low <= LIMIT))
            and (high is None or (type(high) in PLAIN and -LIMIT <= high <= LIMIT)))


_write_clamped = writer("clamp", "tss")


@public()
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Values below `min` raised to it, above `max` lowered to it."""
    if out is None and _are_plain_bounds(input, min, max):
        return apply(TABLE["clamp"], input, min, max)
    low, high = _bounds("clamp", input, min, max)
    result = apply(TABLE["clamp"], *promote("clamp", input, low, high))
    if isinstance(out, Tensor) and out.dtype is not result.dtype and not isinstance(low, Tensor) and not isinstance(high, Tensor):
        raise RuntimeError(f"Found dtype {out.dtype.scalar_name} but expected {result.dtype.scalar_name}")
    return with_out("clamp", result, out, input, min, max)


@public()
def clamp_(input: Any, min: Any = None, max: Any = None) -> Any:
    if _are_plain_bounds(input, min, max):
        return _write_clamped(input, min, max)
    low, high = _bounds("clamp_", input, min, max)
    return write("clamp", input, input, low, high, computes_in=_between_tensors if Tensor in (type(low), type(high))
                       else _between_numbers)


def _between_numbers(common: dtypes.dtype, target: dtypes.dtype) -> dtypes.dtype:
    if not dtypes.can_cast(common, target):
        raise RuntimeError(f"result type {common.scalar_name} can't be cast to the desired output type {c_name(target)}")
    return common


_between_tensors = settled(Takes())


public(name="clip")(clamp)
public(name="clip_")(clamp_)


def _clamp_one_side(name: str, argument: str) -> tuple[Function, Function]:
    def check(caller: str, input: Any, bound: Any) -> Any:
        low, high = _bounds(caller, input, *((bound, None) if argument == "min" else (None, bound)))
        return low if argument == "min" else high

    def run(input: Any, bound: Any, out: Any) -> Any:
        b = check(name, input, bound)
        return with_out(name, apply(TABLE[name], *promote(name, input, b)), out, input, bound)

    def write_over(self: Any, bound: Any) -> Any:
        b = check(f"{name}_", self, bound)
        in_dtype = _between_tensors if isinstance(b, Tensor) else _between_numbers
        return write(name, self, self, b, computes_in=in_dtype)

    return run, write_over


_clamp_min, _clamp_min_inplace = _clamp_one_side("clamp_min", "min")
_clamp_max, _clamp_max_inplace = _clamp_one_side("clamp_max", "max")


@public()
def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """`clamp` with `min` only."""
    if out is not None and isinstance(min, Tensor):
        return clamp(input, min, out=out)
    return _clamp_min(input, min, out)


@public()
def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """`clamp` with `max` only."""
    if out is not None and isinstance(max, Tensor):
        return clamp(input, max=max, out=out)
    return _clamp_max(input, max, out)


@public()
def clamp_min_(input: Any, min: Any) -> Any:
    return _clamp_min_inplace(input, min)


@public()
def clamp_max_(input: Any, max: Any) -> Any:
    return _clamp_max_inplace(input, max)
