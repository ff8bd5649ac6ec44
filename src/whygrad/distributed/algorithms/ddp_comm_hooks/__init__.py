"""Communication hooks: what DistributedDataParallel may do with a bucket of gradients instead of averaging it as it is."""

from __future__ import annotations

from enum import Enum
from typing import Any

from whygrad.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

BUILTIN_HOOKS = {"ALLREDUCE": default_hooks.allreduce_hook, "FP16_COMPRESS": default_hooks.fp16_compress_hook}


class DDPCommHookType(Enum):
    ALLREDUCE = "allreduce"
    FP16_COMPRESS = "fp16_compress"
    BF16_COMPRESS = "bf16_compress"
    POWER_SGD = "power_sgd"

    def hook(self) -> Any:
        return {"ALLREDUCE": default_hooks.allreduce_hook, "FP16_COMPRESS": default_hooks.fp16_compress_hook,
                "BF16_COMPRESS": default_hooks.bf16_compress_hook, "POWER_SGD": powerSGD_hook.powerSGD_hook}[self.name]


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    model.register_comm_hook(state, comm_hook_type.hook())
