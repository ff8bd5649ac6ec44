"""Rows of ops/nn.py on NumPy arrays: primitives, and rows that are faster fused than composed of others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_reduction import FLOAT32, FLOAT64, sum
from whygrad.base.index_width import intp

DENSE = (FLOAT32, FLOAT64)


def _in_float(function: Any) -> Any:
    """Compute half precision in float32, as torch does."""

    def computed(x: Any, *, axis: Any) -> Any:
        if x.dtype in DENSE:
            return function(x, axis)
        return function(x.astype(np.float32), axis).astype(x.dtype)

    computed.__name__ = function.__name__
    return quiet(computed)


def _shifted(x: Any, axis: Any) -> Any:
    """x minus its maximum along `axis`, so that exp cannot overflow; x itself if a cheap bound shows that it cannot."""
    if x.size <= 1024:
        flat = x.reshape(-1)
        if flat.dot(flat) < 1600:  # then |x| < 40
            return x
    return np.asarray(np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf), order="C"))


@_in_float
def softmax(x: Any, axis: Any) -> Any:
    shifted = _shifted(x, axis)
    powers = np.asarray(np.exp(x, order="C") if shifted is x else np.exp(shifted, out=shifted))
    powers /= np.add.reduce(powers, axis=axis, keepdims=True)
    return powers


@_in_float
def log_softmax(x: Any, axis: Any) -> Any:
    # Always shifted: results near 0 would be lost in the rounding error of the unshifted logarithm.
    shifted = np.asarray(np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf), order="C"))
    total = np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))
    return np.subtract(shifted, total, out=shifted)


def softmax_backward(grad: Any, y: Any, *, axis: Any) -> Any:
    along = np.add.reduce(grad * y, axis=axis, keepdims=True)
    return (grad - along) * y


def log_softmax_backward(grad: Any, y: Any, *, axis: Any) -> Any:
    powers = np.exp(y)
    powers *= np.add.reduce(grad, axis=axis, keepdims=True)
    return np.subtract(grad, powers, out=powers if y.ndim else None)


def _class_index(shape: tuple[int, ...], target: Any) -> Any:
    """The subscript of each sample's target class. Classes are axis 1, or the only axis of a 1-dim shape."""
    if len(shape) == 1:
        return target.reshape(())
    if len(shape) == 2:
        return np.arange(shape[0]), target
    grid = np.ogrid[tuple([slice(n) for n in target.shape])]
    return grid[0], target, *grid[1:]


def _usable(target: Any, classes: int, ignore_index: int) -> tuple[Any, Any]:
    """(targets, with ignored ones replaced by class 0; mask of the ignored ones, or None). Raises if out of bounds."""
    ignored = target == ignore_index
    wrong = ~ignored & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {target[wrong].flat[0]} is out of bounds.")
    return np.where(ignored, 0, target), ignored if ignored.any() else None


def _weights(target: Any, ignored: Any, weight: Any, dtype: Any) -> tuple[Any, Any]:
    """(weight of each sample, or None if all are 1; sum of the weights)."""
    if weight is None:
        if ignored is None:
            return None, dtype.type(target.size)
        each = (~ignored).astype(dtype)
    else:
        each = weight[target] if ignored is None else np.where(ignored, dtype.type(0), weight[target])
    return each, np.add.reduce(each, axis=None)


def _all_count(shape: tuple[int, ...], target: Any, weight: Any, ignore_index: int) -> bool:
    """Whether the shape is (samples, classes), there are no weights, and no target is ignored or out of bounds."""
    if weight is not None or len(shape) != 2 or target.dtype != np.int64 or not target.size:
        return False
    # Viewed as unsigned, negative targets are out of bounds too.
    return not 0 <= ignore_index < shape[1] and bool(np.maximum.reduce(target.view(np.uint64), axis=None) < shape[1])


