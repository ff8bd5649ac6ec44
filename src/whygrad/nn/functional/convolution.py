"""Convolutions over one, two and three spatial dims, and their transposes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from whygrad import dtypes
from whygrad._apply import apply
from whygrad._tensor import Tensor
from whygrad.errors import user_stacklevel
from whygrad.functional.arguments import C_NAMES, check_sizes, invalid_combination, is_integer, wrong_type
from whygrad.functional.rearrange import constant_pad
from whygrad.ops.conv import Window
from whygrad.ops.table import TABLE

_whygrad_internal_ = True

Sizes = tuple[int, ...]


def _is_sizes(value: Any) -> bool:
    return is_integer(value) or (isinstance(value, (tuple, list)) and all(map(is_integer, value)))


def _expand(name: str, value: Any, dims: int) -> Sizes:
    """One number for each of the kernel's dims."""
    sizes = (value,) if isinstance(value, int) else tuple([int(n) for n in value])
    if len(sizes) == 1:
        return sizes * dims
    if len(sizes) != dims:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {dims} values to match the "
                           f"convolution dimensions, but got {name}={list(sizes)}")
    return sizes


def _check_types(function: str, given: dict[str, Any], padding_may_be_text: bool) -> None:
    """Refuse what is no tensor, no size, no number: with the words of a function with one signature or with two."""
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
        raise invalid_combination(function, *given.values())
    key, wanted = wrong[0]
    raise wrong_type(function, key, list(given).index(key) + 1, wanted, given[key])


def _tensor_type(dtype: dtypes.dtype) -> str:
    return f"CPU{dtype.scalar_name}Type" if dtype.is_complex or dtype is dtypes.bfloat16 else dtype.tensor_type


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.dtype is not weight.dtype:
        if input.dtype in (dtypes.float32, dtypes.bfloat16) or input.dtype.is_complex:
            hint = "" if input.dtype.is_complex else " or input should be a MKLDNN tensor and weight is a dense tensor"
            raise RuntimeError(f"Input type ({_tensor_type(input.dtype)}) and weight type ({_tensor_type(weight.dtype)}) "
                               f"should be the same{hint}")
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}")
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"Input type ({C_NAMES[input.dtype.name]}) and bias type ({C_NAMES[bias.dtype.name]}) should "
                           "be the same")
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
        raise RuntimeError("non-positive dilation is not supported")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(shape) != len(weight):
        raise RuntimeError(f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight {list(weight)}, "
                           f"but got {len(shape)}-dimensional input of size {list(shape)} instead")
    if weight[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight "
                           f"of size {list(weight)} instead")
    if weight[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
                           f"weight of size [{list(weight)}] instead")
    given = f"Given transposed={int(transposed)}" if transposed else f"Given groups={groups}"
    channels = weight[0] if transposed else weight[1] * groups
    if shape[1] != channels:
        raise RuntimeError(f"{given}, weight of size {list(weight)}, expected input{list(shape)} to have {channels} "
                           f"channels, but got {shape[1]} channels instead")
    outputs = weight[1] * groups if transposed else weight[0]
    if bias is not None and bias != (outputs,):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(f"{given} of size {list(weight)}, expected bias to be 1-dimensional with {outputs} elements, but "
                           f"got bias of size {list(bias)} instead")
    if 0 in weight[2:]:
        raise RuntimeError(f"weight of size {list(weight)}: the kernel is empty")
    if transposed:
        return
    padded = [n + 2 * p for n, p in zip(shape[2:], window.padding, strict=True)]
    covered = [d * (k - 1) + 1 for k, d in zip(weight[2:], window.dilation, strict=True)]
    if any(n < k for n, k in zip(padded, covered, strict=True)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                           f"({' x '.join(map(str, covered))}). Kernel size can't be greater than actual input size")


def _batched(function: str, input: Tensor, dims: int) -> tuple[Tensor, bool]:
    """The input with a batch dim, and whether it had one."""
    ndim = input._array.ndim
    if ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {function}, but got input "
                           f"of size: {list(input._array.shape)}")
    return (input, True) if ndim == dims + 2 else (input.unsqueeze(0), False)


