"""torch.distributed.elastic: `whygrad launch` starts and restarts the ranks."""
