"""torch.linalg."""

from whygrad.base.unsupported import absent_from
from whygrad.functional import linalg as _functions
from whygrad.functional.factor import (
    LinAlgError,
    cholesky_ex,
    householder_product,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu_factor,
    lu_factor_ex,
    solve_triangular,
)
from whygrad.functional.factor import linalg_cholesky as cholesky
from whygrad.functional.factor import linalg_lu as lu
from whygrad.functional.factor import linalg_lu_solve as lu_solve
from whygrad.functional.factor import linalg_qr as qr
from whygrad.functional.linalg import multi_dot, vecdot
from whygrad.functional.reduction import vector_norm
from whygrad.functional.run import linalg_function
from whygrad.functional.solve import (
    cross,
    diagonal,
    inv,
    inv_ex,
    lstsq,
    matrix_exp,
    matrix_power,
    pinv,
    solve,
    solve_ex,
    tensorinv,
    tensorsolve,
    vander,
)
from whygrad.functional.solve import linalg_det as det
from whygrad.functional.solve import linalg_slogdet as slogdet
from whygrad.functional.spectral import (
    cond,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_norm,
    matrix_rank,
    norm,
    svdvals,
)
from whygrad.functional.spectral import linalg_svd as svd

matmul = linalg_function()(_functions.matmul)
__getattr__ = absent_from("torch.linalg")

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu",
    "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank",
    "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals",
    "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]
