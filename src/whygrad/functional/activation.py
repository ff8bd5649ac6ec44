"""Activation functions, as `torch.nn.functional` has them; a few are in `torch` too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base import dtypes
from whygrad.base.door import MISSING, Spec, call
from whygrad.core.record import apply, compiled
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_range, read_number, read_tensor
from whygrad.functional.dispatch import FLOAT32, FLOATS, REALS, Function, Takes, as_given, unary
from whygrad.functional.inplace import write
from whygrad.functional.promotion import rounded_number
from whygrad.functional.run import FUNCTIONS, nn_function, public, run, with_out
from whygrad.ops.table import TABLE

__all__ = ["celu", "celu_", "elu", "elu_", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
           "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "selu", "selu_", "silu",
           "softplus", "softsign", "tanhshrink", "threshold", "threshold_"]

NO_CLAMP = NotImplementedError("clamp is not supported for complex types")
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

unary("relu", takes=Takes(REALS, refusals={"b": RuntimeError("Boolean inputs not supported for relu"), "c": NO_CLAMP}),
      out_argument=False)
relu_ = FUNCTIONS["relu_"]


def _short_relu(spec: Spec) -> Function:
    """A float32 tensor goes straight to the row, as modules give it too."""
    fast: Function

    def first(input: Any) -> Any:
        nonlocal fast
        fast = compiled(TABLE["relu"], "t", at_door=True)
        return fast(input)

    fast = first

    def short(x: Any = MISSING, /, input: Any = MISSING, inplace: Any = MISSING) -> Any:
        if input is MISSING and not spec.handlers and isinstance(x, Tensor) and x._array.dtype is FLOAT32 and (
                inplace is MISSING or inplace is False):
            return fast(x)
        return call(spec, *as_given(x, input=input, inplace=inplace))

    return short


@nn_function(short=_short_relu)
def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0)."""
    return relu_(input) if inplace else FUNCTIONS["relu"](input)


def _plain(name: str, takes: Takes, doc: str) -> Callable[..., Any]:
    """An activation without parameters."""

    def function(input: Any, inplace: bool = False) -> Any:
        takes.check_tensor(name, input)
        return write(name, input, input) if inplace else apply(TABLE[name], input)

    function.__name__, function.__doc__ = name, doc
    return nn_function()(function)


silu = _plain("silu", Takes(FLOATS + "c", "silu_cpu"), "x * sigmoid(x).")
mish = _plain("mish", Takes(FLOATS, "mish_cpu"), "x * tanh(softplus(x)).")
hardsigmoid = _plain("hardsigmoid", Takes(FLOATS, "hardsigmoid_cpu"), "A straight line from 0 at -3 to 1 at 3.")
hardswish = _plain("hardswish", Takes(FLOATS, "hardswish_cpu"), "x * hardsigmoid(x).")

HARDTANH = Takes(REALS, refusals={"b": RuntimeError("Bool inputs not supported for hardtanh"), "c": NO_CLAMP})
LEAKY_RELU = Takes(FLOATS, "leaky_relu_cpu")
ELU = Takes(FLOATS, "elu_cpu")
SOFTPLUS = Takes(FLOATS, "softplus_cpu")
LOG_SIGMOID = Takes(FLOATS, "log_sigmoid_cpu")
GELU = Takes(FLOATS, "GeluKernelImpl")
HARDSHRINK = Takes(FLOATS, "hardshrink_cpu")
THRESHOLD = Takes(REALS, "threshold_cpu")


