"""torch.distributed.checkpoint: one checkpoint of all ranks, a folder, which another number of ranks can load."""

from whygrad.distributed.checkpoint import state_dict
from whygrad.distributed.checkpoint.storage import (
                                                       CheckpointException,
                                                       FileSystemReader,
                                                       FileSystemWriter,
                                                       Stateful,
                                                       load,
                                                       load_state_dict,
                                                       save,
                                                       save_state_dict,
)
