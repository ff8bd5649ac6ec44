"""Dropout modules: active in training only."""

from __future__ import annotations

from typing import Any, ClassVar

from whygrad.nn import functional as F
from whygrad.nn.from_function import shows
from whygrad.nn.module import Module


class _DropoutNd(Module):
    """Base of all dropouts."""

    function: ClassVar[str]  # the name in nn.functional, looked up at each call so that a patched one is used

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    extra_repr = shows("p", "inplace")


class Dropout(_DropoutNd):
    """Zeroes elements."""

    function = "dropout"


class Dropout1d(_DropoutNd):
    """Zeroes channels of (N, C, L)."""

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zeroes channels of (N, C, H, W)."""

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zeroes channels of (N, C, D, H, W)."""

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout that preserves the mean and variance of SELU activations."""

    def forward(self, input: Any) -> Any:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels."""

    def forward(self, input: Any) -> Any:
        return F.feature_alpha_dropout(input, self.p, self.training)
