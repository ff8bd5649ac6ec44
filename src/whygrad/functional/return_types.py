"""The named tuples that some functions return, printed as torch prints them. Each is made when it is first asked for."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_fields: dict[str, str] = {}


def __getattr__(name: str) -> type[Any]:
    if name not in _fields:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

    def __repr__(self: Any) -> str:
        values = ",\n".join([f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)])
        return f"torch.return_types.{name}(\n{values})"

    count = len(_fields[name].split())

    def __new__(cls: type[Any], *values: Any) -> Any:
        """From the values, or from one sequence of them, as torch's are made."""
        if not values:
            raise TypeError("structseq() missing required argument 'sequence' (pos 1)")
        if len(values) == 1:
            if not hasattr(values[0], "__iter__"):
                raise TypeError("constructor requires a sequence")
            values = tuple(values[0])
            if len(values) != count:
                raise TypeError(f"torch.return_types.{name}() takes a {count}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    def __reduce__(self: Any) -> Any:
        return restore, (name, tuple(self))

    members = {"__slots__": (), "__module__": "torch.return_types", "__repr__": __repr__, "__new__": __new__,
               "__reduce__": __reduce__}
    made = globals()[name] = type(name, (namedtuple(name, _fields[name]),), members)  # noqa: PYI024
    return made


def restore(name: str, values: tuple[Any, ...]) -> Any:
    """For pickle and copy."""
    return (globals().get(name) or __getattr__(name))(values)


def __dir__() -> list[str]:
    return sorted(_fields)


_fields["max"] = "values indices"
_fields["min"] = "values indices"
_fields["median"] = "values indices"
_fields["nanmedian"] = "values indices"
_fields["aminmax"] = "min max"
_fields["linalg_cholesky_ex"] = "L info"
_fields["linalg_inv_ex"] = "inverse info"
_fields["linalg_solve_ex"] = "result info"
_fields["linalg_lstsq"] = "solution residuals rank singular_values"
_fields["linalg_slogdet"] = "sign logabsdet"
_fields["slogdet"] = "sign logabsdet"
_fields["linalg_qr"] = "Q R"
_fields["qr"] = "Q R"
_fields["linalg_svd"] = "U S Vh"
_fields["svd"] = "U S V"
_fields["linalg_eigh"] = "eigenvalues eigenvectors"
_fields["linalg_eig"] = "eigenvalues eigenvectors"
_fields["triangular_solve"] = "solution cloned_coefficient"
_fields["linalg_lu"] = "P L U"
_fields["linalg_lu_factor"] = "LU pivots"
_fields["linalg_lu_factor_ex"] = "LU pivots info"
_fields["_lu_with_info"] = "LU pivots info"
_fields["lu_unpack"] = "P L U"
_fields["linalg_ldl_factor"] = "LD pivots"
_fields["linalg_ldl_factor_ex"] = "LD pivots info"
_fields["geqrf"] = "a tau"
_fields["sort"] = "values indices"
_fields["topk"] = "values indices"
_fields["kthvalue"] = "values indices"
_fields["mode"] = "values indices"
_fields["cummax"] = "values indices"
_fields["cummin"] = "values indices"
_fields["histogram"] = "hist bin_edges"
_fields["histogramdd"] = "hist bin_edges"
_fields["frexp"] = "mantissa exponent"
