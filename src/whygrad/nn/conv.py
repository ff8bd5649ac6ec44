"""Convolution modules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.functional.parameter import Parameter
from whygrad.nn import functional as F
from whygrad.nn import init
from whygrad.nn.from_function import unusual
from whygrad.nn.lazy import LazyModuleMixin, UninitializedParameter, lazy_classes
from whygrad.nn.module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
           "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

PADDINGS = ("same", "valid")
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def for_each_dim(value: Any, dims: int) -> tuple[Any, ...]:
    """A number is repeated for each spatial dim; a sequence becomes a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * dims


def _check(in_channels: int, out_channels: int, groups: int, stride: Sequence[int], padding: Any, padding_mode: str) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups:
            raise ValueError(f"{name} must be divisible by groups")
    if isinstance(padding, str):
        if padding not in PADDINGS:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {set(PADDINGS)}")
        if padding == "same" and any(n != 1 for n in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode='{padding_mode}'")


class _ConvNd(Module):
    """Base of all convolutions: weight, bias, stride, padding, dilation and groups."""

    dims: ClassVar[int]
    function: ClassVar[str]  # the name in nn.functional, looked up at each call so that a patched one is used
    weight: Any
    bias: Any

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
                 padding: Any, dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...], groups: int,
                 bias: bool, padding_mode: str, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        _check(in_channels, out_channels, groups, stride, padding, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # The argument of `F.pad`, which pads before the convolution in all modes but "zeros": (before, after), last dim first.
        self._reversed_padding_repeated_twice = self._padding_pairs()
        self.weight = Parameter(torch.empty(self._weight_shape(), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(torch.empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _padding_pairs(self) -> Sequence[int]:
        if not isinstance(self.padding, str):
            return tuple([n for n in reversed(self.padding) for _ in range(2)])
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        total = [d * (k - 1) for d, k in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True)]
        return [n for size in total for n in (size // 2, size - size // 2)]

    def _weight_shape(self) -> tuple[int, ...]:
        channels = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        return (channels[0], channels[1] // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        zeros, ones = (0,) * len(self.kernel_size), (1,) * len(self.kernel_size)
        shown = unusual(self, {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1})
        shown += ["bias=False"] if self.bias is None else []
        shown += [] if self.padding_mode == "zeros" else [f"padding_mode={self.padding_mode}"]
        sizes = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        return ", ".join([sizes, *shown])

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        # Old pickles have no padding_mode.
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    """Convolution."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        dims = self.dims
        super().__init__(in_channels, out_channels, for_each_dim(kernel_size, dims), for_each_dim(stride, dims),
                         padding if isinstance(padding, str) else for_each_dim(padding, dims), for_each_dim(dilation, dims),
                         False, (0,) * dims, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        convolve = getattr(F, self.function)
        if self.padding_mode == "zeros":
            return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return convolve(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    dims, function = 1, "conv1d"


class Conv2d(_Conv):
    dims, function = 2, "conv2d"


class Conv3d(_Conv):
    dims, function = 3, "conv3d"


class _ConvTransposeNd(_ConvNd):
    """Transposed convolution: the gradient of a convolution with respect to its input."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        dims = self.dims
        super().__init__(in_channels, out_channels, for_each_dim(kernel_size, dims), for_each_dim(stride, dims),
                         for_each_dim(padding, dims), for_each_dim(dilation, dims), True,
                         for_each_dim(output_padding, dims), groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input: Any, output_size: Any) -> Sequence[int]:
        """The output padding that gives a result of `output_size`."""
        if output_size is None:
            return self.output_padding
        dims, outer = self.dims, 2 if input.ndim == self.dims + 2 else 1
        if len(output_size) == outer + dims:
            output_size = output_size[outer:]
        if len(output_size) != dims:
            raise ValueError(f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or "
                             f"{outer + dims} elements (got {len(output_size)})")
        smallest = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in
                    zip(input.shape[outer:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)]
        largest = [n + s - 1 for n, s in zip(smallest, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(smallest, output_size, largest, strict=True)):
            raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {smallest} to "
                             f"{largest} (for an input of {input.shape[2:]})")
        return [n - low for n, low in zip(output_size, smallest, strict=True)]

    def forward(self, input: Any, output_size: Any = None) -> Any:
        return getattr(F, self.function)(input, self.weight, self.bias, self.stride, self.padding,
                                         self._output_padding(input, output_size), self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    dims, function = 1, "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    dims, function = 2, "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    dims, function = 3, "conv_transpose3d"


class _LazyConvolution(LazyModuleMixin):
    """A convolution that takes `in_channels` from its first input."""

    def _start(self: Any, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise RuntimeError(f"Expected {self.dims + 1}D (unbatched) or {self.dims + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        self.in_channels = input.shape[-self.dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        with no_grad():
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class _LazyConv(_LazyConvolution, _Conv):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._start(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvolution, _ConvTransposeNd):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                 groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._start(out_channels, bias, device, dtype)


LazyConv1d, LazyConv2d, LazyConv3d = lazy_classes(_LazyConv, Conv1d, Conv2d, Conv3d)
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = lazy_classes(
    _LazyConvTranspose, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
