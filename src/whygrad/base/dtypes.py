"""Dtypes: torch's names and promotion rules over NumPy's storage.

Three of torch's names (`bool`, `int`, `float`) are builtins that this package uses itself. Its modules write
`bool_`, `int_`, `float_`; only the public `__init__` exports them under torch's spelling. `BY_NAME` maps
every torch name to its dtype, aliases included.

Promotion depends on the *category* of a dtype (bool < integer < floating < complex) and on the *rank* of an
operand (tensors with dimensions > 0-dim tensors > Python numbers). An operand of lower rank changes the
result only if its category is higher.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, final

import numpy as np

Number: TypeAlias = bool | int | float | complex


@final
class dtype:
    """torch.dtype. There is exactly one object per element type, so compare with `is`."""

    __slots__ = (
        "_numpy",
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "scalar_name",
        "tensor_type",
    )

    name: str
    scalar_name: str  # as in error messages: 'Float', 'Long'
    tensor_type: str  # as Tensor.type() returns it: 'torch.FloatTensor'
    category: int  # 0 bool, 1 integer, 2 floating, 3 complex
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    _numpy: np.dtype[Any] | None

    def __new__(cls, *args: object, **kwargs: object) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        # A string tells pickle and copy to look the object up by that name in this module.
        return "bool_" if self is bool_ else self.name

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype that stores this type."""
        if self._numpy is None:
            self._numpy = _load_numpy_dtype(self)
            FROM_NUMPY[self._numpy] = self
        return self._numpy

    def to_real(self) -> dtype:
        return _TO_REAL.get(self, self)

    def to_complex(self) -> dtype:
        if self.category < 2:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return _TO_COMPLEX.get(self, self)


def _define(name: str, scalar_name: str, category: int, itemsize: int, *, in_numpy: bool = True) -> dtype:
    self = object.__new__(dtype)
    self.name = name
    self.scalar_name = scalar_name
    self.tensor_type = f"torch.{scalar_name}Tensor"
    self.category = category
    self.itemsize = itemsize
    self.is_floating_point = category == 2
    self.is_complex = category == 3
    self.is_signed = category > 1 or name.startswith("int")
    self._numpy = np.dtype(name) if in_numpy else None
    return self


bool_ = _define("bool", "Bool", 0, 1)
uint8 = _define("uint8", "Byte", 1, 1)
uint16 = _define("uint16", "UInt16", 1, 2)
uint32 = _define("uint32", "UInt32", 1, 4)
uint64 = _define("uint64", "UInt64", 1, 8)
int8 = _define("int8", "Char", 1, 1)
int16 = _define("int16", "Short", 1, 2)
int32 = _define("int32", "Int", 1, 4)
int64 = _define("int64", "Long", 1, 8)
float16 = _define("float16", "Half", 2, 2)
bfloat16 = _define("bfloat16", "BFloat16", 2, 2, in_numpy=False)
float32 = _define("float32", "Float", 2, 4)
float64 = _define("float64", "Double", 2, 8)
# complex32 exists because promotion can yield it (float16 with a complex number); no NumPy dtype stores it.
complex32 = _define("complex32", "ComplexHalf", 3, 4, in_numpy=False)
complex64 = _define("complex64", "ComplexFloat", 3, 8)
complex128 = _define("complex128", "ComplexDouble", 3, 16)

# Dtypes without storage: programs compare a tensor's dtype with them.
NAMES_ONLY = {name: _define(name, scalar_name, 2, 1, in_numpy=False) for name, scalar_name in (
    ("float8_e4m3fn", "Float8_e4m3fn"), ("float8_e4m3fnuz", "Float8_e4m3fnuz"), ("float8_e5m2", "Float8_e5m2"),
    ("float8_e5m2fnuz", "Float8_e5m2fnuz"), ("float8_e8m0fnu", "Float8_e8m0fnu"),
    ("float4_e2m1fn_x2", "Float4_e2m1fn_x2"))}

NAMES_ONLY["float8_e8m0fnu"].is_signed = False
NAMES_ONLY |= {name: _define(name, scalar_name, 1, itemsize, in_numpy=False) for name, scalar_name, itemsize in (
    ("qint8", "QInt8", 1), ("quint8", "QUInt8", 1), ("qint32", "QInt32", 4), ("quint4x2", "QUInt4x2", 1),
    ("quint2x4", "QUInt2x4", 1))}
globals().update(NAMES_ONLY)  # for copy and pickle

short, int_, long = int16, int32, int64
half, float_, double = float16, float32, float64
chalf, cfloat, cdouble = complex32, complex64, complex128

_ALL = (
    *(bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64),
    *(float16, bfloat16, float32, float64, complex32, complex64, complex128),
)

