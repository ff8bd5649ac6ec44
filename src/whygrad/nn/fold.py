"""Modules that extract sliding windows of images as columns (im2col), and add them up again (col2im)."""

from __future__ import annotations

from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.from_function import REQUIRED, module_class, shows, store

WINDOW: dict[str, Any] = {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}

Unfold = module_class(
    "Unfold", __name__, F.unfold,
    lambda self, input: F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride),
    WINDOW, start=store, extra_repr=shows(*WINDOW))
Fold = module_class(
    "Fold", __name__, F.fold,
    lambda self, input: F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride),
    {"output_size": REQUIRED, **WINDOW}, start=store, extra_repr=shows("output_size", *WINDOW))
