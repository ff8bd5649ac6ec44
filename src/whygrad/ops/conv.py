"""Convolution. It is bilinear in image and weight, so it and its two adjoints are three rows, closed under differentiation.

`convolution` computes the correlation y of an image x with a kernel w; `convolution_input` is its adjoint in x (from g and w),
`convolution_weight` its adjoint in w (from g and x), where g is the gradient of y.
"""

from typing import NamedTuple

from whygrad.ops.table import op


class Window(NamedTuple):
    """The geometry of the kernel's windows. All fields but `groups` have one number per spatial axis."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


def per_channel_sum(xp, g):
    return xp.sum(g, axis=(0, *range(2, len(g.shape))), keepdims=False)


@op(batch="convolve", kernel="conv", curve="product layer", saved={"x": "input"}, linear="x weight",
    memory="own",
    x=lambda xp, g, weight, x_shape, window: xp.convolution_input(g, weight, size=x_shape[2:], window=window),
    weight=lambda xp, g, x, weight_shape, window: xp.convolution_weight(g, x, size=weight_shape[2:], window=window),
    bias=lambda xp, g: per_channel_sum(xp, g))
def convolution(xp, x, weight, bias, *, window, size=None):
    """`size` is the spatial shape of the result, if it is not the largest possible."""


@op(batch="convolve", kernel="conv", linear="x weight",
    memory="own", node="ConvolutionBackward0",
    x=lambda xp, g, weight, x_shape, window: xp.convolution(g, weight, None, window=window, size=x_shape[2:]),
    weight=lambda xp, g, x, weight_shape, window: xp.convolution_weight(x, g, size=weight_shape[2:], window=window),
    bias=lambda xp, g: per_channel_sum(xp, g))
def convolution_transpose(xp, x, weight, bias, *, size, window):
    """The transposed convolution; `size` is the spatial shape of the result."""


@op(batch="convolve", linear="y weight",
    memory="own", node="ConvolutionBackwardBackward0",
    y=lambda xp, g, weight, y_shape, window: xp.convolution(g, weight, None, window=window, size=y_shape[2:]),
    weight=lambda xp, g, y, weight_shape, window: xp.convolution_weight(y, g, size=weight_shape[2:], window=window))
def convolution_input(xp, y, weight, *, size, window):
    return xp.convolution_transpose(y, weight, None, size=size, window=window)


@op(batch="weight_gradient", kernel="conv", linear="y x",
    memory="own", node="ConvolutionBackwardBackward0",
    y=lambda xp, g, x, y_shape, window: xp.convolution(x, g, None, window=window, size=y_shape[2:]),
    x=lambda xp, g, y, x_shape, window: xp.convolution_input(y, g, size=x_shape[2:], window=window))
def convolution_weight(xp, y, x, *, size, window): ...


@op(batch="defined",
    x=lambda xp, g, weight, x_shape, padding: _tbc_rule(xp, g, weight, x_shape, padding),
    weight=lambda xp, g, x, weight_shape, padding: _tbc_weight_rule(xp, g, x, weight_shape, padding),
    bias=lambda xp, g: xp.sum(g, axis=(0, 1), keepdims=False))
def conv_tbc(xp, x, weight, bias, *, padding):
    """1-dim convolution of an `x` of shape (time, batch, channels); the weight is (kernel, in, out)."""
    result = xp.convolution(xp.permute(x, axes=(1, 2, 0)), xp.permute(weight, axes=(2, 1, 0)), bias,
                            window=Window((1,), (padding,), (1,), 1))
    return xp.clone(xp.permute(result, axes=(2, 0, 1)), order="C")


def _tbc_rule(xp, g, weight, x_shape, padding):
    back = xp.convolution_input(xp.permute(g, axes=(1, 2, 0)), xp.permute(weight, axes=(2, 1, 0)), size=x_shape[:1],
                                window=Window((1,), (padding,), (1,), 1))
    return xp.permute(back, axes=(2, 0, 1))


def _tbc_weight_rule(xp, g, x, weight_shape, padding):
    back = xp.convolution_weight(xp.permute(g, axes=(1, 2, 0)), xp.permute(x, axes=(1, 2, 0)), size=weight_shape[:1],
                                 window=Window((1,), (padding,), (1,), 1))
    return xp.permute(back, axes=(2, 1, 0))
