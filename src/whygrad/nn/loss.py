"""Loss modules: each stores the arguments of the function of the same name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.from_function import module_class, store
from whygrad.nn.functional.losses import legacy_reduction
from whygrad.nn.linear import Linear
from whygrad.nn.module import Module
from whygrad.nn.shape import PairwiseDistance

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
           "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "MarginRankingLoss",
           "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
           "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class _Loss(Module):
    """Base of all losses: stores `reduction`."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        legacy = size_average is not None or reduce is not None
        self.reduction = legacy_reduction(size_average, reduce) if legacy else reduction


class _WeightedLoss(_Loss):
    """Base of losses with a `weight` buffer."""

    def __init__(self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _start(self: Any, size_average: Any = None, reduce: Any = None, **values: Any) -> None:
    store(self, **values)
    if size_average is not None or reduce is not None:
        self.reduction = legacy_reduction(size_average, reduce)


def _loss(name: str, function: Callable[..., Any], forward: Callable[..., Any], check: Callable[..., None] | None = None,
          keyword_only: bool = False, **parameters: Any) -> Any:
    def start(self: Any, **values: Any) -> None:
        if check is not None:
            check(**values)
        _start(self, **values)

    return module_class(name, __name__, function, forward, parameters, start=start, keyword_only=keyword_only,
                        base=_WeightedLoss if "weight" in parameters else _Loss)


REDUCED: dict[str, Any] = {"size_average": None, "reduce": None, "reduction": "mean"}


def _check_multi_margin(p: Any, weight: Any, **_: Any) -> None:
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")


def _check_huber(delta: Any, **_: Any) -> None:
    if not isinstance(delta, (float, int)):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")


def _check_margin(name: str) -> Callable[..., None]:
    def check(margin: Any, **_: Any) -> None:
        if margin <= 0:
            raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")

    return check


# The function, the call that `forward` makes of it, and the constructor's parameters.
L1Loss = _loss("L1Loss", F.l1_loss, lambda self, input, target: F.l1_loss(input, target, reduction=self.reduction), **REDUCED)
MSELoss = _loss("MSELoss", F.mse_loss, lambda self, input, target: F.mse_loss(input, target, reduction=self.reduction),
                **REDUCED)
SmoothL1Loss = _loss(
    "SmoothL1Loss", F.smooth_l1_loss,
    lambda self, input, target: F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta), **REDUCED, beta=1.0)
HuberLoss = _loss(
    "HuberLoss", F.huber_loss,
    lambda self, input, target: F.huber_loss(input, target, reduction=self.reduction, delta=self.delta),
    _check_huber, reduction="mean", delta=1.0)
NLLLoss = _loss(
    "NLLLoss", F.nll_loss,
    lambda self, input, target: F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index,
                                           reduction=self.reduction),
    weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean")
CrossEntropyLoss = _loss(
    "CrossEntropyLoss", F.cross_entropy,
    lambda self, input, target: F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index,
                                                reduction=self.reduction, label_smoothing=self.label_smoothing),
    weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0)
BCELoss = _loss(
    "BCELoss", F.binary_cross_entropy,
    lambda self, input, target: F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction),
    weight=None, **REDUCED)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", F.binary_cross_entropy_with_logits,
    lambda self, input, target: F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight,
                                                                   reduction=self.reduction),
    weight=None, **REDUCED, pos_weight=None)
KLDivLoss = _loss(
    "KLDivLoss", F.kl_div,
    lambda self, input, target: F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target),
    **REDUCED, log_target=False)
CTCLoss = _loss(
    "CTCLoss", F.ctc_loss,
    lambda self, log_probs, targets, input_lengths, target_lengths: F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity),
    blank=0, reduction="mean", zero_infinity=False)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss", F.poisson_nll_loss,
    lambda self, log_input, target: F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full,
                                                       eps=self.eps, reduction=self.reduction),
    log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean")
GaussianNLLLoss = _loss(
    "GaussianNLLLoss", F.gaussian_nll_loss,
    lambda self, input, target, var: F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps,
                                                         reduction=self.reduction),
    keyword_only=True, full=False, eps=1e-6, reduction="mean")
HingeEmbeddingLoss = _loss(
    "HingeEmbeddingLoss", F.hinge_embedding_loss,
    lambda self, input, target: F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction),
    margin=1.0, **REDUCED)
MarginRankingLoss = _loss(
    "MarginRankingLoss", F.margin_ranking_loss,
    lambda self, input1, input2, target: F.margin_ranking_loss(input1, input2, target, margin=self.margin,
                                                               reduction=self.reduction),
    margin=0.0, **REDUCED)
SoftMarginLoss = _loss("SoftMarginLoss", F.soft_margin_loss,
                       lambda self, input, target: F.soft_margin_loss(input, target, reduction=self.reduction), **REDUCED)
MultiLabelMarginLoss = _loss(
    "MultiLabelMarginLoss", F.multilabel_margin_loss,
    lambda self, input, target: F.multilabel_margin_loss(input, target, reduction=self.reduction), **REDUCED)
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss,
    lambda self, input, target: F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction),
    weight=None, **REDUCED)
MultiMarginLoss = _loss(
    "MultiMarginLoss", F.multi_margin_loss,
    lambda self, input, target: F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight,
                                                    reduction=self.reduction),
    _check_multi_margin, p=1, margin=1.0, weight=None, **REDUCED)
CosineEmbeddingLoss = _loss(
    "CosineEmbeddingLoss", F.cosine_embedding_loss,
    lambda self, input1, input2, target: F.cosine_embedding_loss(input1, input2, target, margin=self.margin,
                                                                 reduction=self.reduction),
    margin=0.0, **REDUCED)
TripletMarginLoss = _loss(
    "TripletMarginLoss", F.triplet_margin_loss,
    lambda self, anchor, positive, negative: F.triplet_margin_loss(
        anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap, reduction=self.reduction),
    _check_margin("TripletMarginLoss"), margin=1.0, p=2.0, eps=1e-6, swap=False, **REDUCED)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a custom distance function."""

    def __init__(self, *, distance_function: Callable[..., Any] | None = None, margin: float = 1.0, swap: bool = False,
                 reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        _check_margin("TripletMarginWithDistanceLoss")(margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                   margin=self.margin, swap=self.swap, reduction=self.reduction)


class LinearCrossEntropyLoss(_WeightedLoss):
    """`Linear` and `CrossEntropyLoss` in one; with `out_features` each class has logits of that shape."""

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Any = None,
                 ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)
        self.options = options

    def forward(self, input: Any, target: Any) -> Any:
        linear, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input, linear.weight.reshape(*shape, linear.in_features), target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape), weight=self.weight,
            reduction=self.reduction, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
            options=self.options)

    def extra_repr(self) -> str:
        shown = ("num_classes", "out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        values = {**vars(self), "bias": self.linear.bias is not None}
        return ", ".join([f"in_features={self.linear.in_features}", *(f"{name}={values[name]}" for name in shown)])
