"""torch.nn.parallel: DistributedDataParallel, which torch.distributed has; without GPUs DataParallel forwards every call."""

from __future__ import annotations

from typing import Any

from whygrad.base.on_demand import on_demand
from whygrad.base.unsupported import absent_from
from whygrad.nn.module import Module

_absent = absent_from("torch.nn.parallel")


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        return on_demand.load_distributed().data_parallel.DistributedDataParallel
    return _absent(name)


class DataParallel(Module):
    """Calls `module`, for programs that wrap their models whether or not there are GPUs."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
