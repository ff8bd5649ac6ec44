"""The named tuples that some functions return, printed as torch prints them. Each is made when it is first asked for."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

# Fields -> names of the types.
_NAMES = {
    "values indices": "max min median nanmedian sort topk kthvalue mode cummax cummin",
    "min max": "aminmax",
    "L info": "linalg_cholesky_ex",
    "inverse info": "linalg_inv_ex",
    "result info": "linalg_solve_ex",
    "solution residuals rank singular_values": "linalg_lstsq",
    "sign logabsdet": "linalg_slogdet slogdet",
    "Q R": "linalg_qr qr",
    "U S Vh": "linalg_svd",
    "U S V": "svd",
    "eigenvalues eigenvectors": "linalg_eigh linalg_eig",
    "solution cloned_coefficient": "triangular_solve",
    "P L U": "linalg_lu lu_unpack",
    "LU pivots": "linalg_lu_factor",
    "LU pivots info": "linalg_lu_factor_ex _lu_with_info",
    "LD pivots": "linalg_ldl_factor",
    "LD pivots info": "linalg_ldl_factor_ex",
    "a tau": "geqrf",
    "hist bin_edges": "histogram histogramdd",
    "mantissa exponent": "frexp",
}
_FIELDS = {name: fields for fields, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> type[Any]:
    if name not in _FIELDS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def __repr__(self: Any) -> str:
        values = ",\n".join([f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)])
        return f"torch.return_types.{name}(\n{values})"

    members = {"__slots__": (), "__module__": "torch.return_types", "__repr__": __repr__}
    made = globals()[name] = type(name, (namedtuple(name, _FIELDS[name]),), members)  # noqa: PYI024
    return made


def __dir__() -> list[str]:
    return sorted(_FIELDS)
