"""Losses, layers, images and sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from row_checks import Constant, Sample

from row_samples.making import Samples, case, mask, real, some, unary, whole
from whygrad.backends import raw
from whygrad.ops.conv import Window
from whygrad.ops.pool import Adaptive, Kind, Sliding
from whygrad.ops.resample import Interpolated, Sampling

SAMPLES: dict[str, Samples] = {}

# losses, softmax, embeddings, normalisations

REDUCTIONS = ("none", "mean", "sum")
CLASSES = whole(2, 0, 3)
NLL = {"ignore_index": -100, "spatial": False}
NORMED = real(3, 2, 2, seed=3)
STATISTICS = NORMED.mean(axis=(0, 2)), NORMED.var(axis=(0, 2))


def frozen(table: Any, index: Any, row: int) -> Any:
    """An embedding whose row for padding does not learn."""
    table = table.copy()
    table[row] = 0
    return table[index]


def by_frequency(table: Any, index: Any) -> Any:
    """An embedding whose rows learn more slowly the more often they are used."""
    return table[index] / np.bincount(index.ravel().astype(np.intp))[index][..., None]


SOFTMAX = [*(case(real(2, 3), axis=(axis,)) for axis in (0, 1)), case(real(), axis=()), case(real(0, 3), axis=(1,)),
           case(some(90.0, 91.0), axis=(0,))]
AVERAGED = {"second_differs": "torch's second derivative does not average"}
SAMPLES |= {
    "add_number": unary(value=1.5), "sub_number": unary(value=1.5), "mul_number": unary(value=1.5),
    "div_number": unary(value=1.5),
    "softmax": SOFTMAX, "log_softmax": SOFTMAX,
    "softmax_backward": [case(real(2, 3), real(2, 3, low=0.1, seed=1), axis=(1,)), case(real(), real(seed=1), axis=())],
    "log_softmax_backward": [case(real(2, 3), real(2, 3, seed=1), axis=(1,)), case(real(), real(seed=1), axis=())],
    "mse_loss": [case(real(2, 3), real(2, 3, seed=1), reduction=r)
                 for r in REDUCTIONS] + [case(real(), real(seed=1), reduction="none")],
    "smooth_l1_loss": [case(real(2, 3), real(2, 3, seed=1), reduction=r, beta=0.7) for r in REDUCTIONS],
    "huber_loss": [case(real(2, 3), real(2, 3, seed=1), reduction=r, delta=0.7) for r in REDUCTIONS],
    "soft_margin_loss": [case(real(2, 3), some([1, -1, 1], [-1, -1, 1]), reduction=r) for r in REDUCTIONS],
    "binary_cross_entropy": [case(real(2, 3, low=0.1, high=0.9), real(2, 3, low=0.1, high=0.9, seed=1), w, reduction=r)
                             for r in REDUCTIONS for w in (None, real(2, 3, low=0.5, seed=2))],
    "binary_cross_entropy_with_logits": [
        case(real(2, 3), real(2, 3, low=0.1, high=0.9), w, p, reduction=r)
        for r in REDUCTIONS for w, p in ((None, None), (real(3, low=0.5), None), (None, real(3, low=0.5)),
                                         (real(2, 3, low=0.5), real(3, low=0.5)))],
    "nll_loss": [case(real(3, 4), CLASSES, w, reduction=r, **NLL) for r in REDUCTIONS
                 for w in (None, real(4, low=0.5))] + [
        case(real(3, 4), CLASSES, None, reduction="mean", ignore_index=0, spatial=False),
        case(real(4), np.array(2), None, reduction="sum", **NLL),
        case(real(2, 3, 2), whole([0, 2], [1, 1]), None, reduction="mean", ignore_index=2, spatial=True)],
    "nll_loss_backward": [case(real(3), CLASSES, None, shape=(3, 4), reduction="none", **NLL),
                          case(real(), CLASSES, real(4, low=0.5), shape=(3, 4), reduction="mean", **NLL)],
    "multi_margin_loss": [case(real(3, 4), CLASSES, w, p=p, margin=0.9, reduction=r, second_fails=RuntimeError)
                          for r in REDUCTIONS for p, w in ((1, None), (2, real(4, low=0.5)))],
    "multi_margin_loss_backward": [case(real(), real(3, 4), CLASSES, None, p=1, margin=0.9, reduction="mean",
                                        fails=RuntimeError)],
    "multilabel_margin_loss": [case(real(2, 4), whole([2, 0, -1, 1], [1, -1, 0, 0]), reduction=r,
                                    second_fails=RuntimeError) for r in REDUCTIONS],
    "multilabel_margin_loss_backward": [case(real(), real(2, 4), whole([2, 0, -1, 1], [1, -1, 0, 0]), reduction="sum",
                                             fails=RuntimeError)],
    "embedding": [case(real(4, 2), whole([1, 3], [1, 0]), padding_idx=-1, by_frequency=False),
                  case(real(4, 2), whole(1, 3, 1), padding_idx=3, by_frequency=False, like=lambda table,
                       index: frozen(table, index, 3)),
                  case(real(4, 2), whole(1, 3, 1), padding_idx=-1, by_frequency=True, like=by_frequency, **AVERAGED),
                  case(real(4, 2), np.zeros((0,), int), padding_idx=-1, by_frequency=False)],
    "embedding_backward": [case(real(2, 2, 2), whole([1, 3], [1, 0]), rows=4, padding_idx=3, by_frequency=False),
                           case(real(3, 2), whole(1, 3, 1), rows=4, padding_idx=-1, by_frequency=False)],
    "layer_norm": [case(real(2, 3, 2), w, b, axis=axis, eps=0.01) for axis, shape in (((2,), (2,)), ((1, 2), (3, 2)))
                   for w, b in ((None, None), (real(*shape), real(*shape, seed=1)), (real(*shape), None))],
    "batch_norm": [case(NORMED, real(2), real(2, seed=1), None, None, eps=0.01),
                   case(NORMED, None, None, None, None, eps=0.01),
                   case(NORMED, real(2), real(2, seed=1), real(2, seed=2), real(2, low=0.5), eps=0.01),
                   case(real(4, 2), real(2), None, None, None, eps=0.01),
                   case(NORMED, None, None, real(2, seed=2), real(2, low=0.5), eps=0.01),
                   case(NORMED, real(2), None, real(2, seed=2), real(2, low=0.5), eps=0.01),
                   case(NORMED, real(2), real(2, seed=1), None, None, eps=0.01, known=STATISTICS, tolerance=1e-5,
                        like=lambda *arguments: raw.batch_norm(*arguments, eps=0.01))],
    "group_norm": [case(real(2, 4, 2), w, b, groups=2, eps=0.01) for w,
                   b in ((None, None), (real(4), real(4, seed=1)), (real(4), None))],
    # As in torch, the gradients of the statistics count only together.
    "native_group_norm": [case(real(2, 4, 2), w, b, groups=2, eps=0.01, results=(0,)) for w,
                          b in ((None, None), (real(4), real(4, seed=1)), (None, real(4)))],
    "glu": [case(real(2, 4), axis=1), case(real(2, 3), axis=0)],
    "prelu": [case(real(2, 3), real(3, low=0.1)), case(real(2, 3), real()), case(real(2, 3), real(2, 3, seed=1))],
    "rrelu": [case(real(2, 3), real(2, 3, seed=1))],
    "hardshrink": [case(real(2, 3), bound=0.5)],
    "softshrink": [case(real(2, 3), bound=0.5)],
}

# convolution and pooling


def window(dims: int, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Window:
    return Window((stride,) * dims, (padding,) * dims, (dilation,) * dims, groups)


SAMPLES |= {
    "convolution": [
        case(real(2, 2, 5), real(2, 2, 3), real(2), window=window(1)),
        case(real(1, 2, 6), real(4, 1, 2), None, window=window(1, 2, 1, 2, groups=2)),
        case(real(2, 1, 4, 4), real(2, 1, 3, 2), real(2), window=window(2, padding=1)),
        case(real(1, 1, 2, 3, 2), real(1, 1, 2, 2, 1), None, window=window(3)),
        case(real(1, 2, 6, 6), Constant(real(2, 2, 1, 1)), real(2), window=window(2)),
        case(real(0, 2, 4), real(1, 2, 2), real(1), window=window(1))],
    "convolution_transpose": [
        case(real(2, 2, 3), real(2, 1, 3), real(1), size=(5,), window=window(1)),
        case(real(1, 2, 3), real(2, 2, 2), None, size=(6,), window=window(1, 2, 0, groups=1)),
        case(real(1, 2, 2, 2), real(2, 1, 2, 2), real(2), size=(4, 4), window=window(2, 2, 0, 1, groups=2))],
    "convolution_input": [case(real(2, 2, 3), real(2, 2, 3), size=(5,), window=window(1)),
                          case(real(1, 2, 2), real(2, 1, 2), size=(4,), window=window(1, 2))],
    "convolution_weight": [case(real(2, 2, 3), real(2, 2, 5), size=(3,), window=window(1)),
                           case(real(1, 2, 2), real(1, 1, 5), size=(2,), window=window(1, 2)),
                           case(real(1, 2, 4, 4), real(1, 1, 4, 4), size=(3, 3), window=window(2, padding=1))],
    "conv_tbc": [case(real(4, 2, 2), real(3, 2, 2), real(2), padding=1)],
}
MAXIMA, MEANS = Kind("MaxPool2DWithIndices", 2), Kind("AvgPool2D", 2)
SLIDING = (Sliding(4, 2, 2, 0, 1, 2), Sliding(5, 3, 1, 1, 1, 5))
SPREAD = (Adaptive(4, 3), Adaptive(5, 2))
PLACES = whole([[[0, 7], [10, 7]]])
SAMPLES |= {
    "max_pool": [case(real(1, 2, 4, 5), axes=axes, kind=MAXIMA) for axes in (SLIDING, SPREAD)],
    "max_pool_values": [case(real(1, 2, 4, 5), axes=axes) for axes in (SLIDING, SPREAD)],
    "fractional_max_pool": [case(real(1, 2, 4, 5), real(1, 2, 2, low=0, high=1), kernel=(2, 2), size=(2, 3),
                                 kind=MAXIMA)],
    "pool_scatter": [case(real(1, 1, 2, 2), PLACES, shape=(1, 1, 3, 4), kind=MAXIMA)],
    "pool_gather": [case(real(1, 1, 3, 4), PLACES, kind=MAXIMA)],
    "max_unpool": [case(real(1, 1, 2, 2), whole([[[0, 7], [10, 5]]]), shape=(1, 1, 3, 4), kind=MAXIMA)],
    "avg_pool": [case(real(1, 2, 4, 5), axes=axes, count_pad=pad, divisor=by, kind=MEANS)
                 for axes, pad, by in ((SLIDING, True, None), (SLIDING, False, None), (SLIDING, True, 3),
                                       (SPREAD, False, None))],
    "avg_pool_backward": [case(real(1, 1, *[axis.out for axis in axes]), axes=axes, count_pad=pad, divisor=None,
                               kind=MEANS)
                          for axes, pad in ((SLIDING, True), (SLIDING, False), (SPREAD, False))],
}

# attention and recurrent layers

QKV = real(1, 2, 2, 3), real(1, 2, 3, 3, seed=1), real(1, 2, 3, 3, seed=2)
ATTENTION = {"scale": 0.6, "causal": False, "second_fails": RuntimeError}
SAMPLES |= {
    "safe_softmax": [case(real(2, 3), axis=(1,)), case(some([-math.inf, -math.inf], [1.0, -math.inf]), axis=(1,))],
    "scaled_dot_product_flash_attention_for_cpu": [
        case(*QKV, **ATTENTION), case(*QKV, Constant(real(2, 3)), **ATTENTION),
        case(*QKV, mask([1, 0, 1], [0, 0, 0]), **ATTENTION), case(*QKV, **{**ATTENTION, "causal": True})],
    "scaled_dot_product_flash_attention_for_cpu_backward": [
        case(real(1, 2, 2, 3), *QKV, real(1, 2, 2, 3, seed=3), Constant(real(1, 2, 2, low=1, high=2)), scale=0.6, causal=False,
             fails=RuntimeError)],
}


def recurrent(cell: str, gates: int, *, sizes: Any = None, reverse: bool = False, biases: int = 2,
              shorter: int = 0) -> Sample:
    """A layer with two hidden numbers, over three steps of a batch of two, or over a packed sequence."""
    hidden = shorter or 2
    state = real(2, hidden + 2 if cell == "lstm" else hidden, seed=1)
    bias, project = [real(2 * gates, seed=3 + i) for i in range(biases)], [real(shorter, 2, seed=5)] * bool(shorter)
    weights = [real(2 * gates, hidden, seed=2), *bias, *project]
    return case(real(*((5,) if sizes else (3, 2)), 2 * gates), state, *weights, cell=cell, sizes=sizes, reverse=reverse,
                biases=biases)


LAYERS = [recurrent("rnn_tanh", 1), recurrent("rnn_relu", 1, reverse=True), recurrent("gru", 3, sizes=(2, 2, 1), biases=1),
          recurrent("gru", 3, biases=0), recurrent("lstm", 4, sizes=(2, 2, 1), reverse=True),
          recurrent("lstm", 4, shorter=1)]
SAMPLES |= {
    "recurrent_layer": LAYERS,
    "mkldnn_rnn_layer": [recurrent("lstm", 4, reverse=r, biases=b) for r, b in ((False, 2), (True, 0))],
    "stack_states": [case(real(2, 3), real(2, 3, seed=1), width=1)],
    "pack_padded_sequence": [case(real(3, 2, 2), sizes=(2, 2, 1))],
    "pack_padded_sequence_backward": [case(real(5, 2), shape=(3, 2, 2), sizes=(2, 2, 1))],
    "pad_packed_sequence": [case(real(5, 2), shape=(4, 2, 2), sizes=(2, 2, 1), value=7.0)],
    "pad_sequence": [case(real(3, 2), real(1, 2), length=3, batch_axis=axis, value=7.0, left=left) for axis,
                     left in ((0, False), (1, True))],
}

# bags of embeddings, and sequences of labels

BAGS = whole(1, 3, 1, 0, 2), whole(0, 0, 0, 2, 2)
BAG = {"bags": 3, "by_frequency": False}
SCORES = raw.log_softmax(real(4, 2, 3), axis=(2,))
SPELLED = {"steps": (4, 3), "lengths": (2, 1), "blank": 0, "zero_infinity": False}
WORDS = whole([1, 2], [2, 0])
SAMPLES |= {
    "embedding_bag": [
        *(case(real(4, 2), *BAGS, None, mode=mode, padding_idx=pad, second_fails=NotImplementedError, **BAG)
          for mode in ("sum", "mean", "max") for pad in (-1, 3)),
        case(real(4, 2), *BAGS, Constant(real(5)), mode="sum", padding_idx=3, second_fails=NotImplementedError, **BAG),
        case(Constant(real(4, 2)), *BAGS, real(5), mode="sum", padding_idx=3, second_fails=RuntimeError, **BAG),
        case(real(4, 2), *BAGS, None, mode="sum", padding_idx=-1, bags=3, by_frequency=True,
             second_fails=NotImplementedError, kink=True)],
    "embedding_bag_backward": [case(real(3, 2), *BAGS, None, whole(3, 0, 2), rows=4, mode="mean", padding_idx=-1,
                                    by_frequency=False,
                                    fails=NotImplementedError)],
    "embedding_bag_weights_backward": [case(real(3, 2), real(4, 2), *BAGS, padding_idx=-1, fails=RuntimeError)],
    "ctc_loss": [case(SCORES, WORDS, **SPELLED, second_fails=RuntimeError,
                      like=lambda x, labels: raw.ctc_loss(raw.log_softmax(x, axis=(2,)), labels, **SPELLED)[0])],
    "ctc_loss_backward": [case(real(2), SCORES, WORDS, *raw.ctc_loss(SCORES, WORDS, **SPELLED), **SPELLED,
                               fails=RuntimeError)],
}

# images at another size or place


def scaled(mode: str, out: int, align_corners: bool = False, scale: float | None = None) -> list[Interpolated]:
    return [Interpolated(3, 3, mode, align_corners, None, False), Interpolated(4, out, mode, align_corners, scale, False)]


RESIZED = [*(scaled(mode, out) for mode in ("nearest", "nearest-exact", "linear", "cubic", "linear-aa", "cubic-aa")
             for out in (2, 7)),
           scaled("linear", 6, align_corners=True), scaled("cubic", 3, align_corners=True),
           scaled("linear", 5, scale=1.4)]
POINTS = real(1, 2, 2, 2, low=-1.3, high=1.3)
READING = [Sampling(mode, beyond, corners) for mode in ("bilinear", "nearest", "bicubic")
           for beyond in ("zeros", "border", "reflection")
           for corners in (False, True)]
SAMPLES |= {
    "upsample": [case(real(1, 2, 3, 4), axes=axes, kind="UpsampleBilinear2D") for axes in RESIZED],
    "upsample_backward": [case(real(1, 1, 3, axes[1].out), axes=axes, kind="UpsampleBilinear2D") for axes in RESIZED],
    "grid_sampler": [case(real(1, 2, 3, 4), POINTS, order=(0, 0), sampling=sampling) for sampling in READING] + [
        case(real(1, 1, 2, 3, 2), real(1, 1, 2, 1, 3, low=-0.9, high=0.9), order=(0, 0, 0), sampling=READING[0]),
        case(real(1, 2, 3, 4), POINTS, order=((0, 0), (0, 1), (1, 0)), sampling=READING[0])],
    "grid_sampler_backward": [case(real(1, 1, 2, 2), POINTS, shape=(1, 1, 3, 4), order=(0, 0), sampling=sampling)
                              for sampling in READING[::3]] + [
        case(real(1, 1, 2, 2, 2), POINTS, shape=(1, 1, 3, 4), order=((0, 1), (1, 0)), sampling=READING[1])],
    "affine_grid": [case(real(2, 2, 3), size=(2, 3), align_corners=corners) for corners in (False, True)] + [
        case(real(1, 3, 4), size=(1, 2, 2), align_corners=False)],
    "affine_grid_backward": [case(real(2, 2, 3, 2), size=(2, 3), align_corners=corners) for corners in (False, True)],
    "im2col": [case(real(2, 1, 3, 4), kernel=(2, 2), window=window(2)),
               case(real(1, 2, 3, 4), kernel=(2, 1), window=window(2, 2, 1, 2)),
               case(real(1, 2, 3, 4), kernel=(1, 1), window=window(2))],
    "col2im": [case(real(1, 4, 6), size=(3, 4), kernel=(2, 2), window=window(2))],
    "pixel_shuffle": [case(real(1, 8, 2, 1), factor=2), case(real(4, 1, 2), factor=2), case(real(2, 2, 2), factor=1),
                      case(real(4, 1, 1), factor=2)],
    "pixel_unshuffle": [case(real(1, 2, 4, 2), factor=2), case(real(2, 2, 2), factor=1)],
    "channel_shuffle": [case(real(2, 6, 2), axis=1, groups=2), case(real(6), axis=0, groups=3), case(real(6), axis=0, groups=1)],
    "weight_norm_interface": [case(real(3, 2, 2), real(3, 1, 1), axis=0), case(real(3, 2), real(1, 2), axis=1)],
}
