"""Rows of nn.functional: softmax, losses, embeddings and normalisations."""

import math
from functools import cache
from typing import Any

from whygrad.ops.reduction import norm_rule
from whygrad.ops.table import NoGrad, along_axes, elementwise, op

NOT_DIFFERENTIABLE: dict[str, Any] = {"target": NoGrad("class indices have no derivative"),
                      "weight": NoGrad("the weights of a loss are constants")}


# An operation with a number inside torch's C++ code: its node differs from that of the same operation in Python.
def _with_number(name, rule, forward):
    forward.__name__ = f"{name}_number"
    elementwise(node=f"{name.capitalize()}Backward1", x=rule)(forward)


_with_number("add", lambda g: g, lambda xp, x, *, value: x + value)
_with_number("sub", lambda g: g, lambda xp, x, *, value: x - value)
_with_number("mul", lambda g, value: g * value, lambda xp, x, *, value: x * value)
_with_number("div", lambda g, value: g / value, lambda xp, x, *, value: x / value)


# The norm in pairwise_distance, whose node differs from that of the public norm.
@along_axes(curve="distance kinked", node="NormBackward1",
            x=lambda xp, g, x, out, ord, axis, keepdims: norm_rule(xp, g, x, out, ord, axis, keepdims))
def norm_along(xp, x, *, ord, axis, keepdims):
    return xp.vector_norm(x, ord=ord, axis=axis, keepdims=keepdims)


# Softmax. `axis` is a tuple of one axis, or empty for a 0-dim argument.
def along(xp, x, axis):
    return xp.sum(x, axis=axis, keepdims=True)


@along_axes(kernel="softmax", curve="saturating", public="special", symmetric=True,
            x=lambda xp, g, out, axis: xp.softmax_backward(g, out, axis=axis))
def softmax(xp, x, *, axis):
    powers = xp.exp(x - xp.amax(x, axis=axis, keepdims=True))
    return powers / xp.sum(powers, axis=axis, keepdims=True)


@along_axes(half="float32", kernel="softmax", node="SoftmaxBackwardDataBackward0",
            grad=lambda xp, g, y, axis: xp.softmax_backward(g, y, axis=axis),
            y=lambda xp, g, grad, y, axis: g * (grad - along(xp, grad * y, axis)) - grad * along(xp, g * y, axis))
def softmax_backward(xp, grad, y, *, axis):
    return (grad - along(xp, grad * y, axis)) * y


@along_axes(half="float32", kernel="softmax", curve="saturating", public="special",
            x=lambda xp, g, out, axis: xp.log_softmax_backward(g, out, axis=axis))
def log_softmax(xp, x, *, axis):
    return x - xp.logsumexp(x, axis=axis, keepdims=True)


@along_axes(half="float32", kernel="softmax", node="LogSoftmaxBackwardDataBackward0",
            grad=lambda xp, g, y, axis: g - along(xp, g * xp.exp(y), axis),
            y=lambda xp, g, grad, y, axis: -g * xp.exp(y) * along(xp, grad, axis))
def log_softmax_backward(xp, grad, y, *, axis):
    return grad - xp.exp(y) * along(xp, grad, axis)


# Losses of two tensors: an elementwise formula followed by a reduction, "none", "mean" or "sum". A pass is silenced itself.
def reduced(xp, reduction, formula, *args):
    return xp.in_one_pass(formula if reduction == "none" else reducing(formula, reduction), *args)


@cache
def reducing(formula, reduction):
    """The function that applies the formula and reduces its result by mean or sum."""
    def loss(xp, *args):
        losses = xp.in_one_pass(formula, *args)
        return xp.mean(losses) if reduction == "mean" else xp.sum(losses)

    loss.__name__ = f"{reduction}_of_{formula.__name__}"
    return loss


def share(shape, reduction, times=None):
    """Per-element factor of a reduced loss's gradient: `times`, over n for "mean"; None stands for 1."""
    if reduction != "mean":
        return times
    count = math.prod(shape)
    return (times or 1) / count if count else math.nan


def weighted(value, weight):
    return value if weight is None else value * weight


