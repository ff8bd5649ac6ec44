"""torch.nn.grad: the gradients of convolutions as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.nn.functional.convolution import checked_window
from whygrad.ops.conv import Window
from whygrad.ops.table import TABLE

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _checked(dims: int, input_size: Any, weight_size: Any, grad_output: Tensor, options: dict[str, Any]) -> Window:
    shape, weight = tuple(input_size), tuple(weight_size)
    window = checked_window(dims, shape, weight, options)
    covered = [d * (k - 1) + 1 for k, d in zip(weight[2:], window.dilation, strict=True)]
    spatial = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(shape[2:], window.padding, covered, window.stride, strict=True)]
    given = grad_output._array.shape
    for i, n in enumerate((shape[0], weight[0], *spatial)):
        if len(given) != len(shape) or given[i] != n:
            got = f"dimension {len(given)}" + (f" and tensor.size[{i}] = {given[i]}" if i < len(given) else "")
            raise RuntimeError(f"Expected a tensor of dimension {len(shape)} and tensor.size[{i}] == {n} but got: {got}")
    return window


def _check_dtype(expected: Tensor, found: Tensor) -> None:
    if expected.dtype is not found.dtype:
        raise RuntimeError(f"expected scalar type {expected.dtype.scalar_name} but found {found.dtype.scalar_name}")


def _gradients(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The gradients of conv<dims>d by its input and by its weight."""

    def conv_input(input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                   groups: int = 1) -> Any:
        window = _checked(dims, input_size, weight._array.shape, grad_output,
                          {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups})
        _check_dtype(grad_output, weight)
        return apply(TABLE["convolution_input"], grad_output, weight, size=tuple(input_size)[2:], window=window)

    def conv_weight(input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                    groups: int = 1) -> Any:
        window = _checked(dims, input._array.shape, weight_size, grad_output,
                          {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups})
        _check_dtype(input, grad_output)
        return apply(TABLE["convolution_weight"], grad_output, input, size=tuple(weight_size)[2:], window=window)

    for function, what in ((conv_input, "input"), (conv_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{dims}d_{what}"
        function.__doc__ = f"The gradient of conv{dims}d by its {what}, whose shape is given."
    return conv_input, conv_weight


conv1d_input, conv1d_weight = _gradients(1)
conv2d_input, conv2d_weight = _gradients(2)
conv3d_input, conv3d_weight = _gradients(3)
