"""torch.utils: data loading, activation checkpointing, DLPack, swap_tensors."""

from whygrad.autograd.swapping import swap_tensors
from whygrad.base import pytree as _pytree
from whygrad.base.unsupported import absent_from
from whygrad.utils import checkpoint, data, dlpack

__getattr__ = absent_from("torch.utils")

__all__ = ["checkpoint", "data", "dlpack", "swap_tensors"]
