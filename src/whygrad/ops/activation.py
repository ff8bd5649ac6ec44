"""Activation functions. Each `*_backward` is a row too, as in torch, so that second derivatives come by name."""

import math

from whygrad.ops.arithmetic import underivable
from whygrad.ops.table import elementwise


@elementwise(half="native", curve="rectified", public="sparse",
             x=lambda xp, g, out: xp.threshold_backward(g, out, threshold=0))
def relu(xp, x):
    return xp.maximum(x, 0)


@elementwise(curve="rectified", x=lambda xp, g, x, threshold: xp.threshold_backward(g, x, threshold=threshold))
def threshold(xp, x, *, threshold, value):
    return xp.where(x <= threshold, value, x)


@elementwise(node="ThresholdBackward1",
             x=lambda xp, g, x, threshold: xp.threshold_backward(g, x, threshold=threshold))
def threshold_inplace(xp, x, *, threshold, value):
    return xp.where(x <= threshold, value, x)


@elementwise(grad=lambda xp, g, x, threshold: xp.threshold_backward(g, x, threshold=threshold),
             x=lambda xp, g: xp.zeros_like(g))
def threshold_backward(xp, grad, x, *, threshold):
    return xp.where(x <= threshold, 0.0, grad)


@elementwise(curve="rectified", x=lambda xp, g, x, slope: xp.leaky_relu_backward(g, x, slope=slope))
def leaky_relu(xp, x, *, slope):
    return xp.where(x > 0, x, x * slope)


def leaky_relu_inplace_rule(xp, g, out, slope):
    if slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This "
            "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
            "leakRelu backward calculation with negative slope")
    return xp.leaky_relu_backward(g, out, slope=slope)


@elementwise(node=lambda kinds, statics: statics["node"], x=leaky_relu_inplace_rule)
def leaky_relu_inplace(xp, x, *, slope, node="LeakyReluBackward1"):
    return xp.where(x > 0, x, x * slope)


@elementwise(grad=lambda xp, g, x, slope: xp.leaky_relu_backward(g, x, slope=slope),
             x=lambda xp, g: xp.zeros_like(g))
def leaky_relu_backward(xp, grad, x, *, slope):
    return xp.where(x > 0, grad, grad * slope)


# ELU and its relatives: scale * x for x > 0, else scale * alpha * (exp(input_scale * x) - 1).

@elementwise(curve="saturating",
             node=lambda kinds, statics: statics["node"],
             x=lambda xp, g, x, alpha, scale, input_scale:
             xp.elu_backward(g, x, alpha=alpha, scale=scale, input_scale=input_scale))
def elu(xp, x, *, alpha, scale, input_scale, node):
    return xp.where(x > 0, x * scale, xp.expm1(x * input_scale) * (alpha * scale))


def elu_inplace_rule(xp, g, out, alpha, scale, input_scale):
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused by "
            "calling in-place forward function with a negative slope, please call out-of-place version instead.")
    return xp.elu_backward_of_result(g, out, alpha=alpha, scale=scale, input_scale=input_scale)


@elementwise(node=lambda kinds, statics: statics["node"], x=elu_inplace_rule)
def elu_inplace(xp, x, *, alpha, scale, input_scale, node):
    return xp.where(x > 0, x * scale, xp.expm1(x * input_scale) * (alpha * scale))


@elementwise(grad=lambda xp, g, x, alpha, scale, input_scale:
             xp.elu_backward(g, x, alpha=alpha, scale=scale, input_scale=input_scale),
             x=lambda xp, g, grad, x, alpha, scale, input_scale:
             xp.elu_backward(g * grad * input_scale, x, alpha=alpha, scale=scale, input_scale=input_scale) * (x < 0))
def elu_backward(xp, grad, x, *, alpha, scale, input_scale):
    return xp.where(x <= 0, grad * (input_scale * alpha * scale) * xp.exp(x * input_scale), grad * scale)


@elementwise(node="EluBackwardBackward0",
             grad=lambda xp, g, y, alpha, scale, input_scale:
             xp.elu_backward_of_result(g, y, alpha=alpha, scale=scale, input_scale=input_scale),
             y=lambda g, grad, y, input_scale: g * grad * input_scale * (y < 0))
def elu_backward_of_result(xp, grad, y, *, alpha, scale, input_scale):
    return xp.where(y <= 0, grad * input_scale * (y + alpha * scale), grad * scale)


@elementwise(curve="bounded", x=lambda xp, g, x, low, high: xp.hardtanh_backward(g, x, low=low, high=high))
def hardtanh(xp, x, *, low, high):
    return xp.clamp(x, low, high)


@elementwise(grad=lambda xp, g, x, low, high: xp.hardtanh_backward(g, x, low=low, high=high),
             x=lambda xp, g: xp.zeros_like(g))
def hardtanh_backward(xp, grad, x, *, low, high):
    return xp.where((x <= low) | (x >= high), 0.0, grad)


@elementwise(curve="bounded", x=lambda xp, g, x: xp.hardsigmoid_backward(g, x))
def hardsigmoid(xp, x):
    return xp.clamp(x + 3, 0, 6) / 6


@elementwise(node="NotImplemented",
             grad=underivable("hardsigmoid_backward"),
             x=underivable("hardsigmoid_backward"))
def hardsigmoid_backward(xp, grad, x):
    return xp.where((x > -3) & (x < 3), grad / 6, 0.0)


@elementwise(curve="bounded", x=lambda xp, g, x: xp.hardswish_backward(g, x))
def hardswish(xp, x):
    return x * xp.clamp(x + 3, 0, 6) / 6


