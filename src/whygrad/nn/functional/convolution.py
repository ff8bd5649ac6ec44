"""Convolutions over one, two and three spatial dims, and their transposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.base.layouts import contiguous_format
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_sizes, invalid_combination, is_integer, wrong_type
from whygrad.functional.rearrange import constant_pad
from whygrad.functional.run import nn_function
from whygrad.ops.conv import Window
from whygrad.ops.table import TABLE

__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]

Sizes = tuple[int, ...]


DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "bias": None}


def _is_sizes(value: Any) -> bool:
    return is_integer(value) or (isinstance(value, (tuple, list)) and all(map(is_integer, value)))


def _expand(name: str, value: Any, given: int, dims: int) -> Sizes:
    """One number for each spatial dim of the kernel; a single number is repeated `given` times, as torch does."""
    sizes = (int(value),) * given if is_integer(value) else tuple([int(n) for n in value])
    if len(sizes) == 1:
        return sizes * dims
    if len(sizes) != dims:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {dims} values to match the "
                           f"convolution dimensions, but got {name}={list(sizes)}")
    return sizes


def _check_types(function: str, given: dict[str, Any]) -> None:
    """Raise torch's TypeError for an argument of a wrong type, worded for functions with one signature or with two."""
    padding_may_be_text = "output_padding" not in given
    tensors = [("input", True), ("weight", True), ("bias", False)]
    wrong = [(key, "Tensor") for key, needed in tensors
             if not isinstance(given[key], Tensor) and (needed or given[key] is not None)]
    wrong += [(key, "tuple of ints") for key in ("stride", "padding", "output_padding", "dilation")
              if key in given and not _is_sizes(given[key])
              and not (key == "padding" and padding_may_be_text and isinstance(given[key], str))]
    if not is_integer(given["groups"]):
        wrong.append(("groups", "int"))
    if not wrong:
        return
    if padding_may_be_text:
        values = list(given.values())
        while type(values[-1]) is int and values[-1] == DEFAULTS[list(given)[len(values) - 1]]:
            values.pop()
        raise invalid_combination(function, *(values[:2] if values[2:] == [None] else values))
    key, wanted = wrong[0]
    raise wrong_type(function, key, list(given).index(key) + 1, wanted, given[key])