@quiet
def nll_loss(x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str, spatial: bool) -> Any:
    if not _all_count(x.shape, target, weight, ignore_index):
        return _general_nll_loss(x, target, weight, ignore_index, reduction)
    picked = x[np.arange(len(x)), target]
    if reduction == "none":
        return np.negative(picked)
    total = 0.0 - np.add.reduce(picked)  # unlike negation, gives 0.0 and not -0.0 for a perfect prediction
    return total / len(x) if reduction == "mean" else total


def _mean(losses: Any) -> Any:
    return losses.mean() if losses.size else losses.dtype.type(np.nan)


@quiet
def _general_nll_loss(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    classes = x.shape[min(1, x.ndim - 1)]
    usable, ignored = _usable(target, classes, ignore_index)
    picked = x[_class_index(x.shape, usable)] if classes else np.zeros(target.shape, x.dtype)
    if ignored is not None:
        picked = np.where(ignored, x.dtype.type(0), picked)
    each, total = _weights(usable, ignored, weight, x.dtype)
    if reduction == "none":
        return np.negative(picked if each is None else picked * each)
    if each is not None:
        picked = picked * each
    summed = 0.0 - np.add.reduce(picked, axis=None)
    return summed / total if reduction == "mean" else summed


def nll_loss_backward(x: Any, target: Any, weight: Any, *, shape: tuple[int, ...], ignore_index: int, reduction: str,
                      spatial: bool) -> Any:
    if not _all_count(shape, target, weight, ignore_index):
        return _general_nll_loss_backward(x, target, weight, shape, ignore_index, reduction)
    result = np.zeros(shape, x.dtype)
    result[np.arange(shape[0]), target] = x / -shape[0] if reduction == "mean" else -x
    return result


@quiet
def _general_nll_loss_backward(x: Any, target: Any, weight: Any, shape: tuple[int, ...], ignore_index: int,
                               reduction: str) -> Any:
    if len(shape) == 1 and target.ndim:
        # torch's forward accepts a single target in a vector, its backward does not.
        raise RuntimeError(f"size mismatch (got input: {list(shape)}, target: {list(target.shape)})")
    usable, ignored = _usable(target, shape[min(1, len(shape) - 1)], ignore_index)
    each, total = _weights(usable, ignored, weight, x.dtype)
    share = -x / total if reduction == "mean" else -x
    result = np.zeros(shape, x.dtype)
    result[_class_index(shape, usable)] = share if each is None else np.where(each == 0, x.dtype.type(0), share * each)
    return result


def _margins(x: Any, target: Any, weight: Any, margin: float) -> tuple[Any, Any, Any]:
    """(margin violation of each class, 0 for the target itself; targets; weights), by sample."""
    scores = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    target = target.reshape(-1)
    if ((target < 0) | (target >= scores.shape[1])).any():
        raise RuntimeError("target out of range")
    samples = np.arange(len(target))
    into = margin - scores[samples, target][:, None] + scores
    into[samples, target] = 0
    each = np.ones(len(target), x.dtype) if weight is None else weight[target]
    return np.where(into > 0, into, x.dtype.type(0)), target, each[:, None]  # no NaNs, as in torch


@quiet
def multi_margin_loss(x: Any, target: Any, weight: Any, *, p: int, margin: float, reduction: str) -> Any:
    into, _, each = _margins(x, target, weight, margin)
    loss = np.mean(into ** p * each, axis=1)
    return loss.reshape(target.shape) if reduction == "none" else _mean(loss) if reduction == "mean" else loss.sum()


def multi_margin_loss_backward(grad: Any, x: Any, target: Any, weight: Any, *, p: int, margin: float,
                               reduction: str) -> Any:
    into, flat_target, each = _margins(x, target, weight, margin)
    slope = (into > 0).astype(x.dtype) if p == 1 else 2 * into
    slope *= each / into.shape[1]
    slope[np.arange(len(flat_target)), flat_target] = -slope.sum(axis=1)
    return _shared_by_sample(grad, slope, reduction).reshape(x.shape)


def _shared_by_sample(grad: Any, slope: Any, reduction: str) -> Any:
    grad = grad.reshape(-1, 1)
    return slope * (grad / grad.dtype.type(len(slope)) if reduction == "mean" else grad)


def _label_pairs(x: Any, target: Any) -> tuple[Any, Any, Any]:
    """(max(0, 1 - score[label] + score[class]) by sample, label and other class; labels; mask of the valid labels)."""
    scores = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
    target = target.reshape(scores.shape)
    real = np.cumprod(target >= 0, axis=1).astype(bool)  # the first negative label ends the list
    labels = np.where(real, target, 0)
    wanted = np.zeros(scores.shape, bool)
    samples = np.arange(len(scores))[:, None]
    np.logical_or.at(wanted, (np.broadcast_to(samples, labels.shape)[real], labels[real]), True)
    into = 1 - scores[samples, labels][:, :, None] + scores[:, None, :]
    return np.where(real[:, :, None] & ~wanted[:, None, :] & (into > 0), into, x.dtype.type(0)), labels, real  # no NaNs


@quiet
def multilabel_margin_loss(x: Any, target: Any, *, reduction: str) -> Any:
    into, _, _ = _label_pairs(x, target)
    loss = into.sum(axis=(1, 2)) / x.dtype.type(into.shape[2])
    return loss.reshape(x.shape[:-1]) if reduction == "none" else _mean(loss) if reduction == "mean" else loss.sum()


def multilabel_margin_loss_backward(grad: Any, x: Any, target: Any, *, reduction: str) -> Any:
    into, labels, real = _label_pairs(x, target)
    hit = (into > 0).astype(x.dtype)
    slope = hit.sum(axis=1)
    samples = np.broadcast_to(np.arange(len(slope))[:, None], labels.shape)
    np.subtract.at(slope, (samples[real], labels[real]), hit.sum(axis=2)[real])
    slope /= x.dtype.type(slope.shape[1])
    return _shared_by_sample(grad, slope, reduction).reshape(x.shape)


def embedding(table: Any, index: Any, *, padding_idx: int, by_frequency: bool) -> Any:
    if index.size:
        low, high = np.minimum.reduce(index, axis=None), np.maximum.reduce(index, axis=None)
        if low < 0 or high >= len(table):
            raise IndexError("index out of range in self")
    return table.take(index, axis=0)


def embedding_backward(x: Any, index: Any, *, rows: int, padding_idx: int, by_frequency: bool) -> Any:
    flat = index.reshape(-1)
    width = x.shape[-1]
    result = np.zeros((rows, width), x.dtype)
    if not len(flat):
        return result
    add_rows(result, flat, x.reshape(-1, width))
    if by_frequency:
        result /= np.maximum(np.bincount(intp(flat), minlength=rows), 1)[:, None].astype(x.dtype)
    if padding_idx >= 0:
        result[padding_idx] = 0
    return result


def add_rows(result: Any, index: Any, rows: Any) -> None:
    """`result[index[i]] += rows[i]` for all i; repeated indices accumulate."""
    left = np.argsort(index, kind="stable")
    # For many distinct indices: each round adds one row for every index that has rows left, without repetition.
    for _ in range(8 if rows.size > 8192 else 0):
        first = _starts(index[left])
        once = left[first]
        result[index[once]] += rows[once]
        left = left[~first]
        if not len(left):
            return
    # The rest are few indices with many rows each: one reduction per run of equal indices.
    starts = np.flatnonzero(_starts(index[left]))
    result[index[left[starts]]] += np.add.reduceat(rows[left], starts, axis=0)


def _starts(ordered: Any) -> Any:
    """Mask of the elements at which a run of equal numbers begins."""
    first = np.empty(len(ordered), np.bool_)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def moments(x: Any, axis: Any) -> tuple[Any, Any, Any]:
    """(x - mean, mean, biased variance) over `axis`, which is kept with length 1."""
    if x.dtype not in DENSE:
        x = x.astype(np.float32)
    mean = np.add.reduce(x, axis=axis, keepdims=True) / _count(x, axis)
    centred = x - mean
    return centred, mean, _mean_product(centred, centred, axis)


def _count(x: Any, axis: Any) -> Any:
    return x.dtype.type(math.prod([x.shape[i] for i in axis]))


def _mean_product(a: Any, b: Any, axis: Any) -> Any:
    return _summed_product(a, b, axis) / _count(a, axis)


def summed_product(a: Any, b: Any, *, axis: Any) -> Any:
    """The sum of a * b over `axis`, without keepdims."""
    if a.dtype not in DENSE:
        return np.add.reduce(a.astype(np.float32) * b, axis=axis).astype(a.dtype)
    total = _summed_product(a, b, axis)
    return total.reshape([n for i, n in enumerate(a.shape) if i not in axis])


def _summed_product(a: Any, b: Any, axis: Any) -> Any:
    """`summed_product` without a temporary product, for sums over trailing axes or over all axes but the channels."""
    kept = a.ndim - len(axis)
    if axis and axis[0] == kept and a.size:
        shape = a.shape[:kept]
        total = np.einsum("ij,ij->i", a.reshape(math.prod(shape), -1), b.reshape(math.prod(shape), -1))
        return total.reshape(shape + (1,) * len(axis))
    if kept == 1 and axis and 1 not in axis and a.size and a.flags.c_contiguous and b.flags.c_contiguous:
        shape = (*a.shape[:2], -1)
        total = np.add.reduce(np.einsum("nci,nci->nc", a.reshape(shape), b.reshape(shape)), axis=0)
        return total.reshape((1, -1) + (1,) * (a.ndim - 2))
    return np.add.reduce(a * b, axis=axis, keepdims=True)


@quiet
def standardized(x: Any, *, axis: Any, eps: float) -> tuple[Any, Any]:
    centred, _, square = moments(x, axis)
    scale = 1 / np.sqrt(square + eps)
    centred *= scale
    return centred.astype(x.dtype, copy=False), scale.astype(x.dtype, copy=False)


def standardized_backward(g: Any, x: Any, *, axis: Any, eps: float) -> Any:
    if x.dtype not in DENSE:
        return standardized_backward(g.astype(np.float32), x.astype(np.float32), axis=axis, eps=eps).astype(x.dtype)
    y, scale = standardized(x, axis=axis, eps=eps)
    result = g - np.add.reduce(g, axis=axis, keepdims=True) / _count(g, axis)
    y *= _mean_product(g, y, axis)
    result -= y
    result *= scale
    return result


def layer_norm_input(g: Any, x: Any, weight: Any, *, axis: Any, eps: float) -> Any:
    return standardized_backward(g if weight is None else g * weight, x, axis=axis, eps=eps)


def layer_norm_weight(g: Any, x: Any, *, axis: Any, eps: float) -> Any:
    return summed_product(g, standardized(x, axis=axis, eps=eps)[0], axis=tuple(range(x.ndim - len(axis))))


def layer_norm_backward(g: Any, x: Any, weight: Any, *, axis: Any, eps: float) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias."""
    return (layer_norm_input(g, x, weight, axis=axis, eps=eps), layer_norm_weight(g, x, axis=axis, eps=eps),
            sum(g, axis=tuple(range(x.ndim - len(axis)))))


def _all_but_channel(x: Any) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def channel_moments(x: Any) -> tuple[Any, Any]:
    """Mean and biased variance of each channel (axis 1), shaped to broadcast."""
    _, mean, square = moments(x, _all_but_channel(x))
    return mean, square


def batch_norm_input(g: Any, x: Any, weight: Any, *, eps: float) -> Any:
    scaled = g if weight is None else g * weight.reshape(-1, *(1,) * (x.ndim - 2))
    return standardized_backward(scaled, x, axis=_all_but_channel(x), eps=eps)


def batch_norm_weight(g: Any, x: Any, *, eps: float) -> Any:
    return summed_product(g, standardized(x, axis=_all_but_channel(x), eps=eps)[0], axis=_all_but_channel(x))


@quiet
def trilinear(x: Any, y: Any, z: Any, *, spec: str) -> Any:
    return np.einsum(spec, x, y, z, optimize=True)
