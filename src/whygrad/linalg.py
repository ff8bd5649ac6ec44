"""torch.linalg: what of it whygrad has."""

from whygrad.functional.linalg import matmul, multi_dot, vecdot
from whygrad.functional.reduction import vector_norm

__all__ = ["matmul", "multi_dot", "vecdot", "vector_norm"]
