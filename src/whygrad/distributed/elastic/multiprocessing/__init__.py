"""torch.distributed.elastic.multiprocessing."""

from whygrad.distributed.elastic.multiprocessing import errors