def squared_difference(xp, a, b):
    difference = a - b
    return difference * difference


def scaled_difference(xp, a, b, g, share):
    return (a - b) * weighted(g, share)


@op(quiet=False, batch="defined", curve="distance comparing", saved={"b": "target"}, memory="follow",
    a=lambda xp, g, a, b, reduction: xp.in_one_pass(scaled_difference, a, b, g, share(a.shape, reduction, 2)),
    b=lambda xp, g, a, b, reduction: xp.in_one_pass(scaled_difference, b, a, g, share(a.shape, reduction, 2)))
def mse_loss(xp, a, b, *, reduction):
    return reduced(xp, reduction, squared_difference, a, b)


def smooth_l1(xp, a, b, beta):
    size = xp.abs(a - b)
    return xp.where(size < beta, 0.5 * size * size / beta, size - 0.5 * beta)


def smooth_l1_back(xp, a, b, g, share, beta):
    difference = a - b
    # The comparison is false for NaN, which then propagates through the other branch.
    return xp.where(xp.abs(difference) >= beta, xp.sign(difference), difference / beta) * weighted(g, share)


@op(quiet=False, batch="defined", half="float32", curve="distance comparing", saved={"b": "target"}, node="SmoothL1LossBackward0",
    a=lambda xp, g, a, b, reduction, beta: xp.in_one_pass(smooth_l1_back, a, b, g, share(a.shape, reduction), beta),
    b=lambda xp, g, a, b, reduction, beta: xp.in_one_pass(smooth_l1_back, b, a, g, share(a.shape, reduction), beta))
def smooth_l1_loss(xp, a, b, *, reduction, beta):
    return reduced(xp, reduction, smooth_l1, a, b, beta)


def huber(xp, a, b, delta):
    size = xp.abs(a - b)
    return xp.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def huber_back(xp, a, b, g, share, delta):
    difference = a - b
    return xp.where(xp.abs(difference) > delta, xp.sign(difference) * delta, difference) * weighted(g, share)


@op(quiet=False, batch="defined", half="float32", curve="distance comparing", saved={"b": "target"},
    a=lambda xp, g, a, b, reduction, delta: xp.in_one_pass(huber_back, a, b, g, share(a.shape, reduction), delta),
    b=lambda xp, g, a, b, reduction, delta: xp.in_one_pass(huber_back, b, a, g, share(a.shape, reduction), delta))
def huber_loss(xp, a, b, *, reduction, delta):
    return reduced(xp, reduction, huber, a, b, delta)


def soft_margin(xp, x, target):
    return xp.log1p(xp.exp(-target * x))


def soft_margin_back(xp, x, target, g, share):
    power = xp.exp(-target * x)
    return -weighted(target * power, share) / (power + 1) * g


@op(quiet=False, batch="defined", curve="comparing",
    x=lambda xp, g, x, target, reduction: xp.in_one_pass(soft_margin_back, x, target, g, share(x.shape, reduction)),
    target=NoGrad("torch has no derivative for the target of soft_margin_loss"))
def soft_margin_loss(xp, x, target, *, reduction):
    return reduced(xp, reduction, soft_margin, x, target)


def entropy(xp, x, target, weight):
    # As in torch, logarithms are clamped at -100 to keep the loss of a wrong but certain prediction finite.
    yes, no = xp.clamp_min(xp.log(x), -100), xp.clamp_min(xp.log1p(-x), -100)
    return weighted((target - 1) * no - target * yes, weight)


def entropy_back(xp, x, target, g, share, weight):
    return weighted(weighted((x - target) / xp.clamp_min(x * (1 - x), 1e-12), weight) * g, share)


@op(quiet=False, batch="defined", curve="comparing",
    x=lambda xp, g, x, target, weight, reduction:
    xp.in_one_pass(entropy_back, x, target, g, share(x.shape, reduction), weight),
    target=lambda xp, g, x, weight, reduction:
    weighted(xp.log(1 - x) - xp.log(x), weight) * weighted(g, share(x.shape, reduction)),
    weight=NOT_DIFFERENTIABLE["weight"])
