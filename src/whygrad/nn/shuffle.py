"""Modules that rearrange pixels and channels."""

from __future__ import annotations

from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.from_function import REQUIRED, module_class, shows, store


def _shuffle(name: str, function: Any, forward: Any, parameter: str) -> Any:
    return module_class(name, __name__, function, forward, {parameter: REQUIRED}, start=store, extra_repr=shows(parameter))


PixelShuffle = _shuffle("PixelShuffle", F.pixel_shuffle,
                        lambda self, input: F.pixel_shuffle(input, self.upscale_factor), "upscale_factor")
PixelUnshuffle = _shuffle("PixelUnshuffle", F.pixel_unshuffle,
                          lambda self, input: F.pixel_unshuffle(input, self.downscale_factor), "downscale_factor")
ChannelShuffle = _shuffle("ChannelShuffle", F.channel_shuffle,
                          lambda self, input: F.channel_shuffle(input, self.groups), "groups")
