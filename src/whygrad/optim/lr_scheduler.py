"""Learning rate schedulers: each computes the `lr` of every parameter group for the next epoch."""

from whygrad.base.unsupported import absent_from
from whygrad.optim.combined_schedules import ChainedScheduler as ChainedScheduler
from whygrad.optim.combined_schedules import SequentialLR as SequentialLR
from whygrad.optim.cyclic_schedules import CyclicLR as CyclicLR
from whygrad.optim.cyclic_schedules import OneCycleLR as OneCycleLR
from whygrad.optim.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from whygrad.optim.scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from whygrad.optim.scheduler import LRScheduler
from whygrad.optim.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

# Its name before PyTorch 2.0.
_LRScheduler = LRScheduler

__getattr__ = absent_from("torch.optim.lr_scheduler")

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
           "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]