# The dtypes with a class torch.FloatTensor and the like.
WITH_TENSOR_TYPE = (float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool_)

BY_NAME: dict[str, dtype] = {d.name: d for d in _ALL} | {
    "short": short,
    "int": int_,
    "long": long,
    "half": half,
    "float": float_,
    "double": double,
    "chalf": chalf,
    "cfloat": cfloat,
    "cdouble": cdouble,
}

# bfloat16 is added when its NumPy dtype is first asked for, that is, before any array of it can exist.
FROM_NUMPY: dict[np.dtype[Any], dtype] = {d._numpy: d for d in _ALL if d._numpy is not None}

# Wherever torch takes a dtype it also takes these four classes: zeros(2, dtype=float) is float64.
FROM_PYTHON: dict[type, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}

# C++ type names, which some of torch's messages use.
CPP_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
             "uint16": "short unsigned int", "int32": "int", "uint32": "unsigned int", "int64": "long int",
             "uint64": "long unsigned int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
             "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}

_TO_REAL = {complex32: float16, complex64: float32, complex128: float64}
_TO_COMPLEX = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}


def c_name(d: dtype) -> str:
    """The C++ type, by which some of torch's messages name a dtype."""
    return CPP_NAMES.get(d.name, d.name)


def type_string(d: dtype) -> str:
    """A tensor's type as C++ prints it: the newer dtypes have no Python type of their own."""
    newer = d.category in (0, 3) or d is bfloat16
    return f"CPU{d.scalar_name}Type" if newer else d.tensor_type


def _load_numpy_dtype(d: dtype) -> np.dtype[Any]:
    if d is complex32:
        raise NotImplementedError("torch.complex32 holds no data: NumPy has no half-precision complex type")
    if d.name in NAMES_ONLY:
        raise NotImplementedError(f"{d} holds no data in whygrad")
    try:
        # Not an import statement: type checkers must not require the optional package either.
        ml_dtypes: Any = importlib.import_module("ml_dtypes")
    except ImportError as error:
        raise ImportError("torch.bfloat16 needs ml_dtypes, which is not installed: pip install ml_dtypes") from error
    np_dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    for prepare in before_bfloat16:
        prepare()
    before_bfloat16.clear()
    return np_dtype


# Called when bfloat16 is first used: work that programs without it need not do.
before_bfloat16: list[Callable[[], None]] = []


def from_numpy(np_dtype: np.dtype[Any]) -> dtype:
    """The dtype stored as `np_dtype`; unlike torch, this includes the bfloat16 of ml_dtypes."""
    found = FROM_NUMPY.get(np_dtype)
    if found is not None:
        return found
    if not np_dtype.isnative and np_dtype.newbyteorder("=") in FROM_NUMPY:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    if np_dtype.name == "bfloat16" and np_dtype == bfloat16.numpy:
        return bfloat16
    scalar = np_dtype.type
    name = scalar.__name__ if scalar.__module__ == "builtins" else f"{scalar.__module__}.{scalar.__name__}"
    raise TypeError(
        f"can't convert np.ndarray of type {name}. The only supported types are: float64, float32, float16, "
        "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def _check_dtype(value: object, function: str, argument: str, position: int = 1) -> dtype:
    if isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in FROM_PYTHON:
        return FROM_PYTHON[value]
    raise TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, "
        f"not {type(value).__name__}"
    )


_default = float32


def get_default_dtype() -> dtype:
    """The dtype of Python floats."""
    return _default


def get_default_complex_dtype() -> dtype:
    """The dtype of Python complex numbers; it follows the default dtype."""
    return _default.to_complex()


def set_default_dtype(d: dtype, /) -> None:
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a cast stays within its category or goes to a higher one."""
    return _check_dtype(from_, "can_cast", "from_").category <= _check_dtype(to, "can_cast", "to", 2).category


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both promote to, if they are of equal rank."""
    return _promote(
        _check_dtype(type1, "promote_types", "type1"), _check_dtype(type2, "promote_types", "type2", 2)
    )


def _promote(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    if a.name in NAMES_ONLY or b.name in NAMES_ONLY:
        raise RuntimeError("Promotion for Float8 Types is not supported, "
                           f"attempted to promote {a.scalar_name} and {b.scalar_name}")
    low, high = (a, b) if a.category <= b.category else (b, a)
    if not {a, b}.isdisjoint((uint16, uint32, uint64)) and not high.is_floating_point:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, "
            f"attempted to promote {a.scalar_name} and {b.scalar_name}"
        )
    if low.category < high.category:
        return _promote(low, high.to_real()).to_complex() if low.is_floating_point else high
    if a.itemsize != b.itemsize:
        return a if a.itemsize > b.itemsize else b
    # Left are uint8 with int8 and float16 with bfloat16: neither holds the other.
    return int16 if a.category == 1 else float32