def _same_padding(input: Tensor, weight: Sizes, stride: Any, dilation: Any) -> tuple[Tensor, Sizes]:
    """For `padding="same"`: what to pad on both sides; where that is uneven, the rest is padded here and now."""
    dims = len(weight) - 2
    sizes = {"stride": stride, "dilation": dilation}
    for name, value in sizes.items():
        sizes[name] = (value,) * dims if isinstance(value, int) else tuple(value) * (dims if len(value) == 1 else 1)
        if len(sizes[name]) != dims:
            raise RuntimeError(f"{name} cannot broadcast to {dims} dimensions")
    if max(sizes["stride"]) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(sizes["dilation"], weight[2:], strict=True)]
    if any(n % 2 for n in total):
        warnings.warn("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
                      "the input be created", UserWarning, stacklevel=user_stacklevel())
        input = constant_pad(input, ((0, 0), (0, 0), *[(0, n % 2) for n in total]), 0)
    return input, tuple([n // 2 for n in total])


def _convolution(dims: int) -> Callable[..., Any]:
    name = f"conv{dims}d"
    row = TABLE["convolution"]

    def convolution(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                    groups: int = 1) -> Any:
        _check_types(name, dict(input=input, weight=weight, bias=bias, stride=stride, padding=padding, dilation=dilation,
                                groups=groups), True)
        input, batched = _batched(name, input, dims)
        shape = weight._array.shape
        kernel_dims = len(shape) - 2
        if isinstance(padding, str):
            if padding == "same":
                input, padding = _same_padding(input, shape, stride, dilation)
            elif padding == "valid":
                padding = 0
            else:
                raise RuntimeError(f"Invalid padding string: '{padding}'")
        window = Window(_expand("stride", stride, kernel_dims), _expand("padding", padding, kernel_dims),
                        _expand("dilation", dilation, kernel_dims), groups)
        _check(input._array.shape, shape, None if bias is None else bias._array.shape, window, False, ())
        _check_dtypes(input, weight, bias)
        result = apply(row, input, weight, bias, window=window)
        return result if batched else result.squeeze(0)

    convolution.__name__ = convolution.__qualname__ = name
    convolution.__doc__ = f"Slide `weight` over the last {dims} dims of `input`; sum products over window and channels."
    return convolution


AXES = ("depth", "height", "width")


def _check_output_padding(output_padding: Sizes, window: Window) -> None:
    pairs = list(zip(output_padding, window.stride, window.dilation, strict=True))
    if all(extra < stride or extra < dilation for extra, stride, dilation in pairs):
        return
    if len(pairs) == 1:
        # A convolution over one dim is one over two, of height 1.
        pairs.insert(0, (0, 1, 1))
    axes = AXES[-len(pairs):]
    got = [f"{name}_{axis}: {values[i]}" for i, name in enumerate(("output_padding", "stride", "dilation"))
           for axis, values in zip(axes, pairs, strict=True)]
    raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(got)}")


def _transposed(dims: int) -> Callable[..., Any]:
    name = f"conv_transpose{dims}d"
    row = TABLE["convolution_transpose"]

    def convolution(input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                    groups: int = 1, dilation: Any = 1) -> Any:
        _check_types(name, dict(input=input, weight=weight, bias=bias, stride=stride, padding=padding,
                                output_padding=output_padding, groups=groups, dilation=dilation), False)
        input, batched = _batched(name, input, dims)
        shape = weight._array.shape
        kernel_dims = len(shape) - 2
        window = Window(_expand("stride", stride, kernel_dims), _expand("padding", padding, kernel_dims),
                        _expand("dilation", dilation, kernel_dims), groups)
        extra = _expand("output_padding", output_padding, kernel_dims)
        given = input._array.shape
        _check(given, shape, None if bias is None else bias._array.shape, window, True, extra)
        _check_dtypes(input, weight, bias)
        _check_output_padding(extra, window)
        size = tuple([(n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in
                      zip(given[2:], shape[2:], window.stride, window.padding, window.dilation, extra, strict=True)])
        if min(size) < 1 and math.prod(given[2:]):
            raise RuntimeError(f"Given input size per channel: ({' x '.join(map(str, given[2:]))}). Calculated output size "
                               f"per channel: ({' x '.join(map(str, size))}). Output size is too small")
        result = apply(row, input, weight, bias, size=size, window=window)
        return result if batched else result.squeeze(0)

    convolution.__name__ = convolution.__qualname__ = name
    convolution.__doc__ = f"What `conv{dims}d` does to gradients: each pixel of `input` spreads `weight` over the result."
    return convolution


conv1d, conv2d, conv3d = (_convolution(dims) for dims in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_transposed(dims) for dims in (1, 2, 3))


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution over time, of data in the order (time, batch, channel)."""
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