def binary_cross_entropy(xp, x, target, weight, *, reduction):
    return reduced(xp, reduction, entropy, x, target, weight)


def logits_slope(xp, x, target, pos_weight):
    if pos_weight is None:
        return xp.sigmoid(x) - target
    positive = pos_weight * target
    return (positive + 1 - target) * xp.sigmoid(x) - positive


def logits_entropy(xp, x, target, weight, pos_weight):
    certain = xp.log_sigmoid(x)
    if pos_weight is not None:
        certain = (1 + (pos_weight - 1) * target) * certain
    return weighted((1 - target) * x - certain, weight)


def logits_entropy_back(xp, x, target, g, share, weight, pos_weight):
    return weighted(weighted(logits_slope(xp, x, target, pos_weight), weight) * g, share)


@op(quiet=False, batch="defined", curve="saturating",
    x=lambda xp, g, x, target, weight, pos_weight, reduction:
    xp.in_one_pass(logits_entropy_back, x, target, g, share(x.shape, reduction), weight, pos_weight),
    target=lambda xp, g, x, weight, pos_weight, reduction:
    weighted(-x if pos_weight is None else xp.log_sigmoid(-x) - pos_weight * xp.log_sigmoid(x), weight)
    * weighted(g, share(x.shape, reduction)),
    weight=NOT_DIFFERENTIABLE["weight"],
    pos_weight=NOT_DIFFERENTIABLE["weight"])
def binary_cross_entropy_with_logits(xp, x, target, weight, pos_weight, *, reduction):
    return reduced(xp, reduction, logits_entropy, x, target, weight, pos_weight)


# Negative log likelihood. The loss is linear in `x`, so it and its gradient are a pair of adjoint rows. `spatial` marks
# inputs with more axes than (samples, classes), for which torch has another node.
def _nll_node(kinds, statics):
    return "NllLoss2DBackward0" if statics["spatial"] else "NllLossBackward0"


@op(batch="own", half="float32", kernel="nll_loss",
    words={"x": "-g * weight[target] at each target's class, 0 elsewhere; reduction='mean' divides by sum(weight[target])"},
    linear="x",
    node=_nll_node,
    x=lambda xp, g, target, weight, x, ignore_index, reduction, spatial:
    xp.nll_loss_backward(g, target, weight, shape=x.shape, ignore_index=ignore_index, reduction=reduction,
                         spatial=spatial),
    **NOT_DIFFERENTIABLE)
def nll_loss(xp, x, target, weight, *, ignore_index, reduction, spatial): ...


@op(batch="own", half="float32", kernel="nll_loss", linear="x",
    node=lambda kinds, statics: _nll_node(kinds, statics).replace("Backward0", "BackwardBackward0"),
    x=lambda xp, g, target, weight, ignore_index, reduction, spatial:
    xp.nll_loss(g, target, weight, ignore_index=ignore_index, reduction=reduction, spatial=spatial),
    **NOT_DIFFERENTIABLE)
def nll_loss_backward(xp, x, target, weight, *, shape, ignore_index, reduction, spatial): ...


