"""A dtype as some of torch's messages name it: by its C++ type."""

from __future__ import annotations

from whygrad.base import dtypes

_C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
            "bool": "bool",
            "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
            "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}


def c_name(dtype: dtypes.dtype) -> str:
    return _C_NAMES.get(dtype.name, dtype.name)


def type_string(dtype: dtypes.dtype) -> str:
    """A tensor's type as C++ prints it: the newer dtypes have no Python type of their own."""
    newer = dtype.category in (0, 3) or dtype is dtypes.bfloat16
    return f"CPU{dtype.scalar_name}Type" if newer else dtype.tensor_type
