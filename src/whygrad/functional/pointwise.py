"""Functions of one tensor, element by element."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import read_float, read_tensor, wrong_type
from whygrad.functional.dispatch import FLOATS, REALS, Takes, default_float, settled, unary
from whygrad.functional.promotion import cast
from whygrad.functional.run import FUNCTIONS, METHODS, public, register, rows, with_out, write
from whygrad.ops.table import TABLE

# The rows that say so themselves; the others need more than their name.
for _row in TABLE.values():
    if "float" in _row.traits.public:
        unary(_row.name, to_float=True)
    elif "test" in _row.traits.public:
        unary(_row.name, inplace=False, out_argument=False)

# Fractional results: integers become floating first.
for _name in ("asin", "acos", "atan"):
    unary(_name, to_float=True, aliases=(f"arc{_name[1:]}",))

for _name in ("asinh", "acosh", "atanh"):
    unary(_name, to_float=True, aliases=(f"arc{_name[1:]}",), inplace_row=f"{_name}_inplace",
          complex_row="acosh_complex" if _name == "acosh" else None)

for _name in ("erf", "erfc"):
    unary(_name, to_float=True, takes=Takes("biu" + FLOATS, f"{_name}_vml_cpu"))

for _name in ("deg2rad", "rad2deg"):
    unary(_name, to_float=True, takes=Takes("biu" + FLOATS, refusals={
        "c": RuntimeError(f"{_name} is not supported for complex tensors.")}))

# Results of the same dtype.
for _name, _aliases in (("floor", ()), ("ceil", ()), ("trunc", ("fix",))):
    unary(_name, aliases=_aliases, takes=Takes(REALS, f"{_name}_vml_cpu", {
        "c": NotImplementedError(f"{_name} is not supported for complex inputs")}))

unary("abs", complex_row="abs_complex", takes=Takes("iufVc", "abs_cpu"), aliases=("absolute",))

_abs_of_reals = METHODS["abs_"]


def abs_(input: Any) -> Any:
    """In-place version of `abs`."""
    if isinstance(input, Tensor) and input.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return _abs_of_reals(input)


register("abs_", abs_)
register("absolute_", abs_, function=False)

unary("neg", aliases=("negative",), takes=Takes("iufVc", refusals={"b": RuntimeError(
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead.")}))
unary("sign", inplace_function=False, takes=Takes("biufV", refusals={"c": NotImplementedError(
    "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")}))
unary("sgn", complex_row="sgn_complex", inplace_function=False)
unary("frac", takes=Takes(FLOATS, "frac_cpu"))

# Booleans.
for _name in ("isposinf", "isneginf"):
    unary(_name, inplace=False, takes=Takes("biufV", refusals={
        "c": RuntimeError(f"{_name} does not support complex inputs.")}))

unary("signbit", inplace=False, takes=Takes("biufV", refusals={
    "c": NotImplementedError("signbit is not implemented for complex tensors.")}))

ROUND = Takes(REALS, "round_vml_cpu")
ROUND_DECIMALS, ROUND_NO_DECIMALS = Takes(FLOATS, "round_cpu"), Takes(FLOATS, "round_vml_cpu")
LOGIT = Takes("biu" + FLOATS, "logit_cpu")


@public()
def round(input: Any, *, decimals: int | None = None, out: Any = None) -> Any:
    """The nearest integer, or the nearest multiple of 10**-decimals; halves go to the even neighbour."""
    read_tensor("round", input)
    if decimals is None:
        ROUND.check(input.dtype)
        return with_out("round", apply(TABLE["round"], input), out, input)
    (ROUND_DECIMALS if decimals else ROUND_NO_DECIMALS).check(input.dtype)
    return with_out("round", apply(TABLE["round_decimals"], input, decimals=decimals), out, input)


@public()
def round_(input: Any, *, decimals: int | None = None) -> Any:
    read_tensor("round_", input)
    if decimals is None:
        return write("round", input, input, computes_in=settled(ROUND))
    takes = ROUND_DECIMALS if decimals else ROUND_NO_DECIMALS
    return write("round_decimals", input, input, computes_in=settled(takes), decimals=decimals)


def _eps(eps: Any) -> float | None:
    if eps is not None and not isinstance(eps, (int, float)):
        raise wrong_type("logit", "eps", 2, "float", eps)
    return eps


@public()
def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Any:
    """log(x / (1 - x)), of x clamped to [eps, 1 - eps] if eps is given."""
    dtype = read_tensor("logit", input).dtype
    LOGIT.check(dtype)
    result = apply(TABLE["logit"], cast(input, default_float(dtype).numpy), eps=_eps(eps))
    return with_out("logit", result, out, input)


@public()
def logit_(input: Any, eps: float | None = None) -> Any:
    return write("logit", read_tensor("logit_", input), input, computes_in=settled(LOGIT, to_float=True),
                       eps=_eps(eps))


def _replacements(dtype: dtypes.dtype, *values: Any) -> dict[str, Any]:
    names = ("nan", "posinf", "neginf")
    usual: tuple[Any, ...] = (None, None, None)
    if dtype.is_floating_point:
        largest = dtypes.finfo(dtype).max
        usual = (0.0, largest, -largest)
    return {name: usual[i - 2] if v is None else read_float("nan_to_num", name, i, v)
            for i, (name, v) in enumerate(zip(names, values, strict=True), 2)}


@public()
def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *,
               out: Any = None) -> Any:
    """NaN replaced by `nan` (0), infinities by the largest finite numbers or as given."""
    read_tensor("nan_to_num", input)
    result = apply(TABLE["nan_to_num"], input, **_replacements(input.dtype, nan, posinf, neginf))
    return with_out("nan_to_num", result, out, input)


@public()
def nan_to_num_(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    read_tensor("nan_to_num_", input)
    return write("nan_to_num", input, input, **_replacements(input.dtype, nan, posinf, neginf))


@public()
def positive(input: Any) -> Tensor:
    """The tensor itself."""
    if read_tensor("positive", input)._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@public()
def square(input: Any, *, out: Any = None) -> Any:
    """The square of each element."""
    read_tensor("square", input)
    return FUNCTIONS["pow"](input, 2, out=out)


@public()
def square_(input: Any) -> Any:
    return METHODS["pow_"](read_tensor("square_", input), 2)


@public()
def conj(input: Any) -> Tensor:
    """The complex conjugate, as a view that is conjugated when it is read; a real tensor itself."""
    return rows.conj_view(input) if read_tensor("conj", input).dtype.is_complex else input


register("_conj", conj)
expit = FUNCTIONS["sigmoid"]
