"""torch.distributed.optim."""

from whygrad.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
