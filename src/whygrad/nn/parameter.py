"""torch.nn.parameter: the tensors that a module owns."""

from whygrad.nn.lazy import UninitializedBuffer, UninitializedParameter, is_lazy
from whygrad.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
