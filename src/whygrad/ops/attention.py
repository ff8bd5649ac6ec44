"""Attention: softmax(q @ k.T * scale + mask) @ v."""

from whygrad.ops.arithmetic import underivable
from whygrad.ops.linear import transposed
from whygrad.ops.table import NoGrad, op

MINUS_INFINITY = float("-inf")


@op(symmetric=True,
    x=lambda xp, g, out, axis: (g - xp.sum(g * out, axis=axis, keepdims=True)) * out)
def safe_softmax(xp, x, *, axis):
    """Softmax, with zeros where all is masked out."""
    masked = xp.amax(x, axis=axis, keepdims=True) == MINUS_INFINITY
    return xp.where(masked, 0.0, xp.softmax(x, axis=axis))


# What torch runs for 4-dim arguments without dropout. It has no second derivative there.
@op(outputs=("out", NoGrad("the weights are kept for the backward pass")),
    xs=lambda xp, g, xs, out1, scale:
    [*xp.scaled_dot_product_flash_attention_for_cpu_backward(g, *xs[:3], out1, scale=scale), *[None] * (len(xs) - 3)])
def scaled_dot_product_flash_attention_for_cpu(xp, *xs, scale):
    """`xs` are query, key, value and perhaps a mask: booleans that let through, or numbers to be added."""
    q, k, v, *masks = xs
    scores = xp.matmul(q, transposed(xp, k)) * scale
    for mask in masks:
        scores = xp.where(mask, scores, MINUS_INFINITY) if "bool" in str(mask.dtype) else scores + mask
    weights = xp.safe_softmax(scores, axis=(3,))
    return xp.matmul(weights, v), weights


@op(node="NotImplemented",
    outputs=("q", "k", "v"),
    xs=underivable("_scaled_dot_product_flash_attention_for_cpu_backward"))
def scaled_dot_product_flash_attention_for_cpu_backward(xp, *xs, scale):
    grad, q, k, v, weights = xs
    slope = xp.matmul(grad, transposed(xp, v))
    slope = weights * (slope - xp.sum(slope * weights, axis=(3,), keepdims=True)) * scale
    return xp.matmul(slope, k), xp.matmul(transposed(xp, slope), q), xp.matmul(transposed(xp, weights), grad)
