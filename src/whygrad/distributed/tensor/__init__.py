"""torch.distributed.tensor: its placements, which libraries make when they are imported. There are no DTensors."""

from __future__ import annotations

from whygrad.base.unsupported import absent_from
from whygrad.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

__getattr__ = absent_from("torch.distributed.tensor")
