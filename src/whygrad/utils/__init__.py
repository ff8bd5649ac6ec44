"""torch.utils: data loading, checkpoints of activations, DLPack."""

from whygrad.utils import checkpoint, data, dlpack

__all__ = ["checkpoint", "data", "dlpack"]
