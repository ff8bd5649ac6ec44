"""Arithmetic of two and three tensors, element by element."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.core.record import apply, compiled, tracked_nodes
from whygrad.core.tensor import Tensor
from whygrad.core.write import check_inplace
from whygrad.functional import arguments
from whygrad.functional.dispatch import (
    ANYTHING,
    FLOATS,
    REALS,
    Takes,
    as_operand,
    binary,
    default_float,
    in_wide_steps,
    is_at_home,
    is_half_beside_number,
    number_as_tensor,
    publish,
    scaled,
    settled,
    short_for_two,
)
from whygrad.functional.inplace import check_castable, writer
from whygrad.functional.old_order import takes_old_order
from whygrad.functional.promotion import as_number, cast, promote, result_dtype, rounded_number
from whygrad.functional.run import public, with_out, write
from whygrad.ops.table import TABLE

binary("mul", numbers="either", overloaded=False, scales=True)
binary("multiply", row_name="mul", numbers="both", scales=True)
binary("true_divide", row_name="div", numbers="both", to_float=True, scales=True)
binary("atan2", numbers="none", overloaded=False, to_float=True, takes=Takes("biu" + FLOATS, "atan2_cpu"),
       aliases=("arctan2",))
binary("fmod", takes=Takes(REALS, "fmod_cpu"))
binary("hypot", numbers="none", overloaded=False, takes=Takes(FLOATS, "hypot_cpu"))
binary("copysign", to_float=True, takes=Takes("biu" + FLOATS, "copysign_cpu"))
binary("xlogy", numbers="either", to_float=True, takes=Takes("biu" + FLOATS, "xlogy_cpu"))
binary("logaddexp", numbers="none", overloaded=False, inplace=False, takes=Takes(FLOATS + "c", "logaddexp_cpu"))
binary("logaddexp2", numbers="none", overloaded=False, inplace=False, takes=Takes(FLOATS, "logaddexp2_cpu"))


# The default of `alpha`, told apart from 1.0 and True by identity.
ONE = 1


def _check_alpha(alpha: Any, dtype: dtypes.dtype) -> None:
    if isinstance(alpha, bool) and dtype.category > 0:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and dtype.category < 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_no_bools(a: Any, b: Any) -> None:
    """Subtraction is not for booleans."""
    bools = [isinstance(x, bool) or (isinstance(x, Tensor) and x._array.dtype.kind == "b") for x in (a, b)]
    if all(bools):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                           "`logical_xor()` operator instead.")
    if any(bools):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                           "invert a mask, use the `~` or `logical_not()` operator instead.")


def _additive(name: str, *, alias: tuple[str, ...] = ()) -> None:
    """`add` and `sub`, which scale their second argument by `alpha`."""
    row, scaled = TABLE[name], TABLE[f"{name}_scaled"]
    ready = "biufVc" if name == "add" else "iufVc"

    write_tensor, write_number = writer(name, "tt"), writer(name, "ts")

    def operands(caller: str, input: Any, other: Any, alpha: Any) -> tuple[Any, Any, Any, dtypes.dtype]:
        a, b = as_operand(input), as_operand(other)
        if a is NotImplemented:
            raise arguments.wrong_type(caller, "input", 1, "Tensor", input)
        if b is NotImplemented:
            raise arguments.wrong_type(caller, "other", 2, "Tensor", other)
        alpha = arguments.read_number(caller, "alpha", None, alpha)
        if caller != name:
            check_inplace(a, (a, b))
        if name == "sub":
            _check_no_bools(a, b)
        if not isinstance(a, Tensor) and not isinstance(b, Tensor):
            a = number_as_tensor(a)
        dtype = result_dtype(a, b)
        _check_alpha(alpha, dtype)
        if not isinstance(b, Tensor) and alpha != 1 and dtype.itemsize > 2:  # a half would round the product
            b, alpha = rounded_number(b, dtype, name) * rounded_number(alpha, dtype, name), 1
        return a, b, alpha, dtype

    @takes_old_order
    def function(input: Any, other: Any, *, alpha: Any = ONE, out: Any = None) -> Any:
        a, b, alpha, dtype = operands(name, input, other, alpha)
        a, b = promote(name, a, b, dtype=dtype)
        result = (apply(row, a, b) if alpha == 1 else
                  apply(scaled, a, b, alpha=rounded_number(alpha, dtype, name)))
        return with_out(name, result, out, input, other)

    @takes_old_order
    def written(self: Any, other: Any, *, alpha: Any = ONE) -> Any:
        if alpha is ONE and is_at_home(other, self._array.dtype):
            return write_number(self, other)
        if type(alpha) is float and type(other) is Tensor and other._array.dtype is self._array.dtype and (
                self._array.dtype.char in "fd"):
            return write(scaled.name, self, self, other, alpha=alpha)
        a, b, alpha, dtype = operands(f"{name}_", self, other, alpha)
        if alpha == 1:
            return write(name, a, a, b)
        b = b if isinstance(b, Tensor) else rounded_number(b, dtype, name)
        return write(scaled.name, a, a, b, alpha=rounded_number(alpha, dtype, name))

    publish(function, name, doc=f"{name} `other`, scaled by `alpha`, element by element.", aliases=alias,
            short=short_for_two(lambda: compiled(row, "tt", at_door=True), ready))
    publish(written, f"{name}_", doc=f"In-place version of `{name}`.", function=False, aliases=[f"{a}_" for a in alias],
            short=short_for_two(lambda: write_tensor, ready, write_number))


_additive("add")
_additive("sub", alias=("subtract",))


@public(method=False)
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`."""
    b = as_operand(other)
    if not isinstance(input, Tensor) or b is NotImplemented:
        raise arguments.invalid_combination("rsub", input, other)
    _check_no_bools(input, b)
    dtype = result_dtype(input, b)
    _check_alpha(alpha, dtype)
    return apply(TABLE["rsub"], *promote("rsub", input, b, dtype=dtype), alpha=rounded_number(alpha, dtype, "rsub"))


