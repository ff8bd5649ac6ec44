"""The named tuples that some functions return, printed as torch prints them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def _return_type(name: str, fields: str) -> type[Any]:
    def __repr__(self: Any) -> str:
        values = ",\n".join([f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)])
        return f"torch.return_types.{name}(\n{values})"

    members = {"__slots__": (), "__module__": "torch.return_types", "__repr__": __repr__}
    return type(name, (namedtuple(name, fields),), members)  # noqa: PYI024


max = _return_type("max", "values indices")
min = _return_type("min", "values indices")
median = _return_type("median", "values indices")
nanmedian = _return_type("nanmedian", "values indices")
aminmax = _return_type("aminmax", "min max")
linalg_cholesky_ex = _return_type("linalg_cholesky_ex", "L info")
linalg_inv_ex = _return_type("linalg_inv_ex", "inverse info")
linalg_solve_ex = _return_type("linalg_solve_ex", "result info")
linalg_lstsq = _return_type("linalg_lstsq", "solution residuals rank singular_values")
linalg_slogdet = _return_type("linalg_slogdet", "sign logabsdet")
slogdet = _return_type("slogdet", "sign logabsdet")
linalg_qr = _return_type("linalg_qr", "Q R")
qr = _return_type("qr", "Q R")
linalg_svd = _return_type("linalg_svd", "U S Vh")
svd = _return_type("svd", "U S V")
linalg_eigh = _return_type("linalg_eigh", "eigenvalues eigenvectors")
linalg_eig = _return_type("linalg_eig", "eigenvalues eigenvectors")
triangular_solve = _return_type("triangular_solve", "solution cloned_coefficient")
linalg_lu = _return_type("linalg_lu", "P L U")
linalg_lu_factor = _return_type("linalg_lu_factor", "LU pivots")
linalg_lu_factor_ex = _return_type("linalg_lu_factor_ex", "LU pivots info")
_lu_with_info = _return_type("_lu_with_info", "LU pivots info")
lu_unpack = _return_type("lu_unpack", "P L U")
linalg_ldl_factor = _return_type("linalg_ldl_factor", "LD pivots")
linalg_ldl_factor_ex = _return_type("linalg_ldl_factor_ex", "LD pivots info")
geqrf = _return_type("geqrf", "a tau")
sort = _return_type("sort", "values indices")
topk = _return_type("topk", "values indices")
kthvalue = _return_type("kthvalue", "values indices")
mode = _return_type("mode", "values indices")
cummax = _return_type("cummax", "values indices")
cummin = _return_type("cummin", "values indices")
histogram = _return_type("histogram", "hist bin_edges")
histogramdd = _return_type("histogramdd", "hist bin_edges")
frexp = _return_type("frexp", "mantissa exponent")