def _tensor_type(dtype: dtypes.dtype) -> str:
    return f"CPU{dtype.scalar_name}Type" if dtype.is_complex or dtype is dtypes.bfloat16 else dtype.tensor_type


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    dtype = input._array.dtype
    if dtype is weight._array.dtype and dtype.kind != "b" and (bias is None or bias._array.dtype is dtype):
        return
    if input.dtype is not weight.dtype:
        if input.dtype in (dtypes.float32, dtypes.bfloat16) or input.dtype.is_complex:
            hint = "" if input.dtype.is_complex else " or input should be a MKLDNN tensor and weight is a dense tensor"
            raise RuntimeError(f"Input type ({_tensor_type(input.dtype)}) and weight type "
                               f"({_tensor_type(weight.dtype)}) should be the same{hint}")
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({dtypes.CPP_NAMES[input.dtype.name]}) and bias type "
                           f"({dtypes.CPP_NAMES[bias.dtype.name]}) should be the same")
    if input.dtype is dtypes.bool_:
        kernel = "compute_columns3d" if input.ndim == 5 else "slow_conv2d_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def _check(shape: Sizes, weight: Sizes, bias: Sizes | None, window: Window, transposed: bool,
           output_padding: Sizes) -> None:
    """torch's checks, in its order."""
    groups = window.groups
    if min(window.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if output_padding and min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(window.stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(window.dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero" if min(window.dilation) < 0 else
                           "non-positive dilation is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(shape) != len(weight):
        raise RuntimeError(f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight "
                           f"{list(weight)}, but got {len(shape)}-dimensional input of size {list(shape)} instead")
    if weight[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
                           f"weight of size {list(weight)} instead")
    if weight[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but "
                           f"got weight of size [{list(weight)}] instead")
    given = f"Given transposed={int(transposed)}" if transposed else f"Given groups={groups}"
    channels = weight[0] if transposed else weight[1] * groups
    if shape[1] != channels:
        raise RuntimeError(f"{given}, weight of size {list(weight)}, expected input{list(shape)} to have {channels} "
                           f"channels, but got {shape[1]} channels instead")
    outputs = weight[1] * groups if transposed else weight[0]
    if bias is not None and bias != (outputs,):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(f"{given} of size {list(weight)}, expected bias to be 1-dimensional with {outputs} "
                           f"elements, but got bias of size {list(bias)} instead")
    flat = len(weight) == 3  # a 1d convolution runs as a 2d one of height 1
    if 0 in weight[2:]:
        got = " ".join([f"kernel_{axis}: {n}" for axis, n in zip(AXES[-max(len(weight) - 2, 2):], (*[1] * flat, *weight[2:]),
                                                                 strict=True)])
        raise RuntimeError(f"kernel size should be greater than zero, but got {got}")
    if 0 in shape[2:] and 0 not in shape[:2] and (transposed or any(window.padding)):
        raise RuntimeError("Only zero batch or zero channel inputs are supported, but got input shape: "
                           f"{[*shape[:2], *[1] * flat, *shape[2:]]}")
    if transposed:
        if not weight[1] and 0 not in shape:
            raise RuntimeError(f"non-empty 2D or 4D weight tensor expected, but got: {[*weight[:2], *[1] * flat, *weight[2:]]}")
        return
    padded = [n + 2 * p for n, p in zip(shape[2:], window.padding, strict=True)]
    covered = [d * (k - 1) + 1 for k, d in zip(weight[2:], window.dilation, strict=True)]
    if any(n < k for n, k in zip(padded, covered, strict=True)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                           f"({' x '.join(map(str, covered))}). Kernel size can't be greater than actual input size")


def _check_ndim(function: str, shape: Sizes, dims: int) -> bool:
    """Check the rank of the input; True if it has a batch dim."""
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {function}, but got "
                           f"input of size: {list(shape)}")
    return len(shape) == dims + 2


def _same_padding(weight: Sizes, stride: Any, dilation: Any) -> tuple[Sizes, Sizes]:
    """For `padding="same"`: the symmetric padding, and the extra padding at the end."""
    dims = len(weight) - 2
    sizes = {"stride": stride, "dilation": dilation}
    for name, value in sizes.items():
        sizes[name] = (value,) * dims if isinstance(value, int) else tuple(value) * (dims if len(value) == 1 else 1)
        if len(sizes[name]) != dims:
            raise RuntimeError(f"{name} cannot broadcast to {dims} dimensions")
    if max(sizes["stride"]) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(sizes["dilation"], weight[2:], strict=True)]
    return tuple([n // 2 for n in total]), tuple([n % 2 for n in total])


class Plan(NamedTuple):
    """What follows from the shapes and options: checked once, then cached."""

    window: Window
    batched: bool
    uneven: Sizes  # extra padding at the end, applied before the convolution
    size: Sizes  # of the result of a transposed convolution


@lru_cache(maxsize=1024, typed=True)
def _plan(function: str, dims: int, shape: Sizes, weight: Sizes, bias: Sizes | None, stride: Any, padding: Any, dilation: Any,
          groups: int) -> Plan:
    """Cached; raises a TypeError for any argument of a wrong type."""
    if not all(map(_is_sizes, (stride, dilation))) or not is_integer(groups):
        raise TypeError
    batched = _check_ndim(function, shape, dims)
    if not batched:
        shape = (1, *shape)
    kernel_dims = len(weight) - 2
    if kernel_dims < 1:
        raise RuntimeError("weight should have at least three dimensions")
    uneven: Sizes = ()
    if padding == "same":
        if len(shape) != len(weight):
            raise RuntimeError(f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight"
                               f"{list(weight)}, but got {len(shape)}-dimensional input of size {list(shape)} instead")
        padding, uneven = _same_padding(weight, stride, dilation)
        shape = (*shape[:2], *[n + extra for n, extra in zip(shape[2:], uneven, strict=True)])
    elif padding == "valid":
        padding = 0
    elif isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    elif not _is_sizes(padding):
        raise TypeError
    window = Window(_expand("stride", stride, dims, kernel_dims), _expand("padding", padding, dims, kernel_dims),
                    _expand("dilation", dilation, dims, kernel_dims), groups)
    _check(shape, weight, bias, window, False, ())
    return Plan(window, batched, uneven if any(uneven) else (), ())


def checked_window(dims: int, shape: Sizes, weight: Sizes, options: dict[str, Any]) -> Window:
    """The window of a convolution of a batch, after all checks."""
    stride, padding, dilation = (_expand(name, options[name], dims, len(weight) - 2)
                                 for name in ("stride", "padding", "dilation"))
    window = Window(stride, padding, dilation, options["groups"])
    _check(shape, weight, None, window, False, ())
    return window


def _planned(make: Callable[..., Plan], function: str, dims: int, input: Any, weight: Any, bias: Any,
             options: dict[str, Any]) -> Plan:
    try:
        shapes = input._array.shape, weight._array.shape, None if bias is None else bias._array.shape
        return make(function, dims, *shapes, **options)
    except (AttributeError, TypeError):
        # An argument of a wrong type, or a list, which is not hashable.
        _check_types(function, {"input": input, "weight": weight, "bias": bias, **options})
        hashable = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        return make(function, dims, *shapes, **hashable)


def _convolution(dims: int) -> Callable[..., Any]:
    name = f"conv{dims}d"
    row = TABLE["convolution"]

    def convolution(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                    groups: int = 1) -> Any:
        plan = _planned(_plan, name, dims, input, weight, bias,
                        {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups})
        _check_dtypes(input, weight, bias)
        if plan.uneven:
            warn("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy "
                 "of the input be created")
        if not plan.batched:
            input = input.unsqueeze(0)
        if plan.uneven:
            input = constant_pad(input, ((0, 0), (0, 0), *[(0, n) for n in plan.uneven]), 0)
        result = apply(row, input, weight, bias, window=plan.window)
        if not input._array.shape[1]:
            result = result[:, :0].clone(memory_format=contiguous_format)  # without channels in, torch gives none out
        return result if plan.batched else result.squeeze(0)

    doc = f"Slide `weight` over the last {dims} dims of `input`; sum products over window and channels."
    return nn_function(name=name, doc=doc, autocast="lower")(convolution)


AXES = ("depth", "height", "width")


def _check_output_padding(output_padding: Sizes, window: Window) -> None:
    pairs = list(zip(output_padding, window.stride, window.dilation, strict=True))
    if all(extra < stride or extra < dilation for extra, stride, dilation in pairs):
        return
    if len(pairs) == 1:
        # A 1d convolution runs as a 2d one of height 1.
        pairs.insert(0, (0, 1, 1))
    axes = AXES[-len(pairs):]
    got = [f"{name}_{axis}: {values[i]}" for i, name in enumerate(("output_padding", "stride", "dilation"))
           for axis, values in zip(axes, pairs, strict=True)]
    raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(got)}")


@lru_cache(maxsize=1024, typed=True)
def _transposed_plan(function: str, dims: int, shape: Sizes, weight: Sizes, bias: Sizes | None, stride: Any, padding: Any,
                     output_padding: Any, groups: int, dilation: Any) -> Plan:
    if not all(map(_is_sizes, (stride, padding, output_padding, dilation))) or not is_integer(groups):
        raise TypeError
    batched = _check_ndim(function, shape, dims)
    if not batched:
        shape = (1, *shape)
    kernel_dims = len(weight) - 2
    window = Window(_expand("stride", stride, dims, kernel_dims), _expand("padding", padding, dims, kernel_dims),
                    _expand("dilation", dilation, dims, kernel_dims), groups)
    extra = _expand("output_padding", output_padding, dims, kernel_dims)
    _check(shape, weight, bias, window, True, extra)
    _check_output_padding(extra, window)
    size = tuple([(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in
                  zip(shape[2:], weight[2:], window.stride, window.padding, window.dilation, extra, strict=True)])
    if min(size) < 1:
        raise RuntimeError(f"Given input size per channel: ({' x '.join(map(str, shape[2:]))}). Calculated output size "
                           f"per channel: ({' x '.join(map(str, size))}). Output size is too small")
    return Plan(window, batched, (), size)


def _transposed(dims: int) -> Callable[..., Any]:
    name = f"conv_transpose{dims}d"
    row = TABLE["convolution_transpose"]

    def convolution(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                    groups: int = 1, dilation: Any = 1) -> Any:
        options = {"stride": stride, "padding": padding, "output_padding": output_padding, "groups": groups,
                   "dilation": dilation}
        plan = _planned(_transposed_plan, name, dims, input, weight, bias, options)
        _check_dtypes(input, weight, bias)
        if not plan.batched:
            input = input.unsqueeze(0)
        result = apply(row, input, weight, bias, size=plan.size, window=plan.window)
        return result if plan.batched else result.squeeze(0)

    doc = f"What `conv{dims}d` does to gradients: each pixel of `input` spreads `weight` over the result."
    return nn_function(name=name, doc=doc, autocast="lower")(convolution)


conv1d, conv2d, conv3d = (_convolution(dims) for dims in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_transposed(dims) for dims in (1, 2, 3))


@nn_function(autocast="lower")
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A 1d convolution of (time, batch, channel) data."""
    if input.ndim != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.ndim != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.ndim != 1:
        raise RuntimeError("Bias must be 1-D")
    length, inputs, outputs = weight.shape
    if input.shape[2] != inputs:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if bias.shape[0] != outputs:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    check_sizes((input.shape[0] + 2 * pad - length + 1, input.shape[1], outputs))
    return apply(TABLE["conv_tbc"], input, weight, bias, padding=pad)