def _operands(name: str, input: Any, other: Any, *, overloaded: bool = False) -> tuple[Any, Any]:
    a, b = as_operand(input), as_operand(other)
    if a is NotImplemented or b is NotImplemented:
        if overloaded:
            raise arguments.invalid_combination(name, input, other)
        position = 1 if a is NotImplemented else 2
        raise arguments.wrong_type(name, ("input", "other")[position - 1], position, "Tensor", (input, other)[position - 1])
    arguments.check_int(b)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        a = number_as_tensor(a)
    return a, b


ROUNDING = {"floor": Takes(REALS, "div_floor_cpu"), "trunc": Takes(REALS, "div_trunc_cpu")}


def _check_mode(mode: Any) -> None:
    if mode not in ROUNDING:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


@public(short=short_for_two(lambda: compiled(TABLE["div"], "tt", at_door=True), "fc"))
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """Division; rounded towards zero ("trunc") or down ("floor") if asked."""
    a, b = _operands("div", input, other)
    dtype = result_dtype(a, b)
    if rounding_mode is None:
        result = scaled(TABLE["div"], default_float(dtype), a, b)
    else:
        _check_mode(rounding_mode)
        ROUNDING[rounding_mode].check(dtype)
        result = apply(TABLE["div_rounded"], *promote("div", a, b, dtype=dtype), mode=rounding_mode)
    return with_out("div", result, out, input, other)


_divide, _divide_by_number = writer("div", "tt"), writer("div", "ts")


