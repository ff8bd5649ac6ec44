"""torch.distributed.nn: collectives that a backward passes through."""

from whygrad.distributed.nn import functional
from whygrad.distributed.nn.functional import (
                                               all_gather,
                                               all_reduce,
                                               all_to_all,
                                               all_to_all_single,
                                               broadcast,
                                               gather,
                                               reduce,
                                               reduce_scatter,
                                               scatter,
)
