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