@public(function=False)
def div_(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None and isinstance(self, Tensor) and self._array.dtype.char in "fdFD":
        if is_at_home(other, self._array.dtype):
            return _divide_by_number(self, other)
        if isinstance(other, Tensor) and other._array.dtype is self._array.dtype:
            return _divide(self, other)
    a, b = _operands("div_", self, other)
    if rounding_mode is None:
        computes_in = in_wide_steps if is_half_beside_number(a.dtype, b) else _in_floats
        return write("div", a, a, b, computes_in=None if a._array.dtype.char in "fdFD" else computes_in)
    _check_mode(rounding_mode)
    return write("div_rounded", a, a, b, computes_in=settled(ROUNDING[rounding_mode]), mode=rounding_mode)


_in_floats = settled(ANYTHING, to_float=True)


public(name="divide")(div)
public(name="divide_", function=False)(div_)


@public()
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Division, rounded down."""
    a, b = _operands("floor_divide", input, other, overloaded=True)
    dtype = result_dtype(a, b)
    ROUNDING["floor"].check(dtype)
    result = apply(TABLE["floor_divide"], *promote("floor_divide", a, b, dtype=dtype))
    return with_out("floor_divide", result, out, input, other)


@public(function=False)
def floor_divide_(self: Any, other: Any) -> Any:
    a, b = _operands("floor_divide_", self, other, overloaded=True)
    return write("floor_divide_inplace", a, a, b, computes_in=settled(ROUNDING["floor"]))


# It has the sign of `other`.
binary("remainder", numbers="either", takes=Takes(REALS, "remainder_cpu"), of_number="remainder_of_number")

POW = Takes("iufVc", "pow")


def _check_integer_power(dtype: dtypes.dtype, exponent: Any) -> None:
    if dtype.category < 2 and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


@public()
def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """`input` to the power of `exponent`; one of them may be a number."""
    if (type(exponent) is int or type(exponent) is float) and out is None and isinstance(input, Tensor) and (
            input._array.dtype.kind == "f" and input._array.dtype.itemsize > 2):
        return apply(TABLE["pow_number"], input, exponent=exponent)
    a, b = as_operand(input), as_operand(exponent)
    if a is NotImplemented or b is NotImplemented or not (isinstance(a, Tensor) or isinstance(b, Tensor)):
        raise arguments.invalid_combination("pow", input, exponent)
    dtype = result_dtype(a, b)
    if not isinstance(b, Tensor):
        _check_integer_power(dtype, b)
        result = apply(TABLE["pow_number"], cast(a, dtype.numpy), exponent=rounded_number(b, dtype, "pow"))
    else:
        POW.check(dtype)
        a, b = promote("pow", a, b, dtype=dtype)
        if not isinstance(a, Tensor) and dtype.is_complex:
            a = complex(a)  # its logarithm is
        result = apply(TABLE["pow"], a, b) if isinstance(a, Tensor) else apply(TABLE["pow_of_number"], b, base=a)
    return with_out("pow", result, out, input, exponent)


@public(function=False)
def pow_(self: Any, exponent: Any) -> Any:
    b = as_operand(exponent)
    if b is NotImplemented:
        raise arguments.invalid_combination("pow_", self, exponent)
    if isinstance(b, Tensor):
        return write("pow", self, self, b, computes_in=settled(POW))
    dtype = result_dtype(self, b)
    _check_integer_power(dtype, b)

    def computes_in(common: dtypes.dtype, target: dtypes.dtype) -> dtypes.dtype:
        check_castable(dtype, target)
        return dtype

    return write("pow_number", self, self, computes_in=computes_in, exponent=rounded_number(b, dtype, "pow"))


def _double(*values: Any) -> dtypes.dtype:
    return dtypes.complex128 if result_dtype(*values).is_complex else dtypes.float64


def _as_double(x: Any, dtype: dtypes.dtype) -> Any:
    return x.to(dtype) if isinstance(x, Tensor) else dtype.numpy.type(x).item()  # type: ignore[attr-defined]


@public()
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """`pow` in double precision."""
    a, b = as_operand(input), as_operand(exponent)
    if a is NotImplemented or b is NotImplemented or not (isinstance(a, Tensor) or isinstance(b, Tensor)):
        raise arguments.invalid_combination("float_power", input, exponent)
    dtype = _double(a, b)
    if isinstance(out, Tensor) and out.dtype is not dtype:
        raise RuntimeError(f"the output given to float_power has dtype {out.dtype.scalar_name} but the operation's "
                           f"result requires dtype {dtype.scalar_name}")
    result = pow(_as_double(a, dtype), _as_double(b, dtype))
    return with_out("float_power", result, out, input, exponent)


@public(function=False)
def float_power_(self: Any, exponent: Any) -> Any:
    b = as_operand(exponent)
    if b is NotImplemented:
        raise arguments.invalid_combination("float_power_", self, exponent)
    dtype = _double(self, b)
    if self.dtype is not dtype:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the operation's "
                           f"result requires dtype {dtype.scalar_name}")
    return pow_(self, _as_double(b, dtype))


def _lerp_operands(name: str, input: Any, end: Any, weight: Any) -> Any:
    given, weight = weight, as_operand(weight)
    if not isinstance(input, Tensor) or not isinstance(end, Tensor) or weight is NotImplemented:
        raise arguments.invalid_combination(name, input, end, given)
    others = {"end": end, "weight": weight} if isinstance(weight, Tensor) else {"end": end}
    for argument, t in others.items():
        if t.dtype is not input.dtype:
            tracked_nodes((input, end, weight))  # a view that must not be used any more says so first
            wanted, got = c_name(input.dtype), c_name(t.dtype)
            raise RuntimeError(f"expected dtype {wanted} for `{argument}` but got dtype {got}")
    takes = Takes(FLOATS + "c", f"lerp_kernel_{'tensor' if isinstance(weight, Tensor) else 'scalar'}")
    takes.check_after_shapes(input.dtype, input, *others.values())
    if not isinstance(weight, Tensor):
        arguments.check_range(weight, input.dtype)
    return weight


@public()
def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    """The point between `input` and `end` that `weight` says."""
    if out is None and type(weight) is float and isinstance(input, Tensor) and isinstance(end, Tensor) and (
            end._array.dtype is input._array.dtype and input._array.dtype.char in "fd"):
        return apply(TABLE["lerp"], input, end, weight)
    weight = _lerp_operands("lerp", input, end, weight)
    return with_out("lerp", apply(TABLE["lerp"], input, end, weight), out, input, end, weight)


_write_between = writer("lerp", "tts")


@public(function=False)
def lerp_(self: Any, end: Any, weight: Any) -> Any:
    if type(weight) is float and isinstance(end, Tensor) and end._array.dtype is self._array.dtype and (
            self._array.dtype.char in "fd"):
        return _write_between(self, end, weight)
    check_inplace(self, (self, end, weight))
    return write("lerp", self, self, end, _lerp_operands("lerp_", self, end, weight))


INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
    "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
    "tensor2), for all dtypes.")

def _addc(name: str) -> None:
    """`addcmul` and `addcdiv`: input + value * (tensor1 and tensor2 combined)."""

    def check(caller: str, input: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        arguments.check_tensors(caller, input=input, tensor1=tensor1, tensor2=tensor2)
        if name == "addcdiv" and tensor1.dtype.category < 2 and tensor2.dtype.category < 2:
            raise RuntimeError(INTEGER_ADDCDIV)
        value, dtype = arguments.read_number(caller, "value", None, value), result_dtype(input, tensor1, tensor2)
        if isinstance(value, complex):
            arguments.check_range(value, dtype)
        return value if dtype.is_floating_point else as_number(value, dtype, name)

    @takes_old_order
    def function(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None) -> Any:
        value = check(name, input, tensor1, tensor2, value)
        takes.check_after_shapes(result_dtype(input, tensor1, tensor2), input, tensor1, tensor2)
        result = apply(TABLE[name], *promote(name, input, tensor1, tensor2), value=value)
        return with_out(name, result, out, input, tensor1, tensor2)

    @takes_old_order
    def written(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        if type(value) is float and isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor) and (
                self._array.dtype.char in "fd" and self._array.dtype is tensor1._array.dtype is tensor2._array.dtype):
            return write(name, self, self, tensor1, tensor2, value=value)
        value = check(f"{name}_", self, tensor1, tensor2, value)
        return write(name, self, self, tensor1, tensor2, value=value,
                           computes_in=None if self._array.dtype.kind != "b" else settled(takes))

    takes = Takes("iufVc", f"{name}_cpu_out")
    symbol = "*" if name == "addcmul" else "/"
    publish(function, name, doc=f"input + value * tensor1 {symbol} tensor2.")
    publish(written, f"{name}_", doc=f"In-place version of `{name}`.", function=False)


_addc("addcmul")
_addc("addcdiv")
