"""torch.distributed.tensor: placements, and the DTensors that `fully_shard` makes. Others there are none."""

from __future__ import annotations

from whygrad.base.unsupported import absent_from
from whygrad.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from whygrad.distributed.tensor.sharded import DTensor

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard"]

__getattr__ = absent_from("torch.distributed.tensor")