@nn_function()
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x clamped to [min_val, max_val]; unlike clamp's, the derivative at the bounds is 0."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    dtype = read_tensor("hardtanh", input).dtype
    HARDTANH.check(dtype)
    if dtype.category == 1:
        if not dtype.is_signed and (min_val < 0 or max_val < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    if inplace:
        return write("hardtanh", input, input, low=min_val, high=max_val)
    return apply(TABLE["hardtanh"], input, low=min_val, high=max_val)


@nn_function()
def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """In-place version of `hardtanh`."""
    return hardtanh(input, min_val, max_val, inplace=True)


@nn_function()
def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


@nn_function()
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x, times negative_slope where it is negative."""
    LEAKY_RELU.check_tensor("leaky_relu", input)
    if not inplace:
        return apply(TABLE["leaky_relu"], input, slope=negative_slope)
    return write("leaky_relu_inplace", input, input, slope=negative_slope)


@nn_function()
def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:
    """In-place version of `leaky_relu`."""
    return leaky_relu(input, negative_slope, inplace=True)


def _elu(name: str, input: Any, inplace: bool, alpha: float, scale: float, input_scale: float) -> Any:
    ELU.check_tensor(name, input)
    node = "Celu" if name == "celu" else "Elu"
    if not inplace:
        return apply(TABLE["elu"], input, alpha=alpha, scale=scale, input_scale=input_scale, node=f"{node}Backward0")
    return write("elu_inplace", input, input, alpha=alpha, scale=scale, input_scale=input_scale,
                       node=f"{node}Backward1")


@nn_function()
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x, or alpha * (exp(x) - 1) where it is negative."""
    return _elu("elu", input, inplace, alpha, 1.0, 1.0)


@nn_function()
def elu_(input: Any, alpha: float = 1.0) -> Any:
    """In-place version of `elu`."""
    return elu(input, alpha, inplace=True)


@nn_function()
def selu(input: Any, inplace: bool = False) -> Any:
    """`elu`, scaled so that layers keep mean 0 and variance 1."""
    return _elu("selu", input, inplace, SELU_ALPHA, SELU_SCALE, 1.0)


@nn_function()
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """`elu` with a continuous derivative for every alpha: x, or alpha * (exp(x / alpha) - 1)."""
    alpha = read_number("celu_" if inplace else "celu", "alpha", 2, alpha)
    check_range(alpha, dtypes.float64)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu("celu", input, inplace, alpha, 1.0, 1 / alpha)


@public(method=False)
def selu_(input: Any) -> Any:
    return selu(input, inplace=True)


@public(method=False)
def celu_(input: Any, alpha: float = 1.0) -> Any:
    return celu(input, alpha, inplace=True)


@public(method=False, name="selu")
def _torch_selu(input: Any) -> Any:
    """`F.selu`, without its `inplace`."""
    return selu(input)


@public(method=False, name="celu")
def _torch_celu(input: Any, alpha: float = 1.0) -> Any:
    """`F.celu`, without its `inplace`."""
    return celu(input, alpha)


@nn_function()
def softplus(input: Any, beta: float = 1, threshold: float = 20, *, out: Any = None) -> Any:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the threshold."""
    SOFTPLUS.check_tensor("softplus", input)
    return with_out("softplus", apply(TABLE["softplus"], input, beta=beta, threshold=threshold), out, input)


@nn_function()
def gelu(input: Any, *, approximate: str = "none", out: Any = None) -> Any:
    """x times the probability that a normal variable is below x; or approximated with "tanh"."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    GELU.check_tensor("gelu", input)
    return with_out("gelu", apply(TABLE["gelu"], input, approximate=approximate), out, input)


@nn_function()
def logsigmoid(input: Any, *, out: Any = None) -> Any:
    """log(sigmoid(x))."""
    LOG_SIGMOID.check_tensor("log_sigmoid", input)
    return with_out("log_sigmoid", apply(TABLE["log_sigmoid"], input), out, input)


@public()
def hardshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """x outside [-lambd, lambd], 0 inside."""
    HARDSHRINK.check_tensor("hardshrink", input)
    lambd = read_number("hardshrink", "lambd", 2, lambd)
    check_range(lambd, dtypes.float32)
    lambd = rounded_number(lambd, input.dtype, "hardshrink")  # half precision compares in its own
    return with_out("hardshrink", apply(TABLE["hardshrink"], input, bound=lambd), out, input)


@public(autocast="lower")
def prelu(input: Any, weight: Any) -> Any:
    """Leaky ReLU whose slope is `weight`: one number, or one for each channel."""
    read_tensor("prelu", input)
    if input.dtype is not read_tensor("prelu", weight, "weight", 2).dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and "
                           f"{weight.dtype.scalar_name}")
    if weight.ndim > 1 and (weight._array.size == 1 or input.ndim < 2 or input.shape[1] == weight._array.size):
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    count = weight._array.size
    if count != 1:
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != count:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{count} and channel size = {channels}.")
    if weight.ndim and input.ndim != 1:
        shape = [1] * input.ndim
        if input.ndim > 1:
            shape[1] = count
        weight = weight.view(shape)
    return run("prelu", input, weight)


@nn_function()
def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


@nn_function()
def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return input - input.tanh()


@nn_function()
def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it is above the threshold, else `value`."""
    return threshold_(input, threshold, value) if inplace else _threshold(input, threshold, value)


@public(method=False, name="threshold")
def _threshold(input: Any, threshold: float, value: float, *, out: Any = None) -> Any:
    """x where it is above the threshold, else `value`."""
    limits = _threshold_limits(input, threshold, value)
    return with_out("threshold", apply(TABLE["threshold"], input, **limits), out, input)


@public(method=False)
def threshold_(input: Any, threshold: float, value: float) -> Any:
    return write("threshold_inplace", input, input, **_threshold_limits(input, threshold, value))


def _threshold_limits(input: Any, threshold: float, value: float) -> dict[str, Any]:
    dtype = read_tensor("threshold", input).dtype
    THRESHOLD.check(dtype)
    threshold = read_number("threshold", "threshold", 2, threshold)
    value = read_number("threshold", "value", 3, value)
    for number in (threshold, value):
        check_range(number, dtype)
    return {"threshold": rounded_number(threshold, dtype, "threshold"), "value": rounded_number(value, dtype, "threshold")}
