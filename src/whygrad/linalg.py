"""torch.linalg: what of it whygrad has."""

from whygrad.functional.factor import LinAlgError, cholesky_ex, solve_triangular
from whygrad.functional.factor import linalg_cholesky as cholesky
from whygrad.functional.linalg import matmul, multi_dot, vecdot
from whygrad.functional.reduction import vector_norm

__all__ = ["LinAlgError", "cholesky", "cholesky_ex", "matmul", "multi_dot", "solve_triangular", "vecdot", "vector_norm"]
