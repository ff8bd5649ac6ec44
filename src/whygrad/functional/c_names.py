"""A dtype as some of torch's messages name it: by its C++ type."""

from __future__ import annotations

from whygrad.base import dtypes


def c_name(dtype: dtypes.dtype) -> str:
    return dtypes.CPP_NAMES.get(dtype.name, dtype.name)


def type_string(dtype: dtypes.dtype) -> str:
    """A tensor's type as C++ prints it: the newer dtypes have no Python type of their own."""
    newer = dtype.category in (0, 3) or dtype is dtypes.bfloat16
    return f"CPU{dtype.scalar_name}Type" if newer else dtype.tensor_type
