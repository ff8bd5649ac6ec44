"""Loss modules: each keeps the arguments of the function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.functional.reduction import legacy_reduction
from whygrad.nn.made import keep, module_of
from whygrad.nn.module import Module
from whygrad.nn.shape import PairwiseDistance

_whygrad_internal_ = True


class _Loss(Module):
    """Base of all losses: knows its `reduction`."""

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
    keep(self, **values)
    if size_average is not None or reduce is not None:
        self.reduction = legacy_reduction(size_average, reduce)


def _loss(name: str, function: Callable[..., Any], check: Callable[..., None] | None = None, keyword_only: bool = False,
          **parameters: Any) -> Any:
    def start(self: Any, **values: Any) -> None:
        if check is not None:
            check(**values)
        _start(self, **values)

    passed = tuple([key for key in parameters if key not in LEGACY])
    return module_of(name, __name__, function, parameters, base=_WeightedLoss if "weight" in parameters else _Loss,
                     start=start, passed=passed, keyword_only=keyword_only)


LEGACY: dict[str, Any] = {"size_average": None, "reduce": None}
REDUCED: dict[str, Any] = {**LEGACY, "reduction": "mean"}


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


L1Loss = _loss("L1Loss", F.l1_loss, **REDUCED)
MSELoss = _loss("MSELoss", F.mse_loss, **REDUCED)
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss, **REDUCED, beta=1.0)
HuberLoss = _loss("HuberLoss", F.huber_loss, _check_huber, reduction="mean", delta=1.0)
NLLLoss = _loss("NLLLoss", F.nll_loss, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean")
CrossEntropyLoss = _loss("CrossEntropyLoss", F.cross_entropy, weight=None, size_average=None, ignore_index=-100,
                         reduce=None, reduction="mean", label_smoothing=0.0)
BCELoss = _loss("BCELoss", F.binary_cross_entropy, weight=None, **REDUCED)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, weight=None, **REDUCED,
                          pos_weight=None)
KLDivLoss = _loss("KLDivLoss", F.kl_div, **REDUCED, log_target=False)
PoissonNLLLoss = _loss("PoissonNLLLoss", F.poisson_nll_loss, log_input=True, full=False, size_average=None, eps=1e-8,
                       reduce=None, reduction="mean")
GaussianNLLLoss = _loss("GaussianNLLLoss", F.gaussian_nll_loss, keyword_only=True, full=False, eps=1e-6,
                        reduction="mean")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss, margin=1.0, **REDUCED)
MarginRankingLoss = _loss("MarginRankingLoss", F.margin_ranking_loss, margin=0.0, **REDUCED)
SoftMarginLoss = _loss("SoftMarginLoss", F.soft_margin_loss, **REDUCED)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", F.multilabel_margin_loss, **REDUCED)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, weight=None, **REDUCED)
MultiMarginLoss = _loss("MultiMarginLoss", F.multi_margin_loss, _check_multi_margin, p=1, margin=1.0, weight=None,
                        **REDUCED)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", F.cosine_embedding_loss, margin=0.0, **REDUCED)
TripletMarginLoss = _loss("TripletMarginLoss", F.triplet_margin_loss, _check_margin("TripletMarginLoss"), margin=1.0,
                          p=2.0, eps=1e-6, swap=False, **REDUCED)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of your own."""

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