def _combine(higher: dtype, lower: dtype) -> dtype:
    """The result dtype of operands of different rank: the higher rank's, unless the lower one has a higher category."""
    if lower.category <= higher.category:
        return higher
    if higher.is_floating_point:
        return higher.to_complex()
    # Not _promote alone: it refuses uint16 with complex, which torch accepts when the ranks differ.
    return lower if lower.category > 1 else _promote(higher, lower)


_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def _number_dtype(number: Number) -> dtype:
    if isinstance(number, bool):
        return bool_
    if isinstance(number, (int, np.integer)):
        whole = int(number)
        if _INT64_MIN <= whole <= _INT64_MAX:
            return int64
        whole.to_bytes(8)  # raises the same OverflowError as torch unless the number fits into uint64
        return uint64
    # torch converts a NumPy bool to a float.
    if isinstance(number, (float, np.floating, np.bool_)):
        return _default
    if isinstance(number, (complex, np.complexfloating)):
        return get_default_complex_dtype()
    raise TypeError(f"expected a number, not {type(number).__name__}")


def result_dtype(operands: Iterable[tuple[dtype, int] | Number]) -> dtype:
    """The dtype of an operation over tensors, given as `(dtype, ndim)`, and Python numbers."""
    ranks: list[dtype | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, tuple):
            current, ndim = operand
            rank = 0 if ndim else 1
        else:
            current, rank = _number_dtype(operand), 2
        previous = ranks[rank]
        ranks[rank] = current if previous is None else _promote(previous, current)
    present = [d for d in ranks if d is not None]
    if not present:
        raise ValueError("result_dtype needs at least one operand")
    result = present.pop()
    while present:
        result = _combine(present.pop(), result)
    return result


class _Limits:
    """The common part of finfo and iinfo; two are equal if they describe the same dtype."""

    __slots__ = ("_of",)

    def __init__(self, of: dtype) -> None:
        self._of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limits) and other._of is self._of

    bits = property(lambda self: 8 * self._of.itemsize)
    dtype = property(lambda self: self._of.name)


# Stored bits of the mantissa, largest exponent, decimal digits that survive a round trip.
_LAYOUT = {float16: (10, 15, 3), bfloat16: (7, 127, 2), float32: (23, 127, 6), float64: (52, 1023, 15)}

# eps, max, tiny, resolution
_FLOAT_LIMITS = {d: (2.0 ** -bits, (2 - 2.0 ** -bits) * 2.0 ** exponent, 2.0 ** (1 - exponent), float(f"1e-{digits}"))
                 for d, (bits, exponent, digits) in _LAYOUT.items()}
_FLOAT_LIMITS |= {NAMES_ONLY[name]: (eps, largest, tiny, 1.0) for name, eps, largest, tiny in (
    ("float8_e4m3fn", 0.125, 448.0, 2.0 ** -6), ("float8_e4m3fnuz", 0.125, 240.0, 2.0 ** -7),
    ("float8_e5m2", 0.25, 57344.0, 2.0 ** -14), ("float8_e5m2fnuz", 0.125, 57344.0, 2.0 ** -15),
    ("float8_e8m0fnu", 1.0, 2.0 ** 127, 2.0 ** -127))}


class finfo(_Limits):
    """Limits of a floating dtype; of the real part's dtype for a complex one; of the default dtype for None."""

    __slots__ = ()

    def __init__(self, type: dtype | None = None) -> None:
        of = _default if type is None else _check_dtype(type, "finfo", "type")
        if of.category < 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        super().__init__(of.to_real())

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )

    eps = property(lambda self: _FLOAT_LIMITS[self._of][0])
    max = property(lambda self: _FLOAT_LIMITS[self._of][1])
    min = property(lambda self: -self.max if self._of.is_signed else self.tiny)
    tiny = property(lambda self: _FLOAT_LIMITS[self._of][2])
    smallest_normal = property(lambda self: self.tiny)
    resolution = property(lambda self: _FLOAT_LIMITS[self._of][3])


class iinfo(_Limits):
    """Limits of an integer dtype."""

    __slots__ = ()

    def __init__(self, type: dtype) -> None:
        of = _check_dtype(type, "iinfo", "type")
        if of is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if of.category != 1:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        super().__init__(of)

    def __repr__(self) -> str:
        # As in torch, the bounds are printed as floats with six digits.
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    max = property(lambda self: (1 << self.bits - self._of.is_signed) - 1)
    min = property(lambda self: -self.max - 1 if self._of.is_signed else 0)
