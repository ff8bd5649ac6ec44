"""torch.distributed.tensor: its placements, which libraries make when they are imported. There are no DTensors."""

from __future__ import annotations

from whygrad.base.unsupported import absent_from, missing
from whygrad.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard"]

DTensor = missing("torch.distributed.tensor.DTensor")  # libraries ask whether a tensor is one

__getattr__ = absent_from("torch.distributed.tensor")
