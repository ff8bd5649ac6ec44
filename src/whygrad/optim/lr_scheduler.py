"""Learning rate schedulers: each computes the `lr` of every parameter group for the next epoch."""

from whygrad.base.unsupported import absent_from
from whygrad.optim import schedules
from whygrad.optim.combined_schedules import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from whygrad.optim.cyclic_schedules import CyclicLR, OneCycleLR
from whygrad.optim.scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from whygrad.optim.scheduler import LRScheduler
from whygrad.optim.schedules import *  # noqa: F403

# Its name before PyTorch 2.0.
_LRScheduler = LRScheduler

__getattr__ = absent_from("torch.optim.lr_scheduler")

__all__ = ["ChainedScheduler", "CyclicLR", "LRScheduler", "OneCycleLR", "ReduceLROnPlateau", "SequentialLR", *schedules.__all__]
