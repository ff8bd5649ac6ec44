"""Modules that rearrange, cut up and resize images."""

from __future__ import annotations

from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.from_function import REQUIRED, module_class, shows, store
from whygrad.nn.module import Module

__all__ = ["ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold", "Upsample", "UpsamplingBilinear2d",
           "UpsamplingNearest2d"]


def _shuffle(name: str, function: Any, forward: Any, parameter: str) -> Any:
    return module_class(name, __name__, function, forward, {parameter: REQUIRED}, start=store, extra_repr=shows(parameter))


PixelShuffle = _shuffle("PixelShuffle", F.pixel_shuffle,
                        lambda self, input: F.pixel_shuffle(input, self.upscale_factor), "upscale_factor")
PixelUnshuffle = _shuffle("PixelUnshuffle", F.pixel_unshuffle,
                          lambda self, input: F.pixel_unshuffle(input, self.downscale_factor), "downscale_factor")
ChannelShuffle = _shuffle("ChannelShuffle", F.channel_shuffle,
                          lambda self, input: F.channel_shuffle(input, self.groups), "groups")


WINDOW: dict[str, Any] = {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}

Unfold = module_class(
    "Unfold", __name__, F.unfold,
    lambda self, input: F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride),
    WINDOW, start=store, extra_repr=shows(*WINDOW))
Fold = module_class(
    "Fold", __name__, F.fold,
    lambda self, input: F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride),
    {"output_size": REQUIRED, **WINDOW}, start=store, extra_repr=shows("output_size", *WINDOW))


class Upsample(Module):
    """Resizes images with `nn.functional.interpolate`."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: Any
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple([float(factor) for factor in scale_factor])
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Any) -> Any:
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Old pickles lack the option, which was then always on.
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        size = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Nearest-neighbour upsampling."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear upsampling with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