# Margin losses of class scores. As in torch, they have no second derivative.
def _underivable(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@op(batch="looped", half="float32",
    x=lambda xp, g, x, target, weight, p, margin, reduction:
    xp.multi_margin_loss_backward(g, x, target, weight, p=p, margin=margin, reduction=reduction),
    **NOT_DIFFERENTIABLE)
def multi_margin_loss(xp, x, target, weight, *, p, margin, reduction): ...


@op(batch="looped", node="NotImplemented",
    grad=_underivable("multi_margin_loss_backward"),
    x=_underivable("multi_margin_loss_backward"),
    **NOT_DIFFERENTIABLE)
def multi_margin_loss_backward(xp, grad, x, target, weight, *, p, margin, reduction): ...


@op(batch="looped",
    x=lambda xp, g, x, target, reduction: xp.multilabel_margin_loss_backward(g, x, target, reduction=reduction),
    target=NOT_DIFFERENTIABLE["target"])
def multilabel_margin_loss(xp, x, target, *, reduction): ...


@op(batch="looped", node="NotImplemented",
    grad=_underivable("multilabel_margin_loss_backward"),
    x=_underivable("multilabel_margin_loss_backward"),
    target=NOT_DIFFERENTIABLE["target"])
def multilabel_margin_loss_backward(xp, grad, x, target, *, reduction): ...


# Embedding: a lookup of table rows, and its adjoint, which accumulates gradients in them.
INDEX = NoGrad("indices have no derivative")


@op(batch="own", kernel="indexing", curve="layer", saved={"index": "indices", "by_frequency": "scale_grad_by_freq"},
    words={"table": "g added up in the rows that index names, 0 elsewhere; nothing in row padding_idx"},
    linear="table",
    table=lambda xp, g, index, table_shape, padding_idx, by_frequency:
    xp.embedding_backward(g, index, rows=table_shape[0], padding_idx=padding_idx, by_frequency=by_frequency),
    index=INDEX)
def embedding(xp, table, index, *, padding_idx, by_frequency): ...


@op(batch="own", kernel="indexing", linear="x",
    node="EmbeddingDenseBackwardBackward0",
    x=lambda xp, g, index, padding_idx:
    xp.where(xp.unsqueeze(index != padding_idx, axis=len(index.shape)),
             xp.embedding(g, index, padding_idx=padding_idx, by_frequency=False), 0.0),
    index=INDEX)
def embedding_backward(xp, x, index, *, rows, padding_idx, by_frequency): ...


# A product of three tensors in einsum notation ("ni,oij,nj->no"); its derivatives are products of the same kind.
def _trilinear_rule(position):
    def rule(xp, g, x, y, z, spec):
        letters, result = spec.split("->")
        terms = letters.split(",")
        wanted = terms[position]
        terms[position] = result
        factors = [x, y, z]
        factors[position] = g
        return xp.trilinear(*factors, spec=f"{','.join(terms)}->{wanted}")

    return rule


@op(batch="own", half="float32", linear="x y z", x=_trilinear_rule(0), y=_trilinear_rule(1), z=_trilinear_rule(2))
def trilinear(xp, x, y, z, *, spec): ...


# Normalisations. Each is `standardized(x) * weight + bias`; they differ in the axes that are normalised together.
def standardized(xp, x, *, axis, eps):
    """(x normalised to mean 0 and variance 1 over `axis`, 1 / standard deviation)."""
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    scale = xp.rsqrt(xp.mean(centred * centred, axis=axis, keepdims=True) + eps)
    return centred * scale, scale


def standardized_backward(xp, g, x, *, axis, eps):
    """The rule of `standardized`: removes the parts of the gradient that only shift or scale x."""
    y, scale = xp.fused(standardized, x, axis=axis, eps=eps)
    return scale * (g - xp.mean(g, axis=axis, keepdims=True) - y * xp.mean(g * y, axis=axis, keepdims=True))


def summed_product(xp, a, b, *, axis):
    return xp.sum(a * b, axis=axis)


def leading(x, axis):
    return tuple(range(len(x.shape) - len(axis)))


def layer_norm_input(xp, g, x, weight, *, axis, eps):
    return xp.fused(standardized_backward, weighted(g, weight), x, axis=axis, eps=eps)


def layer_norm_weight(xp, g, x, *, axis, eps):
    return xp.fused(summed_product, g, xp.fused(standardized, x, axis=axis, eps=eps)[0], axis=leading(x, axis))


def back_through_standardized(over):
    """standardized(x) = (x - mean(x)) / deviation(x), deviation(x) = sqrt(var(x) + eps)."""
    return (f"(g * weight - mean(g * weight, {over}) - standardized(x) * mean(g * weight * standardized(x), {over})) / "
            "deviation(x)")


@op(batch="own", half="float32", kernel="normalize", curve="layer", saved={"x": "input"},
    words={"x": back_through_standardized("axis"),
           "weight": "sum(g * standardized(x), all axes but axis)",
           "bias": "sum(g, all axes but axis)"},
    node="NativeLayerNormBackward0",
    x=lambda xp, g, x, weight, axis, eps: xp.fused(layer_norm_input, g, x, weight, axis=axis, eps=eps),
    weight=lambda xp, g, x, axis, eps: xp.fused(layer_norm_weight, g, x, axis=axis, eps=eps),
    bias=lambda xp, g, axis: xp.sum(g, axis=leading(g, axis)),
    at_once=lambda xp, g, x, weight, axis, eps: xp.layer_norm_backward(g, x, weight, axis=axis, eps=eps))
def layer_norm(xp, x, weight, bias, *, axis, eps):
    y = weighted(xp.fused(standardized, x, axis=axis, eps=eps)[0], weight)
    return y if bias is None else y + bias


def per_channel(xp, values, x):
    """Per-channel values (axis 1), shaped to broadcast against `x`."""
    return xp.reshape(values, shape=(1, x.shape[1], *(1,) * (len(x.shape) - 2)))


def all_but_channel(x):
    return (0, *range(2, len(x.shape)))


def batch_standardized(xp, x, mean, var, eps):
    if mean is None:
        return xp.fused(standardized, x, axis=all_but_channel(x), eps=eps)
    scale = xp.rsqrt(per_channel(xp, var, x) + eps)
    return (x - per_channel(xp, mean, x)) * scale, scale


def batch_norm_input(xp, g, x, weight, *, eps):
    """The gradient of the input, normalised with the batch statistics."""
    if weight is not None:
        g = g * per_channel(xp, weight, x)
    return xp.fused(standardized_backward, g, x, axis=all_but_channel(x), eps=eps)


def batch_norm_weight(xp, g, x, *, eps):
    return xp.fused(summed_product, g, batch_standardized(xp, x, None, None, eps)[0], axis=all_but_channel(x))


def batch_norm_rule(xp, g, x, weight, mean, var, eps):
    if mean is None:
        return xp.fused(batch_norm_input, g, x, weight, eps=eps)
    if weight is not None:
        g = g * per_channel(xp, weight, x)
    return g * xp.rsqrt(per_channel(xp, var, x) + eps)


STATISTICS = NoGrad("running statistics are constants")


def batch_norm_weight_rule(xp, g, x, mean, var, eps):
    if mean is None:
        return xp.fused(batch_norm_weight, g, x, eps=eps)
    return xp.fused(summed_product, g, batch_standardized(xp, x, mean, var, eps)[0], axis=all_but_channel(x))


@op(batch="own", half="float32", kernel="normalize", curve="layer", saved={"x": "input"},
    words={"x": back_through_standardized("all axes but 1"),
           "weight": "sum(g * standardized(x), all axes but 1)",
           "bias": "sum(g, all axes but 1)"},
    node="NativeBatchNormBackward0", memory="channels",
    x=batch_norm_rule,
    weight=batch_norm_weight_rule,
    bias=lambda xp, g: xp.sum(g, axis=all_but_channel(g)),
    mean=STATISTICS, var=STATISTICS)
def batch_norm(xp, x, weight, bias, mean, var, *, eps, known=None):
    """Uses `mean` and `var`, or if they are None the batch statistics, which the caller may pass as `known`."""
    if known is not None:
        mean, var = known
    y, _ = batch_standardized(xp, x, mean, var, eps)
    if weight is not None:
        y = y * per_channel(xp, weight, x)
    return y if bias is None else y + per_channel(xp, bias, x)


def grouped(xp, x, groups):
    return xp.reshape(x, shape=(x.shape[0], groups, math.prod(x.shape[1:]) // groups))


def group_standardized(xp, x, groups, eps):
    return xp.reshape(xp.fused(standardized, grouped(xp, x, groups), axis=(2,), eps=eps)[0], shape=x.shape)


def group_norm_rule(xp, g, x, weight, groups, eps):
    if weight is not None:
        g = g * per_channel(xp, weight, x)
    back = xp.fused(standardized_backward, grouped(xp, g, groups), grouped(xp, x, groups), axis=(2,), eps=eps)
    return xp.reshape(back, shape=x.shape)


def group_norm_weight_rule(xp, g, x, groups, eps):
    return xp.fused(summed_product, g, group_standardized(xp, x, groups, eps), axis=all_but_channel(x))


@op(batch="defined", curve="layer",
    words={"x": back_through_standardized("each group")},
    node="NativeGroupNormBackward0", memory="channels",
    x=group_norm_rule,
    weight=group_norm_weight_rule,
    bias=lambda xp, g: xp.sum(g, axis=all_but_channel(g)))
def group_norm(xp, x, weight, bias, *, groups, eps):
    y = group_standardized(xp, x, groups, eps)
    if weight is not None:
        y = y * per_channel(xp, weight, x)
    return y if bias is None else y + per_channel(xp, bias, x)


def native_group_norm_rule(xp, g, x, weight, groups, eps):
    """As in torch, the gradients of the statistics count only if both are given."""
    out_g, mean_g, rstd_g = g
    total = None if out_g is None else group_norm_rule(xp, out_g, x, weight, groups, eps)
    if mean_g is None or rstd_g is None:
        return total
    whole = grouped(xp, x, groups)
    y, rstd = xp.fused(standardized, whole, axis=(2,), eps=eps)
    mean_g, rstd_g = [xp.unsqueeze(s, axis=2) for s in (mean_g, rstd_g)]
    more = xp.reshape((mean_g - rstd_g * rstd * rstd * y) / whole.shape[2], shape=x.shape)
    return more if total is None else total + more


@op(batch="defined", curve="layer", node="NativeGroupNormBackward0", memory="channels", outputs=("output", "mean", "rstd"),
    partial=True,
    x=native_group_norm_rule,
    weight=lambda xp, g, x, groups, eps: None if g[0] is None else group_norm_weight_rule(xp, g[0], x, groups, eps),
    bias=lambda xp, g: None if g[0] is None else xp.sum(g[0], axis=all_but_channel(g[0])))
def native_group_norm(xp, x, weight, bias, *, groups, eps):
    """`group_norm`, and mean and 1 / sqrt(variance + eps) of each group."""
    whole = grouped(xp, x, groups)
    rstd = xp.reshape(xp.fused(standardized, whole, axis=(2,), eps=eps)[1], shape=(x.shape[0], groups))
    return xp.group_norm(x, weight, bias, groups=groups, eps=eps), xp.mean(whole, axis=(2,)), rstd


# Activations: gated ones, those with a learned or random slope, and the shrinkage functions.
def halves(xp, x, axis):
    half = x.shape[axis] // 2
    return xp.slice(x, axis=axis, start=0, stop=half), xp.slice(x, axis=axis, start=half, stop=2 * half)


def glu_rule(xp, g, x, axis):
    a, b = halves(xp, x, axis)
    gate = xp.sigmoid(b)
    return xp.cat(g * gate, g * a * gate * (1 - gate), axis=axis)


@along_axes(half="float32", memory="follow", x=glu_rule)
def glu(xp, x, *, axis):
    a, b = halves(xp, x, axis)
    return a * xp.sigmoid(b)


@elementwise(curve="rectified layer", node="PreluKernelBackward0",
             x=lambda xp, g, x, weight: xp.where(x > 0, g, g * weight),
             weight=lambda xp, g, x: xp.where(x > 0, 0.0, g * x))
def prelu(xp, x, weight):
    return xp.where(x > 0, x, x * weight)


@elementwise(curve="rectified", node=lambda kinds, statics: f"RreluWithNoiseBackward{int(statics['inplace'])}",
             x=lambda g, slopes: g * slopes,
             slopes=NoGrad("the slopes are drawn at random"))
def rrelu(xp, x, slopes, *, inplace=False):
    return xp.mul(x, slopes)


@elementwise(curve="bounded", x=lambda xp, g, x, bound: xp.where((x >= -bound) & (x <= bound), 0.0, g))
def hardshrink(xp, x, *, bound):
    return xp.where((x >= -bound) & (x <= bound), 0.0, x)


@elementwise(curve="bounded", x=lambda xp, g, x, bound: xp.where((x >= -bound) & (x <= bound), 0.0, g))
def softshrink(xp, x, *, bound):
    return xp.where(x > bound, x - bound, xp.where(x < -bound, x + bound, x * 0.0))
