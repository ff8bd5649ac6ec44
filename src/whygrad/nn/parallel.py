"""torch.nn.parallel on a machine without GPUs: a wrapper that forwards every call."""

from __future__ import annotations

from typing import Any

from whygrad.base.unsupported import missing
from whygrad.nn.module import Module

DistributedDataParallel = missing("torch.nn.parallel.DistributedDataParallel")


class DataParallel(Module):
    """Calls `module`, for programs that wrap their models whether or not there are GPUs."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
