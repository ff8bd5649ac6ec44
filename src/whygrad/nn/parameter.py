"""torch.nn.parameter: the tensors that a module owns."""

from whygrad.functional.parameter import Buffer, Parameter
from whygrad.nn.lazy import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