@elementwise(grad=lambda xp, g, x: xp.hardswish_backward(g, x),
             x=lambda xp, g, grad, x: xp.where((x > -3) & (x < 3), g * grad / 3, 0.0))
def hardswish_backward(xp, grad, x):
    return xp.where(x <= -3, 0.0, xp.where(x < 3, grad * (x / 3 + 0.5), grad))


@elementwise(curve="saturating",
             x=lambda xp, g, x, beta, threshold: xp.softplus_backward(g, x, beta=beta, threshold=threshold))
def softplus(xp, x, *, beta, threshold):
    """log(1 + exp(beta * x)) / beta, or x where beta * x exceeds `threshold`: there both are equal in floating point."""
    scaled = x * beta
    return xp.where(scaled > threshold, x, xp.log1p(xp.exp(scaled)) / beta)


@elementwise(grad=lambda xp, g, x, beta, threshold: xp.softplus_backward(g, x, beta=beta, threshold=threshold),
             x=lambda xp, g, grad, x, beta, threshold:
             xp.sigmoid_backward(g * grad, xp.sigmoid(x * beta)) * (x * beta < threshold) * beta)
def softplus_backward(xp, grad, x, *, beta, threshold):
    scaled = x * beta
    return xp.where(scaled > threshold, grad, grad * xp.sigmoid(scaled))


@elementwise(curve="saturating", called="logsigmoid", x=lambda xp, g, x: xp.log_sigmoid_backward(g, x))
def log_sigmoid(xp, x):
    return xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x)))


@elementwise(grad=lambda xp, g, x: xp.log_sigmoid_backward(g, x),
             x=lambda xp, g, grad, x: g * grad * (xp.sigmoid(x) - 1) * xp.sigmoid(x))
def log_sigmoid_backward(xp, grad, x):
    return grad * xp.sigmoid(-x)


@elementwise(curve="saturating", x=lambda xp, g, x: xp.silu_backward(g, x))
def silu(xp, x):
    return x * xp.sigmoid(x)


@elementwise(batch="broadcast_shifted",
             grad=lambda xp, g, x: xp.silu_backward(g, x),
             x=lambda xp, g, grad, x: g * grad * silu_curvature(xp, x))
def silu_backward(xp, grad, x):
    s = xp.sigmoid(x)
    return grad * s * (1 + x * (1 - s))


def silu_curvature(xp, x):
    s = xp.sigmoid(x)
    return s * (1 - s) * (2 + x * (1 - 2 * s))


@elementwise(curve="saturating", x=lambda xp, g, x: xp.mish_backward(g, x))
def mish(xp, x):
    return x * xp.tanh(xp.softplus(x, beta=1, threshold=20))


@elementwise(node="MulBackward0",
             grad=lambda xp, g, x: xp.mish_backward(g, x),
             x=lambda xp, g, grad, x: g * grad * mish_curvature(xp, x))
def mish_backward(xp, grad, x):
    t = xp.tanh(xp.softplus(x, beta=1, threshold=20))
    return grad * (t + x * xp.sigmoid(x) * (1 - t * t))


def mish_curvature(xp, x):
    t, s = xp.tanh(xp.softplus(x, beta=1, threshold=20)), xp.sigmoid(x)
    return (1 - t * t) * s * (2 + x * (1 - s - 2 * t * s))


# GELU: x times the normal distribution function of x ("none"), or a tanh approximation of it ("tanh").

SQRT_HALF = math.sqrt(0.5)
SQRT_TWO_OVER_PI = math.sqrt(2 / math.pi)
CUBIC = 0.044715


@elementwise(curve="saturating",
             words={"x": "g * (normal_cdf(x) + x * normal_density(x)); the tanh approximation has the derivative of its own "
                         "formula"},
             x=lambda xp, g, x, approximate: xp.gelu_backward(g, x, approximate=approximate))
def gelu(xp, x, *, approximate):
    if approximate == "none":
        return 0.5 * x * (1 + xp.erf(x * SQRT_HALF))
    return 0.5 * x * (1 + xp.tanh(SQRT_TWO_OVER_PI * (x + CUBIC * (x * x * x))))


@elementwise(batch="broadcast_shifted",
             grad=lambda xp, g, x, approximate: xp.gelu_backward(g, x, approximate=approximate),
             x=lambda xp, g, grad, x, approximate: g * grad * gelu_curvature(xp, x, approximate))
def gelu_backward(xp, grad, x, *, approximate):
    return grad * gelu_slope(xp, x, approximate)


def gelu_slope(xp, x, approximate):
    if approximate == "none":
        density = (SQRT_TWO_OVER_PI / 2) * xp.exp(x * x * -0.5)
        return 0.5 * (1 + xp.erf(x * SQRT_HALF)) + x * density
    t = xp.tanh(SQRT_TWO_OVER_PI * (x + CUBIC * (x * x * x)))
    inner = SQRT_TWO_OVER_PI * (1 + 3 * CUBIC * (x * x))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner


def gelu_curvature(xp, x, approximate):
    if approximate == "none":
        density = (SQRT_TWO_OVER_PI / 2) * xp.exp(x * x * -0.5)
        return density * (2 - x * x)
    t = xp.tanh(SQRT_TWO_OVER_PI * (x + CUBIC * (x * x * x)))
    inner = SQRT_TWO_OVER_PI * (1 + 3 * CUBIC * (x * x))
    bend = SQRT_TWO_OVER_PI * 3 * CUBIC * x
    return (1 - t * t) * (inner - x * t * inner * inner + x * bend)
