"""torch.distributed.fsdp: `fully_shard`. The older class FullyShardedDataParallel is not here."""

from whygrad.base.unsupported import absent_from
from whygrad.distributed.fsdp.fully_sharded import FSDPModule, fully_shard

__getattr__ = absent_from("torch.distributed.fsdp")
